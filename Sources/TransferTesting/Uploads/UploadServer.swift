import NIOCore
import NIOPosix
import Synchronization
public import TransferCore

/// A server that takes uploads into memory: raw, by tus 1.0 and by the IETF's draft, and that misbehaves on demand.
///
/// What arrived of a request that breaks off stays, as resumable protocols want it.
public final class UploadServer: Sendable {
    /// How the server treats what comes.
    public struct Behaviour: Sendable {
        /// Whether it speaks tus.
        public var speaksTus = false
        /// The digests that its tus takes.
        public var checksums: [DigestAlgorithm] = []
        /// The interop versions of the draft that it speaks.
        public var drafts: Set<Int> = []
        /// The most bytes of an upload that its tus takes.
        public var tusLimit: Int64?
        /// Closes the connections of the first requests with content after so many bytes of it, one number each.
        public var cuts: [Int64] = []
        /// What it answers before it closes a connection so.
        public var farewell: Reply?
        /// Says `100 Continue` where it is asked.
        public var saysContinue = true
        /// Answers such requests at once, by their method, before it reads any content.
        public var refusals: [String: Reply] = [:]
        /// Answers the first requests with content with these statuses instead of taking it; the content is read.
        public var failures: [Int] = []
        /// Redirects paths.
        public var redirects: [String: (status: Int, location: String)] = [:]
        /// The status of an upload that is whole.
        public var status = 201
        /// The body of that answer.
        public var answer = "stored\n"
        /// Forgets an upload's resource after so many requests to it.
        public var forgetsAfter: Int?
        /// Bytes of a request that it takes in a second, or `nil`.
        public var rate: Int?
        /// Takes no more content once it has so many bytes, over all requests, until this is changed.
        public var holdsAt: Int64?
        /// When tus uploads expire, as a date.
        public var expires: String?

        /// Creates a server's that does nothing special.
        public init() {}
    }

    /// An answer given at once.
    public struct Reply: Sendable {
        /// The status.
        public var status: Int
        /// The header fields.
        public var fields: [(String, String)]
        /// The body.
        public var body: String
        /// Whether the connection is closed behind it.
        public var closes: Bool

        /// Creates an answer.
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
        public var fields: HTTPFields
        /// The bytes of content that arrived.
        public var received: Int64 = 0
        /// The connection's number.
        public var connection: Int

        /// The first field of this name.
        public subscript(name: StaticString) -> String? { self.fields[name] }
    }

    /// Something that was, or is being, uploaded.
    public struct Upload: Sendable {
        /// What is there.
        public var bytes: [UInt8] = []
        /// The length announced.
        public var length: Int64?
        /// Whether it is whole.
        public var isWhole = false
        /// Requests for it so far.
        public var requests = 0
        /// `Upload-Metadata`.
        public var metadata: String?
        /// The number of the request that may add to it: the last one that asked for it.
        var appender: Int?
    }

    struct State {
        var behaviour: Behaviour
        var uploads: [String: Upload] = [:]
        var requests: [Request] = []
        /// The requests of which it is decided what is done with them.
        var decided = 0
        var nextUpload = 0
        var connections = 0
        var channels: [ObjectIdentifier: any Channel] = [:]
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var byteWaiters: [(count: Int64, continuation: CheckedContinuation<Void, Never>)] = []
        var closeWaiters: [CheckedContinuation<Void, Never>] = []
        /// What goes on when ``Behaviour/holdsAt`` changes.
        var held: [@Sendable () -> Void] = []

        /// The bytes of content that arrived, over all requests.
        var received: Int64 { self.requests.reduce(0) { $0 + $1.received } }

        /// Takes out those who waited for as many bytes as there are.
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

    /// All uploads by their target.
    public var uploads: [String: Upload] { self.state.withLock { $0.uploads } }

    /// The only upload's bytes, where there is one.
    public var only: Upload? { self.state.withLock { $0.uploads.count == 1 ? $0.uploads.values.first : nil } }

    /// The bytes of content that arrived, over all requests.
    public var received: Int64 { self.state.withLock { $0.received } }

    /// The connections accepted so far.
    public var connectionCount: Int { self.state.withLock { $0.connections } }

    /// Changes how it behaves from now on.
    public func change(_ body: (inout Behaviour) -> Void) {
        let held = self.state.withLock { state in
            body(&state.behaviour)
            defer { state.held = [] }
            return state.held
        }
        for goOn in held { goOn() }
    }

    /// How much content may be taken now.
    ///
    /// - Parameter goOn: Called when there may be some, if there is none.
    /// - Returns: In bytes.
    func room(else goOn: @escaping @Sendable () -> Void) -> Int64 {
        self.state.withLock { state in
            guard let most = state.behaviour.holdsAt else { return .max }
            let room = max(0, most - state.received)
            if room == 0 { state.held.append(goOn) }
            return room
        }
    }

    /// Forgets what it has.
    public func forget() { self.state.withLock { $0.uploads = [:] } }

    /// Returns when so many requests arrived, and what they upload has an entry.
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

    /// Returns when so many bytes of content arrived, over all requests.
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

    /// Returns when no connection is open: what is here then stays as it is.
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

    /// Notes a request.
    ///
    /// - Returns: Its place among all.
    func began(_ request: Request) -> Int {
        self.state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
    }

    /// Notes that what is done with a request is decided.
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
