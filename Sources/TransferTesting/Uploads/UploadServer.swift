// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import Synchronization
public import TransferCore

/// A server that stores uploads in memory: raw, by tus 1.0 and by the IETF draft; it misbehaves on demand.
///
/// The received bytes of an interrupted request are kept, as resumable protocols require.
public final class UploadServer: Sendable {
    /// The behaviour of the server.
    public struct Behaviour: Sendable {
        /// Whether it supports tus.
        public var speaksTus = false
        /// The digest algorithms that it supports for tus.
        public var checksums: [DigestAlgorithm] = []
        /// The interop versions of the draft that it supports.
        public var drafts: Set<Int> = []
        /// The maximum length of an upload by tus, in bytes.
        public var tusLimit: Int64?
        /// The lengths after which the content of the first requests with content is cut off by closing the connection.
        public var cuts: [Int64] = []
        /// The response that is sent before such a close.
        public var farewell: Reply?
        /// Whether it sends `100 Continue` if the client expects it.
        public var saysContinue = true
        /// Responses by method, sent before any content is read.
        public var refusals: [String: Reply] = [:]
        /// The statuses of the first requests with content, which is read but not stored.
        public var failures: [Int] = []
        /// The redirects by path.
        public var redirects: [String: (status: Int, location: String)] = [:]
        /// The status of the response to a complete upload.
        public var status = 201
        /// The body of that response.
        public var answer = "stored\n"
        /// The number of requests to an upload's resource after which it is deleted.
        public var forgetsAfter: Int?
        /// The number of bytes read from a request per second, or `nil` for no limit.
        public var rate: Int?
        /// The number of bytes of content, over all requests, after which reading pauses until this is changed.
        public var holdsAt: Int64?
        /// The expiry date of tus uploads.
        public var expires: String?

        /// Creates the default behaviour.
        public init() {}
    }

    /// A complete response.
    public struct Reply: Sendable {
        /// The status.
        public var status: Int
        /// The header fields.
        public var fields: [(String, String)]
        /// The body.
        public var body: String
        /// Whether the connection is closed after it.
        public var closes: Bool

        /// Creates a response.
        public init(_ status: Int, _ fields: [(String, String)] = [], body: String = "", closes: Bool = false) {
            self.status = status
            self.fields = fields
            self.body = body
            self.closes = closes
        }
    }

    /// One request.
    public struct Request: Sendable {
        /// The method.
        public var method: String
        /// The target.
        public var target: String
        /// The header fields.
        public var fields: HeaderFields
        /// The number of bytes of content received.
        public var received: Int64 = 0
        /// The index of the connection.
        public var connection: Int

        /// The value of the first field with this name.
        public subscript(name: String) -> String? { self.fields[name] }
    }

    /// An upload, complete or in progress.
    public struct Upload: Sendable {
        /// The bytes received so far.
        public var bytes: [UInt8] = []
        /// The declared length.
        public var length: Int64?
        /// Whether it is complete.
        public var isWhole = false
        /// The number of requests for it so far.
        public var requests = 0
        /// `Upload-Metadata`.
        public var metadata: String?
        /// The index of the request that may append to it: the last one for it.
        var appender: Int?
    }

    struct State {
        var behaviour: Behaviour
        var uploads: [String: Upload] = [:]
        var requests: [Request] = []
        /// The number of requests whose handling has been decided.
        var decided = 0
        var nextUpload = 0
        var connections = 0
        var channels: [ObjectIdentifier: any Channel] = [:]
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var byteWaiters: [(count: Int64, continuation: CheckedContinuation<Void, Never>)] = []
        var closeWaiters: [CheckedContinuation<Void, Never>] = []
        /// The closures to call when ``Behaviour/holdsAt`` changes.
        var held: [@Sendable () -> Void] = []

        /// The number of bytes of content received, over all requests.
        var received: Int64 { self.requests.reduce(0) { $0 + $1.received } }

        /// Removes and returns the tasks whose number of bytes has been received.
        mutating func wokenByBytes() -> [CheckedContinuation<Void, Never>] {
            guard !self.byteWaiters.isEmpty else { return [] }
            let received = self.received
            defer { self.byteWaiters.removeAll { $0.count <= received } }
            return self.byteWaiters.filter { $0.count <= received }.map(\.continuation)
        }
    }

    /// The port.
    public let port: Int
    let state: Mutex<State>
    private let channel: any Channel

    /// Starts a server on a free port of the loopback address.
    public static func start(_ configure: (inout Behaviour) -> Void = { _ in }) async throws -> UploadServer {
        var behaviour = Behaviour()
        configure(&behaviour)
        let box = Box()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let server = box.server.withLock({ $0.server }) else { return channel.close(promise: nil) }
                    try channel.pipeline.syncOperations.addHandler(UploadConnection(server, server.accepted(channel)))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let server = UploadServer(behaviour, channel)
        box.server.withLock { $0.server = server }
        return server
    }

    private struct Weak: Sendable { weak var server: UploadServer? }
    private final class Box: Sendable { let server = Mutex(Weak()) }

    private init(_ behaviour: Behaviour, _ channel: any Channel) {
        self.state = Mutex(State(behaviour: behaviour))
        self.channel = channel
        self.port = channel.localAddress?.port ?? 0
    }

    deinit {
        self.channel.close(promise: nil)
        for channel in self.state.withLock({ $0.channels.values.map { $0 } }) { channel.close(promise: nil) }
    }

    /// The URL of a path that begins with a slash.
    public func text(_ path: String) -> String { "http://127.0.0.1:\(self.port)\(path)" }

    /// The URL of a path that begins with a slash.
    public func url(_ path: String) throws -> HTTPURL { try HTTPURL(self.text(path)) }

    /// All requests so far.
    public var requests: [Request] { self.state.withLock { $0.requests } }

    /// All uploads by target.
    public var uploads: [String: Upload] { self.state.withLock { $0.uploads } }

    /// The only upload; `nil` if there is none or more than one.
    public var only: Upload? { self.state.withLock { $0.uploads.count == 1 ? $0.uploads.values.first : nil } }

    /// The number of bytes of content received, over all requests.
    public var received: Int64 { self.state.withLock { $0.received } }

    /// The number of connections accepted so far.
    public var connectionCount: Int { self.state.withLock { $0.connections } }

    /// Changes the behaviour for later requests, and ``Behaviour/holdsAt`` for all.
    public func change(_ body: (inout Behaviour) -> Void) {
        let held = self.state.withLock { state in
            body(&state.behaviour)
            defer { state.held = [] }
            return state.held
        }
        for goOn in held { goOn() }
    }

    /// Returns the number of bytes of content that may be read now.
    ///
    /// - Parameter goOn: Called when content may be read again, if the result is 0.
    /// - Returns: The number of bytes; `Int64.max` without a limit.
    func room(else goOn: @escaping @Sendable () -> Void) -> Int64 {
        self.state.withLock { state in
            guard let most = state.behaviour.holdsAt else { return .max }
            let room = max(0, most - state.received)
            if room == 0 { state.held.append(goOn) }
            return room
        }
    }

    /// Deletes all uploads.
    public func forget() { self.state.withLock { $0.uploads = [:] } }

    /// Returns when this many requests were received and the uploads that they create are registered.
    public func waitForRequests(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.decided >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Returns when this many bytes of content were received, over all requests.
    public func waitForBytes(_ count: Int64) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.received >= count { return true }
                state.byteWaiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Returns when no connection is open, after which the uploads do not change.
    public func waitForClose() async {
        await withCheckedContinuation { continuation in
            let isClosed = self.state.withLock { state in
                if state.channels.isEmpty { return true }
                state.closeWaiters.append(continuation)
                return false
            }
            if isClosed { continuation.resume() }
        }
    }

    private func accepted(_ channel: any Channel) -> Int {
        self.state.withLock { state in
            state.connections += 1
            state.channels[ObjectIdentifier(channel)] = channel
            return state.connections - 1
        }
    }

    func ended(_ channel: any Channel) {
        let woken = self.state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = nil
            guard state.channels.isEmpty else { return [CheckedContinuation<Void, Never>]() }
            defer { state.closeWaiters = [] }
            return state.closeWaiters
        }
        for waiter in woken { waiter.resume() }
    }

    /// Records a request.
    ///
    /// - Returns: Its index among all requests.
    func began(_ request: Request) -> Int {
        self.state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
    }

    /// Records that the handling of a request has been decided.
    func decided() {
        let woken = self.state.withLock { state in
            state.decided += 1
            let count = state.decided
            defer { state.waiters.removeAll { $0.count <= count } }
            return state.waiters.filter { $0.count <= count }.map(\.continuation)
        }
        for waiter in woken { waiter.resume() }
    }
}
