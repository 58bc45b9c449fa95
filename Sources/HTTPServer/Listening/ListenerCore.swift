// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Synchronization
internal import TransferCore

/// The state that all connections of a listener share.
final class ListenerCore: Sendable {
    let configuration: HTTPListener.Configuration
    let application: any HTTPApplication
    private let open = Mutex<[ObjectIdentifier: any Channel]>([:])
    private let tasks = Mutex<(running: [Int: Task<Void, Never>], next: Int)>(([:], 0))

    init(_ configuration: HTTPListener.Configuration, _ application: any HTTPApplication) {
        self.configuration = configuration
        self.application = application
    }

    var pool: NIOThreadPool { self.configuration.pool }
    var times: ConnectionTimes { self.configuration.times }

    /// Registers a connection; returns false if the limit is reached.
    func opened(_ channel: any Channel) -> Bool {
        let isAccepted = self.open.withLock { open in
            guard open.count < self.configuration.connections || self.configuration.excess == .wait else {
                return false
            }
            open[ObjectIdentifier(channel)] = channel
            return true
        }
        if isAccepted { self.application.connectionsChanged(by: 1) }
        return isAccepted
    }

    /// Unregisters a connection.
    func closed(_ channel: any Channel) {
        self.open.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) }
        self.application.connectionsChanged(by: -1)
    }

    /// The open connections.
    var connections: [any Channel] { self.open.withLock { Array($0.values) } }

    /// Whether there is no connection and no running task.
    var isIdle: Bool { self.tasks.withLock { $0.running.isEmpty } && self.open.withLock { $0.isEmpty } }

    /// Starts a task that belongs to a connection; the listener's stop waits for it, and cancels it in the end.
    @discardableResult
    func task(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        self.tasks.withLock { tasks in
            let id = tasks.next
            tasks.next += 1
            let task = Task {
                await operation()
                self.tasks.withLock { _ = $0.running.removeValue(forKey: id) }
            }
            tasks.running[id] = task
            return task
        }
    }

    /// Cancels the running tasks.
    func cancelTasks() {
        for task in self.tasks.withLock({ Array($0.running.values) }) { task.cancel() }
    }
}
