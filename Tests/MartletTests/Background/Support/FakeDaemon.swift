// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Martlet
import NIOCore
import NIOPosix
import Synchronization
import Testing
import TransferTesting

/// What speaks enough of the daemon's interface for a background session, and does what a test says.
final class FakeDaemon: Sendable {
    /// The outcome of a call.
    enum Answer: Sendable {
        case result(JSON)
        case refusal(String, String)
        /// The connection is lost, after the call was done or before.
        case lost
        /// The answer never comes.
        case none
    }

    struct Call: Sendable {
        var method: String
        var parameters: JSON
    }

    private struct State {
        var channel: (any Channel)?
        var connections: [ObjectIdentifier: any Channel] = [:]
        var streams: [any Channel] = []
        var events: [(number: Int64, json: JSON)] = []
        var last: Int64 = 0
        var acknowledged: Int64 = 0
        var transfers: [JSON] = []
        var script: (@Sendable (Call, Int) -> Answer?)?
        var counts: [String: Int] = [:]
    }

    /// Every call, in order.
    let calls = Log<Call>()
    /// The path of each stream that was opened.
    let streams = Log<String>()
    /// Grows with every stream that ends.
    private let ends = Log<Void>()
    let directory: TemporaryDirectory
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let state = Mutex(State())

    init() throws { self.directory = try TemporaryDirectory() }

    deinit { self.group.shutdownGracefully { _ in } }

    /// The configuration of a session of this daemon's; no other daemon can be started.
    func configuration(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> SessionConfiguration {
        var configuration = SessionConfiguration.background(
            identifier: "test.session",
            stateDirectory: self.directory.path("state")
        )
        configuration.daemonPath = "/nonexistent/martletd"
        configuration.cookies = nil
        configuration.proxy = .none
        change(&configuration)
        return configuration
    }

    /// Begins to listen.
    func start() async throws {
        let place = try StateDirectory(self.directory.path("state"))
        try place.make()
        let path = try place.makeSocketDirectory()
        let channel = try await ServerBootstrap(group: self.group)
            .childChannelInitializer { [weak self] channel in
                guard let self else { return channel.close() }
                return channel.pipeline.addHandler(FakeConnection(self))
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        self.state.withLock { $0.channel = channel }
    }

    /// Closes every connection, and listens no more.
    func stop() async throws {
        let channel = self.state.withLock { state in
            defer { state.channel = nil }
            return state.channel
        }
        try await channel?.close()
        self.dropConnections()
    }

    /// Closes every connection.
    func dropConnections() {
        let channels = self.state.withLock { Array($0.connections.values) }
        for channel in channels { channel.close(promise: nil) }
    }

    /// Decides about calls: the second argument counts those of the method from 1; `nil` is the usual answer.
    func script(_ script: @escaping @Sendable (Call, Int) -> Answer?) { self.state.withLock { $0.script = script } }

    /// A transfer that is there before the session is opened.
    func hold(_ record: TransferRecord) { self.state.withLock { $0.transfers.append(record.json) } }

    /// An event: it gets a number, is stored, and is sent to all subscribers.
    func emit(_ json: JSON) {
        let (number, streams) = self.state.withLock { state in
            state.last += 1
            state.events.append((state.last, json))
            return (state.last, state.streams)
        }
        for stream in streams { Self.write(number, json, to: stream) }
    }

    /// Progress and such: sent, not stored.
    func tell(_ json: JSON) {
        for stream in self.state.withLock({ $0.streams }) { Self.write(nil, json, to: stream) }
    }

    /// Returns when a stream was ended.
    func waitForDisconnection() async { await self.ends.wait(for: 1) }

    var acknowledged: Int64 { self.state.withLock { $0.acknowledged } }

    /// The identifiers that were asked to be added, in order, as often as they were.
    var added: [String] { Self.added(self.calls.entries) }

    static func added(_ calls: [Call]) -> [String] {
        calls.filter { $0.method == "martlet.add" }
            .flatMap { ($0.parameters["entries"]?.array ?? []).compactMap { $0["id"]?.string } }
    }

    // MARK: Connections

    fileprivate func connected(_ channel: any Channel) {
        self.state.withLock { $0.connections[ObjectIdentifier(channel)] = channel }
    }

    fileprivate func disconnected(_ channel: any Channel) {
        let isStream = self.state.withLock { state in
            state.connections[ObjectIdentifier(channel)] = nil
            defer { state.streams.removeAll { $0 === channel } }
            return state.streams.contains { $0 === channel }
        }
        if isStream { self.ends.add(()) }
    }

    fileprivate func called(_ body: [UInt8], on channel: any Channel) {
        guard let json = try? JSON(parsing: body), let method = json["method"]?.string else { return }
        let call = Call(method: method, parameters: json["params"] ?? .null)
        let (answer, isUsual) = self.state.withLock { state in
            state.counts[method, default: 0] += 1
            let scripted = state.script?(call, state.counts[method] ?? 0)
            return (scripted ?? self.usual(call, &state), scripted == nil)
        }
        self.calls.add(call)
        if isUsual, method == "martlet.closeSession" { return self.closed(call, on: channel) }
        switch answer {
        case .result(let result): Self.respond(["jsonrpc": "2.0", "id": 1, "result": result], to: channel)
        case .refusal(let reason, let message):
            let error: JSON = [
                "code": 1, "message": .string(message), "data": ["reason": .string(reason), "remedy": ""],
            ]
            Self.respond(["jsonrpc": "2.0", "id": 1, "error": error], to: channel)
        case .lost: channel.close(promise: nil)
        case .none: break
        }
    }

    /// In the daemon's order: first the removals are reported, then the stream ends, and then the response follows.
    private func closed(_ call: Call, on channel: any Channel) {
        let (transfers, streams) = self.state.withLock { ($0.transfers, $0.streams) }
        if call.parameters["keepTransfers"] != true {
            for transfer in transfers { self.emit(["kind": "removed", "id": transfer["id"] ?? .null, "path": .null]) }
        }
        let ends = streams.map { stream in stream.writeAndFlush(ByteBuffer()).flatMap { stream.close() } }
        EventLoopFuture.andAllComplete(ends, on: channel.eventLoop)
            .whenComplete { _ in
                Self.respond(["jsonrpc": "2.0", "id": 1, "result": [:]], to: channel)
            }
    }

    private func usual(_ call: Call, _ state: inout State) -> Answer {
        switch call.method {
        case "martlet.daemon": return .result(["version": "test", "protocol": 1])
        case "martlet.openSession":
            return .result([
                "transfers": .array(state.transfers), "acknowledged": .integer(state.acknowledged),
                "last": .integer(state.last),
            ])
        case "martlet.add":
            let entries = call.parameters["entries"]?.array ?? []
            for entry in entries {
                guard let id = entry["id"]?.string.flatMap({ GID($0) }) else {
                    return .refusal("badParameter", "no id")
                }
                if state.transfers.contains(where: { $0["id"]?.string == id.description }) {
                    return .refusal("duplicate", "it is there already")
                }
            }
            for entry in entries {
                guard let id = entry["id"]?.string.flatMap({ GID($0) }) else { continue }
                var record = TransferRecord(
                    id: id,
                    session: "test.session",
                    state: .waiting,
                    urls: (entry["urls"]?.array ?? []).compactMap(\.string),
                    directory: entry["options"]?["dir"]?.string ?? "/",
                    added: 1
                )
                record.options = TransferOptions(json: entry["options"] ?? .null)
                state.transfers.append(record.json)
            }
            return .result(.array(entries.compactMap { $0["id"] }))
        case "martlet.acknowledge":
            state.acknowledged = max(state.acknowledged, call.parameters["upTo"]?.integer ?? 0)
            let acknowledged = state.acknowledged
            state.events.removeAll { $0.number <= acknowledged }
            return .result([:])
        default: return .result(["changed": 1])
        }
    }

    fileprivate func subscribed(_ path: String, on channel: any Channel) {
        let after = path.split(separator: "after=").last.flatMap { Int64($0) } ?? 0
        let stored = self.state.withLock { state in
            state.streams.append(channel)
            return state.events.filter { $0.number > after }
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        channel.writeAndFlush(ByteBuffer(string: head), promise: nil)
        for (number, json) in stored { Self.write(number, json, to: channel) }
        self.streams.add(path)
    }

    private static func write(_ number: Int64?, _ json: JSON, to channel: any Channel) {
        let id = number.map { "id: \($0)\n" } ?? ""
        channel.writeAndFlush(ByteBuffer(string: "\(id)data: \(json.text)\n\n"), promise: nil)
    }

    private static func respond(_ json: JSON, to channel: any Channel) {
        let body = json.text
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        channel.writeAndFlush(ByteBuffer(string: head + body), promise: nil)
    }
}

/// One connection: requests one after the other.
private final class FakeConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    private let daemon: FakeDaemon
    private var bytes: [UInt8] = []

    init(_ daemon: FakeDaemon) { self.daemon = daemon }

    func channelActive(context: ChannelHandlerContext) { self.daemon.connected(context.channel) }

    func channelInactive(context: ChannelHandlerContext) { self.daemon.disconnected(context.channel) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.bytes += Array(self.unwrapInboundIn(data).readableBytesView)
        while let end = self.bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
            let head = String(decoding: self.bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            let length =
                head.first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst(15).filter { $0 != " " }) } ?? 0
            guard self.bytes.count >= end.upperBound + length else { return }
            let body = Array(self.bytes[end.upperBound..<end.upperBound + length])
            self.bytes.removeFirst(end.upperBound + length)
            let words = head.first?.split(separator: " ") ?? []
            if words.first == "GET", words.count > 1 {
                self.daemon.subscribed(String(words[1]), on: context.channel)
            } else {
                self.daemon.called(body, on: context.channel)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
