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
    private let open: Mutex<Open>
    private let closesIdle: Bool
    private let tasks = Mutex<(running: [Int: Task<Void, Never>], next: Int)>(([:], 0))

    private struct Open {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var table: ConnectionTable<ObjectIdentifier>
    }

    init(_ configuration: HTTPListener.Configuration, _ application: any HTTPApplication) {
        self.configuration = configuration
        self.application = application
        let table: ConnectionTable<ObjectIdentifier> =
            switch configuration.excess {
            case .wait: ConnectionTable(limit: .max)
            case .closeIdle: ConnectionTable(limit: configuration.connections)
            case .closeUnauthenticated(let reserve):
                ConnectionTable(limit: configuration.connections, reserve: reserve)
            }
        self.open = Mutex(Open(table: table))
        self.closesIdle = configuration.excess == .closeIdle
    }

    var pool: NIOThreadPool { self.configuration.pool }
    var times: ConnectionTimes { self.configuration.times }

    /// Registers a connection, for which another one may be closed; returns `nil` if the limit is reached.
    func opened(_ channel: any Channel) -> ConnectionStanding? {
        let id = ObjectIdentifier(channel)
        let (isAccepted, victim) = self.open.withLock { open -> (Bool, (any Channel)?) in
            guard case .accept(let victim) = open.table.opened(id) else { return (false, nil) }
            open.channels[id] = channel
            return (true, victim.flatMap { open.channels[$0] })
        }
        guard isAccepted else { return nil }
        self.application.connectionsChanged(by: 1)
        if let victim {
            if self.configuration.tls == nil {
                victim.close(promise: nil)
            } else {
                victim.triggerUserOutboundEvent(EvictionHandler.Evict(), promise: nil)
            }
        }
        guard case .closeUnauthenticated = self.configuration.excess else { return ConnectionStanding() }
        return ConnectionStanding { [weak self] in self?.open.withLock { $0.table.protected(id) } }
    }

    /// A request has begun on a connection, or its response has ended.
    func requestChanged(_ channel: ObjectIdentifier, isInProgress: Bool) {
        guard self.closesIdle else { return }
        self.open.withLock { open in
            if isInProgress { open.table.protected(channel) } else { open.table.unprotected(channel) }
        }
    }

    /// Unregisters a connection.
    func closed(_ channel: any Channel) {
        self.open.withLock { open in
            open.channels[ObjectIdentifier(channel)] = nil
            open.table.closed(ObjectIdentifier(channel))
        }
        self.application.connectionsChanged(by: -1)
    }

    /// The open connections.
    var connections: [any Channel] { self.open.withLock { Array($0.channels.values) } }

    /// Whether all connections are closed and all tasks have ended.
    var isIdle: Bool { self.tasks.withLock { $0.running.isEmpty } && self.open.withLock { $0.channels.isEmpty } }

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
