// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Bodies end as their framing says", .timeLimit(.minutes(1)))
struct BodyTests {
    @Test("a chunked body comes without its framing, its trailers at the end")
    func chunked() async throws {
        let server = try await ScriptedServer.start { _ in
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nA: b\r\n\r\n")
        }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/"))
            #expect(record.body == Array("abcde".utf8))
            #expect(record.trailers?["A"] == "b")
            #expect(record.isClean == true)
        }
    }

    @Test("a body without a length ends with the connection, not cleanly")
    func untilClose() async throws {
        let server = try await ScriptedServer.start { _ in Reply.raw("HTTP/1.0 200 OK\r\n\r\nall of it").then(.close) }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/"))
            #expect(record.body == Array("all of it".utf8))
            #expect(record.isClean == false)
        }
    }

    @Test(
        "a connection that ends too early is a truncation, after the bytes that came",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ]
    )
    func truncated(_ text: String) async throws {
        let server = try await ScriptedServer.start { _ in Reply.raw(text).then(.close) }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/"))
            #expect(record.body == Array("abc".utf8))
            #expect(record.error?.code == .truncated)
            #expect(record.violations.isEmpty)
        }
    }

    @Test("a reset is told as such")
    func reset() async throws {
        let bodySeen = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").then(.waitUntil(bodySeen), .reset)
        }
        try await HTTPTransport.with { (transport) async throws in
            let receiver = ExchangeRecorder()
            _ = await transport.begin(try server.url("/"), receiver)
            await receiver.hasBody.wait()
            bodySeen.open()
            let record = await receiver.whole()
            #expect(record.error?.code == .reset)
            #expect(record.body == Array("abc".utf8))
        }
    }

    @Test("heads are bounded, and a malformed one is an error")
    func heads() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/large":
                Reply([.head(Array("HTTP/1.1 200 OK\r\nA: ".utf8)), .endless([UInt8](repeating: 97, count: 4096))])
            case "/interim": Reply([.endless(Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8))])
            default: .raw("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n")
            }
        }
        try await HTTPTransport.with { (transport) async throws in
            #expect(try await transport.get(server.url("/large")).error?.code == .headTooLarge)
            #expect(try await transport.get(server.url("/interim")).error?.code == .headTooLarge)
            #expect(try await transport.get(server.url("/other")).error?.code == .malformed)
        }
    }

    @Test("a field that would break the request's framing is refused, not sent")
    func injection() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/"), fields: ["A": "b\r\nC: d"])
            #expect(record.error?.code == .malformed)
            #expect(record.violations.isEmpty)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("HEAD's response has no body, and the request says where it goes")
    func head() async throws {
        let server = try await ScriptedServer.start { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n") }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/a?b"), method: "HEAD", fields: ["X-A": "b"])
            #expect(record.isClean == true)
            #expect(record.head?.fields["content-length"] == "99")
        }
        #expect(server.requests.first?.target == "/a?b")
        #expect(server.requests.first?["Host"] == "127.0.0.1:\(server.port)")
        #expect(server.requests.first?["x-a"] == "b")
    }
}
