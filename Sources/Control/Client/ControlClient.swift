// SPDX-License-Identifier: Apache-2.0
package import TransferCore
internal import NIOPosix
internal import Synchronization
package import NIOCore

/// A client of the daemon of a state directory, over its Unix socket.
///
/// It connects on the first call, keeps connections for later calls, and reconnects after a connection was lost. It
/// does not start a daemon (see ``DaemonLauncher``). Before sending anything it checks that the listening process
/// belongs to this process's user. No method blocks the calling thread, and all may be called from any thread.
package final class ControlClient: Sendable {
    package struct Configuration: Sendable {
        package var connectTimeout: TimeAmount = .seconds(5)
        /// The timeout for a response of which no byte arrives; a call may set another one.
        package var answerTimeout: TimeAmount = .seconds(60)
        /// The timeout for an event stream of which no byte arrives; the daemon sends a comment every 15 s.
        package var eventTimeout: TimeAmount = .seconds(60)
        /// The maximum number of connections for calls; further calls wait for one, in order.
        package var maximumConnections = 4
        /// How long an idle connection is kept.
        package var idleTime: TimeAmount = .seconds(5)
        /// The number of unread events above which reading from the connection pauses.
        package var eventCapacity = 256

        /// Creates the default configuration.
        package init() {}
    }

    /// The state directory of the daemon.
    package let state: StateDirectory

    private let loop: any EventLoop
    private let configuration: Configuration
    private let connections: ControlConnections
    /// The event loop group, if the client created one.
    private let ownGroup: MultiThreadedEventLoopGroup?
    private let isClosed = Atomic<Bool>(false)

    /// Creates a client on an event loop, without connecting.
    ///
    /// Call ``close()`` before the loop is shut down; the loop must run as long as the client is used.
    package init(_ state: StateDirectory, on loop: any EventLoop, configuration: Configuration = Configuration()) {
        self.state = state
        self.loop = loop
        self.configuration = configuration
        self.connections = ControlConnections(state, on: loop, configuration)
        self.ownGroup = nil
    }

    /// Creates a client with a separate thread, for a program without event loops; ``shutdown()`` ends the thread.
    package init(_ state: StateDirectory, configuration: Configuration = Configuration()) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.state = state
        self.loop = group.next()
        self.configuration = configuration
        self.connections = ControlConnections(state, on: self.loop, configuration)
        self.ownGroup = group
    }

    /// Calls a method.
    ///
    /// A call whose task is cancelled throws `unreachable`; the daemon may have executed it nevertheless. Only calls
    /// that change nothing are repeated automatically, if a kept connection has been closed.
    ///
    /// - Parameters:
    ///   - method: The method's name, such as `martlet.list`.
    ///   - params: The parameters: one object, or an array.
    ///   - timeout: The timeout of the response, or `nil` for the configuration's.
    /// - Returns: The result.
    /// - Throws: ``ControlError``: that of the daemon's response, or `notRunning`, `unreachable`, `protocolMismatch`,
    ///   `forbidden`, `tooMuch`.
    package func call(
        _ method: String,
        _ params: JSON = .object([]),
        timeout: Duration? = nil
    ) async throws(ControlError) -> JSON {
        try await self.respond(method, params, timeout).result(of: method)
    }

    /// Calls a method whose result is an array, and returns the elements as they were received; see
    /// ``call(_:_:timeout:)``.
    package func elements(_ method: String, _ params: JSON) async throws(ControlError) -> JSONElements {
        let response = try await self.respond(method, params, nil)
        if response.status == 200, let elements = JSONElements(of: "result", in: response.body) { return elements }
        _ = try response.result(of: method)
        throw Self.strange(method)
    }

    private func respond(
        _ method: String,
        _ params: JSON,
        _ timeout: Duration?
    ) async throws(ControlError) -> ControlResponse {
        let call = ControlCall(
            .call(method, params),
            patience: timeout.map { TimeAmount($0) } ?? self.configuration.answerTimeout
        )
        let answer: Result<ControlResponse, ControlError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.loop.execute {
                    call.wait { continuation.resume(returning: $0) }
                    self.connections.start(call)
                }
            }
        } onCancel: {
            self.loop.execute { call.cancel() }
        }
        return try answer.get()
    }

    /// Opens a stream of server-sent events on a separate connection.
    ///
    /// - Parameter path: The path with its query, percent-encoded, such as `/events`; see
    ///   ``sessionEventsPath(_:instance:after:)``.
    /// - Returns: The events from now on; the daemon has accepted the request.
    /// - Throws: ``ControlError`` like ``call(_:_:timeout:)``, `sessionInUse` for HTTP status 409.
    package func events(path: String) async throws(ControlError) -> ServerEvents {
        let source = EventSource(try .events(path), on: self.loop, self.configuration)
        let opened: Result<Void, ControlError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.loop.execute {
                    source.waitForHead { continuation.resume(returning: $0) }
                    self.connections.startAlone(source)
                }
            }
        } onCancel: {
            source.cancel()
        }
        try opened.get()
        return ServerEvents(source, of: self)
    }

    /// The path of a background session's events.
    package static func sessionEventsPath(_ identifier: String, instance: String, after: Int64) -> String {
        "/sessions/\(self.encoded(identifier))/events?instance=\(self.encoded(instance))&after=\(after)"
    }

    /// Closes all connections; current calls and streams, and all later ones, fail with `unreachable`.
    package func close() {
        guard !self.isClosed.exchange(true, ordering: .relaxed) else { return }
        let connections = self.connections
        self.loop.execute { connections.close() }
    }

    /// Closes all connections and ends the client's thread, if it created one.
    package func shutdown() async {
        self.close()
        try? await self.ownGroup?.shutdownGracefully()
    }

    deinit { self.close() }

    /// Percent-encodes all but the unreserved characters (RFC 3986 §2.3).
    private static func encoded(_ text: String) -> String {
        var output = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                output.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                output += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return output
    }
}
