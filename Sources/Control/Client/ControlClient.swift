internal import NIOPosix
internal import Synchronization
package import NIOCore

/// Speaks to the daemon of a state directory over its Unix socket.
///
/// It connects when it is asked something, keeps its connections for the next call, and connects anew after one was lost;
/// it starts no daemon (see ``DaemonLauncher``). Before anything is sent it looks whether the user that listens is this
/// process's. No method blocks the caller's thread. May be used from any thread.
package final class ControlClient: Sendable {
    /// How a client behaves.
    package struct Configuration: Sendable {
        /// The longest time to connect.
        package var connectTimeout: TimeAmount = .seconds(5)
        /// The longest time for an answer without any byte of it; a call may say another.
        package var answerTimeout: TimeAmount = .seconds(60)
        /// The longest time without any byte of a stream of events; the daemon sends a comment every 15 s.
        package var eventTimeout: TimeAmount = .seconds(60)
        /// The most connections for calls; more calls wait for one, in their order.
        package var maximumConnections = 4
        /// How long a connection that nobody uses is kept.
        package var idleTime: TimeAmount = .seconds(5)
        /// Unread events beyond which no more are read from the connection.
        package var eventCapacity = 256

        /// Creates the usual configuration.
        package init() {}
    }

    /// The state directory whose daemon is spoken to.
    package let state: StateDirectory

    private let loop: any EventLoop
    private let configuration: Configuration
    private let connections: ControlConnections
    /// The threads of a client that has its own.
    private let ownGroup: MultiThreadedEventLoopGroup?
    private let isClosed = Atomic<Bool>(false)

    /// Creates a client on an event loop; nothing is connected yet.
    ///
    /// The loop must last as long as the client is used; ``close()`` before it is shut down.
    package init(_ state: StateDirectory, on loop: any EventLoop, configuration: Configuration = Configuration()) {
        self.state = state
        self.loop = loop
        self.configuration = configuration
        self.connections = ControlConnections(state, on: loop, configuration)
        self.ownGroup = nil
    }

    /// Creates a client with a thread of its own, for a program that has no event loops; ``shutdown()`` ends it.
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
    /// A call whose task is cancelled throws `unreachable`; the daemon may have done it all the same. Only calls that change
    /// nothing are made again by themselves where a kept connection turns out to be gone.
    ///
    /// - Parameters:
    ///   - method: Its name, such as `martlet.list`.
    ///   - params: Its parameters: one object, or an array.
    ///   - timeout: The longest time for its answer, where it is not the usual one.
    /// - Returns: The result.
    /// - Throws: ``ControlError``: what the daemon answered, or `notRunning`, `unreachable`, `protocolMismatch`, `forbidden`,
    ///   `tooMuch`.
    package func call(
        _ method: String,
        _ params: JSON = .object([]),
        timeout: Duration? = nil
    ) async throws(ControlError) -> JSON {
        let call = ControlCall(
            .call(method, params),
            patience: timeout.map { TimeAmount($0) } ?? self.configuration.answerTimeout
        )
        let answer: Result<ControlAnswer, ControlError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.loop.execute {
                    call.wait { continuation.resume(returning: $0) }
                    self.connections.start(call)
                }
            }
        } onCancel: {
            self.loop.execute { call.cancel() }
        }
        return try answer.get().result(of: method)
    }

    /// Opens a stream of server-sent events, on a connection of its own.
    ///
    /// - Parameter path: The path with its query, percent-encoded, such as `/events`; see ``sessionEventsPath(_:instance:after:)``.
    /// - Returns: The events, from now on; the daemon has accepted the request.
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

    /// Closes all connections; calls and streams that run end with `unreachable`, and so does every later one.
    package func close() {
        guard !self.isClosed.exchange(true, ordering: .relaxed) else { return }
        let connections = self.connections
        self.loop.execute { connections.close() }
    }

    /// Closes all connections and ends the client's own thread, where it has one.
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
