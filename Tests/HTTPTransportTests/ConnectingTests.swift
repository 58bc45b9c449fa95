// SPDX-License-Identifier: Apache-2.0
import Platform
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Connecting fails clearly", .timeLimit(.minutes(1)))
struct ConnectingTests {
    @Test("a refused connection is reported with the place")
    func refused() async throws {
        let refusing = try RefusingPort()
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try HTTPURL(refusing.text("")))
            #expect(record.error?.code == .refused)
            #expect(record.error?.message == "cannot connect to 127.0.0.1:\(refusing.port): connection refused")
            #expect(record.error?.remedy == "check the port, and that the server is running")
            #expect(record.connectedCount == 0)
        }
    }

    @Test("a name that cannot be resolved is reported as such")
    func nameResolution() async throws {
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(
                try HTTPURL("http://does-not-exist.invalid/"),
                connectTimeout: 30_000_000_000
            )
            // Without name servers nothing is known about the name.
            #expect(record.error?.code == .unknownName || record.error?.code == .nameResolution)
            #expect(record.error?.peer?.host == "does-not-exist.invalid")
            #expect(record.error?.message.contains("does-not-exist.invalid") == true)
        }
    }

    @Test("a handshake that the server does not answer ends with the connect timeout")
    func silentHandshake() async throws {
        // A plain server takes the client's greeting for a request that never ends.
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        try await HTTPTransport.with { (transport) async throws in
            let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
            // Time enough that the connection itself is there also on a busy machine.
            let record = await transport.get(url, connectTimeout: 6_000_000_000)
            #expect(record.error?.code == .connectTimeout)
            #expect(record.error?.message.contains("the TLS handshake to 127.0.0.1") == true)
        }
    }

    @Test("an unaccepted connection ends with the connect timeout")
    func connectTimeout() async throws {
        // With a backlog of 0 that is full, Linux leaves further connections unanswered.
        let listener = try FullListener()
        try await HTTPTransport.with { (transport) async throws in
            let url = try HTTPURL("http://127.0.0.1:\(listener.port)/")
            var codes: [TransportError.Code?] = []
            for _ in 0..<3 { codes.append(await transport.get(url, connectTimeout: 200_000_000).error?.code) }
            #expect(codes.contains(.connectTimeout))
        }
    }

    @Test("IPv6 literals and names are connected to")
    func families() async throws {
        let six = try await ScriptedServer.start(host: "::1") { _ in .response(200, text: "six") }
        let four = try await ScriptedServer.start { _ in .response(200, text: "four") }
        try await HTTPTransport.with { (transport) async throws in
            #expect(try await transport.get(six.url("/")).body == Array("six".utf8))
            #expect(six.requests.first?["Host"] == "[::1]:\(six.port)")
            let url = try HTTPURL("http://localhost:\(four.port)/")
            #expect(await transport.get(url).body == Array("four".utf8))
        }
    }

    @Test("cancelling while connecting is silent")
    func cancelConnecting() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        try await HTTPTransport.with { (transport) async throws in
            let receiver = ExchangeRecorder()
            let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
            let exchange = await transport.begin(url, receiver)
            exchange.cancel()
            await transport.shutdown()
            #expect(!receiver.now.isOver)
            #expect(receiver.now.connectedCount == 0)
        }
    }
}

/// A listening socket that accepts nothing and whose queue is full.
private final class FullListener: Sendable {
    let port: Int
    private let descriptors: [Int32]

    init() throws {
        var descriptors = [socket(AF_INET, SocketType.stream, 0)]
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = descriptors[0]
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 0) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        guard isBound else { throw TestSupportError("the listening socket cannot be made") }
        for _ in 0..<3 {
            let client = socket(AF_INET, SocketType.stream, 0)
            _ = fcntl(client, F_SETFL, O_NONBLOCK)
            descriptors.append(client)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) }
            }
        }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        self.descriptors = descriptors
    }

    deinit {
        for descriptor in self.descriptors { close(descriptor) }
    }
}
