// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Synchronization
import TransferCore

/// The requests, connections and sent bytes of a server.
final class ServerRecord: Sendable {
    private struct State {
        var requests: [RecordedRequest] = []
        var targets: [String: Int] = [:]
        var bodyBytes: [String: Int64] = [:]
        var connectionCount = 0
        var channels: [ObjectIdentifier: any Channel] = [:]
        var waitingForConnections: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var waitingForEnds: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var requests: [RecordedRequest] { self.state.withLock { $0.requests } }
    var connectionCount: Int { self.state.withLock { $0.connectionCount } }
    var bodyBytes: [String: Int64] { self.state.withLock { $0.bodyBytes } }

    /// Counts a connection and returns its index.
    func accept(_ channel: any Channel) -> Int {
        let (index, ready) = self.state.withLock { state in
            let index = state.connectionCount
            state.connectionCount += 1
            state.channels[ObjectIdentifier(channel)] = channel
            let ready = state.waitingForConnections.filter { $0.count <= index + 1 }
            state.waitingForConnections.removeAll { $0.count <= index + 1 }
            return (index, ready)
        }
        for waiter in ready { waiter.continuation.resume() }
        return index
    }

    func waitForConnections(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.connectionCount < count { state.waitingForConnections.append((count, continuation)) }
                return state.connectionCount >= count
            }
            if isThere { continuation.resume() }
        }
    }

    func ended(_ channel: any Channel) {
        let ready = self.state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = nil
            let count = state.channels.count
            let ready = state.waitingForEnds.filter { $0.count >= count }
            state.waitingForEnds.removeAll { $0.count >= count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func waitForOpenConnections(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.channels.count > count { state.waitingForEnds.append((count, continuation)) }
                return state.channels.count <= count
            }
            if isThere { continuation.resume() }
        }
    }

    func takeChannels() -> [any Channel] {
        self.state.withLock { state in
            defer { state.channels = [:] }
            return Array(state.channels.values)
        }
    }

    func received(_ head: RecordedRequestParser.Head, connection: Int) -> RecordedRequest {
        let (request, ready) = self.state.withLock { state in
            let request = RecordedRequest(
                method: head.method,
                target: head.target,
                fields: head.fields,
                body: head.body,
                minorVersion: head.minorVersion,
                connectionIndex: connection,
                requestIndex: state.requests.count,
                targetIndex: state.targets[head.target, default: 0]
            )
            state.targets[head.target, default: 0] += 1
            state.requests.append(request)
            let count = state.requests.count
            let ready = state.waiting.filter { $0.count <= count }
            state.waiting.removeAll { $0.count <= count }
            return (request, ready)
        }
        for waiter in ready { waiter.continuation.resume() }
        return request
    }

    func sent(_ count: Int, of target: String) {
        self.state.withLock { $0.bodyBytes[target, default: 0] += Int64(count) }
    }

    func waitForRequests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.requests.count < count { state.waiting.append((count, continuation)) }
                return state.requests.count >= count
            }
            if isThere { continuation.resume() }
        }
    }
}
