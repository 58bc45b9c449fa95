// SPDX-License-Identifier: Apache-2.0
internal import Platform

internal import NIOCore
internal import NIOPosix

/// A client's connections: a pool for calls, and separate ones for event streams.
///
/// `@unchecked Sendable`: the variables are used on the client's event loop only. `ControlClient` calls it there by
/// `execute`, and NIO calls the handlers of a channel on its event loop, which is the same one.
final class ControlConnections: @unchecked Sendable {
    private let state: StateDirectory
    private let loop: any EventLoop
    private let configuration: ControlClient.Configuration
    private var idle: [ControlConnection] = []
    /// Connections with a call, or being opened for one.
    private var busy: Set<ObjectIdentifier> = []
    private var all: [ObjectIdentifier: ControlConnection] = [:]
    private var waiting = CircularBuffer<any ControlExchange>()
    private var isClosed = false

    init(_ state: StateDirectory, on loop: any EventLoop, _ configuration: ControlClient.Configuration) {
        self.state = state
        self.loop = loop
        self.configuration = configuration
    }

    /// Runs a call on a kept or new connection; waits for one if there are too many.
    func start(_ exchange: any ControlExchange) {
        guard !exchange.isAbandoned else { return }
        guard !self.isClosed else { return exchange.failed(Self.closed) }
        self.waiting.append(exchange)
        self.pump()
    }

    /// Runs a request on a separate connection.
    func startAlone(_ exchange: any ControlExchange) {
        guard !exchange.isAbandoned else { return }
        guard !self.isClosed else { return exchange.failed(Self.closed) }
        self.open(
            for: exchange,
            isKept: false,
            returned: { $0.close() },
            lost: { [self] connection, _ in self.forget(connection) }
        )
    }

    /// Closes everything.
    func close() {
        self.isClosed = true
        for exchange in self.waiting { exchange.failed(Self.closed) }
        self.waiting.removeAll()
        // `abandon` changes the dictionary during the iteration.
        for connection in Array(self.all.values) { connection.abandon(Self.closed) }
        self.idle = []
    }

    private func pump() {
        while !self.waiting.isEmpty {
            // Closing a connection that was idle for too long re-enters this method, which may empty the queue.
            let connection = self.takeIdle()
            guard connection != nil || self.busy.count < self.configuration.maximumConnections else { return }
            while self.waiting.first?.isAbandoned == true { self.waiting.removeFirst() }
            guard let exchange = self.waiting.popFirst() else {
                if let connection { self.idle.append(connection) }
                return
            }
            if let connection {
                self.busy.insert(ObjectIdentifier(connection))
                connection.run(exchange, isReused: true)
            } else {
                self.openKept(for: exchange)
            }
        }
    }

    /// The most recently used idle connection; one that was idle for too long may be about to be closed by the daemon.
    private func takeIdle() -> ControlConnection? {
        while let connection = self.idle.popLast() {
            if connection.isOpen, connection.idleSince + self.configuration.idleTime > .now() { return connection }
            connection.close()
        }
        return nil
    }

    private func openKept(for exchange: any ControlExchange) {
        self.open(
            for: exchange,
            isKept: true,
            returned: { [self] connection in
                self.busy.remove(ObjectIdentifier(connection))
                if self.isClosed { connection.close() } else { self.idle.append(connection) }
                self.pump()
            },
            lost: { [self] connection, unanswered in
                if let unanswered { self.waiting.prepend(unanswered) }
                self.forget(connection)
                self.pump()
            }
        )
    }

    private func forget(_ connection: ControlConnection) {
        self.all[ObjectIdentifier(connection)] = nil
        self.busy.remove(ObjectIdentifier(connection))
        self.idle.removeAll { $0 === connection }
    }

    private func open(
        for exchange: any ControlExchange,
        isKept: Bool,
        returned: @escaping (ControlConnection) -> Void,
        lost: @escaping (ControlConnection, (any ControlExchange)?) -> Void
    ) {
        let connection = ControlConnection(on: self.loop, returned: returned, lost: lost)
        self.all[ObjectIdentifier(connection)] = connection
        if isKept { self.busy.insert(ObjectIdentifier(connection)) }
        let fail = { (error: ControlError) in
            lost(connection, nil)
            exchange.failed(error)
        }
        let path = self.state.socketPath
        do throws(ControlError) { try self.state.checkSocketDirectory() } catch { return fail(error) }
        ClientBootstrap(group: self.loop)
            .connectTimeout(self.configuration.connectTimeout)
            .channelOption(.autoRead, value: false)
            .connect(unixDomainSocketPath: path)
            .assumeIsolated()
            .flatMap { channel in
                SocketOwner.user(of: channel).assumeIsolated()
                    .flatMapThrowing { user in
                        try SocketOwner.check(user, path)
                        try channel.pipeline.syncOperations.addHandler(connection)
                    }
                    .flatMapErrorThrowing { error in
                        channel.close(promise: nil)
                        throw error
                    }
                    .nonisolated()
            }
            .whenComplete { result in
                switch result {
                case .success where exchange.isAbandoned || self.isClosed:
                    connection.close()
                    exchange.failed(Self.closed)
                case .success: connection.run(exchange, isReused: false)
                case .failure(let error): fail(self.translate(error, path))
                }
            }
    }

    private func translate(_ error: any Error, _ path: String) -> ControlError {
        if let error = error as? ControlError { return error }
        if let error = error as? IOError, [ENOENT, ECONNREFUSED, ENOTDIR].contains(error.errnoCode) {
            return .notRunning(for: self.state)
        }
        if case .connectTimeout? = error as? ChannelError {
            return ControlError(
                .unreachable,
                "the daemon does not take connections on '\(path)'",
                remedy: "look at its log \(self.state.logPath), or stop it and start it again"
            )
        }
        return ControlError(.unreachable, "cannot connect to the daemon on '\(path)': \(error)")
    }

    private static let closed = ControlError(.unreachable, "the connection to the daemon was closed on this side")
}
