// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
public import TransferCore

/// An HTTP/1.1 server on this machine that follows a script, even an invalid one.
///
/// It only parses request heads: the script determines every byte of a response, and the end of the connection. The
/// server records every request and counts the bytes of bodies.
public final class ScriptedServer: Sendable {
    /// Returns the reply to one request; called on an event loop of the server.
    public typealias Script = @Sendable (RecordedRequest) -> Reply

    /// The port on which it listens.
    public let port: Int
    /// The URL of the root, with its final slash.
    public let baseURL: String

    private let channel: any Channel
    private let record: ServerRecord

    /// Starts a server on a free port.
    ///
    /// - Parameters:
    ///   - tls: The certificate for TLS; `nil` for plain TCP.
    ///   - clientAuthority: The authority, in PEM, that must have signed the client's certificate; `nil` requests none.
    ///   - withoutTLS13: Whether TLS 1.3 is disabled.
    ///   - host: The address to listen on: `127.0.0.1` or `::1`.
    ///   - port: The port to listen on, such as that of a shared ``RefusingPort``; 0 for any.
    ///   - sendBuffer: The size of the kernel's send buffer of each connection, or `nil` for the default.
    ///   - handler: The script.
    /// - Returns: The listening server; it stops when it is released.
    /// - Throws: NIO's error if the address cannot be bound.
    public static func start(
        tls: TestCertificate? = nil,
        clientAuthority: String? = nil,
        withoutTLS13: Bool = false,
        host: String = "127.0.0.1",
        port: Int = 0,
        sendBuffer: Int? = nil,
        handler: @escaping Script
    ) async throws -> ScriptedServer {
        let record = ServerRecord()
        let context = try tls.map { try $0.serverContext(clientAuthority: clientAuthority, withoutTLS13: withoutTLS13) }
        var bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: false)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let context {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    }
                    let connection = ScriptedConnection(index: record.accept(channel), record: record, script: handler)
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
        if let sendBuffer {
            bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: .init(sendBuffer))
        }
        let channel = try await bootstrap.bind(host: host, port: port).get()
        guard let port = channel.localAddress?.port else {
            throw TestSupportError("the server's socket has no port; this is a bug in the test support")
        }
        return ScriptedServer(channel: channel, record: record, host: host, port: port, isTLS: tls != nil)
    }

    /// Starts a server on a Unix socket; ``port`` and ``baseURL`` are meaningless then.
    ///
    /// - Parameters:
    ///   - socketPath: The socket's path, at which no file may exist.
    ///   - handler: The script.
    /// - Returns: The listening server; it stops when it is released.
    /// - Throws: NIO's error if the socket cannot be created.
    public static func start(socketPath: String, handler: @escaping Script) async throws -> ScriptedServer {
        let record = ServerRecord()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = ScriptedConnection(index: record.accept(channel), record: record, script: handler)
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
            .bind(unixDomainSocketPath: socketPath)
            .get()
        return ScriptedServer(channel: channel, record: record, host: "localhost", port: 0, isTLS: false)
    }

    private init(channel: any Channel, record: ServerRecord, host: String, port: Int, isTLS: Bool) {
        self.channel = channel
        self.record = record
        self.port = port
        let authority = host.contains(":") ? "[\(host)]" : host
        self.baseURL = "\(isTLS ? "https" : "http")://\(authority):\(port)/"
    }

    /// The URL of a path, which may begin with a slash, as text.
    public func text(_ path: String) -> String {
        self.baseURL + (path.hasPrefix("/") ? String(path.dropFirst()) : path)
    }

    /// The URL of a path, which may begin with a slash.
    ///
    /// - Throws: `SyntaxError` if the path is not valid in a URL.
    public func url(_ path: String) throws -> HTTPURL {
        try HTTPURL(self.text(path))
    }

    /// All requests so far, in the order in which their heads were complete.
    public var requests: [RecordedRequest] { self.record.requests }

    /// The requests for one target so far.
    public func requests(for target: String) -> [RecordedRequest] {
        self.record.requests.filter { $0.target == target }
    }

    /// The number of connections accepted so far.
    public var connectionCount: Int { self.record.connectionCount }

    /// The number of bytes of bodies accepted by the kernel, over all requests; a block in progress when its connection
    /// ended is not counted.
    public var bodyBytesSent: Int64 { self.record.bodyBytes.values.reduce(0, +) }

    /// The number of bytes of bodies accepted by the kernel for one target.
    public func bodyBytesSent(for target: String) -> Int64 { self.record.bodyBytes[target] ?? 0 }

    /// Returns when this many requests were received.
    public func waitForRequests(_ count: Int) async { await self.record.waitForRequests(count) }

    /// Returns when this many connections were accepted, which the client's kernel reports as connected before.
    public func waitForConnections(_ count: Int) async { await self.record.waitForConnections(count) }

    /// Returns when at most this many connections are open.
    public func waitForOpenConnections(_ count: Int) async { await self.record.waitForOpenConnections(count) }

    /// Closes every open connection, and returns when they are closed; the server continues to listen.
    public func closeConnections() async {
        for channel in self.record.takeChannels() { try? await channel.close().get() }
    }

    /// Stops listening and closes every connection.
    public func stop() async {
        try? await self.channel.close().get()
        await self.closeConnections()
    }

    deinit {
        self.channel.close(promise: nil)
        for channel in self.record.takeChannels() { channel.close(promise: nil) }
    }
}
