// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Requests as they are sent", .timeLimit(.minutes(1)))
struct RequestTests {
    @Test("content is sent with its length, also none (RFC 9110 §8.6)", arguments: [0, 1, 70_000, 3 << 20])
    func content(size: Int) async throws {
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
        let server = try await ScriptedServer.start { _ in .response(200, text: "done") }
        try await HTTPTransport.with { (transport) async throws in
            for _ in 0..<2 {
                let record = await transport.get(try server.url("/"), method: "PUT", body: body)
                #expect(record.body == Array("done".utf8))
                #expect(record.violations.isEmpty)
            }
        }
        #expect(server.connectionCount == 1)
        for request in server.requests {
            #expect(request.method == "PUT" && request.body == body)
            #expect(request.fields.values("Content-Length") == [String(size)])
        }
    }

    @Test("without content no length is sent")
    func noContent() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        try await HTTPTransport.with { (transport) async throws in
            _ = await transport.get(try server.url("/"), method: "DELETE")
        }
        #expect(server.requests.first?.method == "DELETE")
        #expect(server.requests.first?["Content-Length"] == nil)
    }

    @Test("fields that are the transport's own are not the caller's; a Host is")
    func ownFields() async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        try await HTTPTransport.with { (transport) async throws in
            let fields: HeaderFields = [
                "content-length": "7", "Transfer-Encoding": "chunked", "CONNECTION": "close", "hOst": "other.example",
                "Proxy-Connection": "close", "Proxy-Authorization": "Basic c2VjcmV0", "X-Kept": "yes", "Host": "third",
            ]
            _ = await transport.get(try server.url("/"), method: "POST", fields: fields, body: [1, 2])
            _ = await transport.get(try server.url("/"))
        }
        let request = try #require(server.requests.first)
        #expect(request.fields.values("Host") == ["other.example"])
        #expect(request.fields.values("Content-Length") == ["2"])
        #expect(request.fields.count == 3)
        #expect(request["X-Kept"] == "yes")
        #expect(request.body == [1, 2])
        #expect(server.requests.last?["Host"] == "127.0.0.1:\(server.port)")
        #expect(server.connectionCount == 1)
    }

    @Test("what would break the framing is not sent", arguments: ["a\r\nX: y", "a\nb", "a\u{0}"])
    func injection(value: String) async throws {
        let server = try await ScriptedServer.start { _ in .response(200) }
        try await HTTPTransport.with { (transport) async throws in
            for name in ["X-Name", "Host", "Content-Length"] {
                let record = await transport.get(try server.url("/"), fields: HeaderFields([(name, value)]))
                #expect(record.error?.code == .malformed)
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test("a request with content is not repeated on a fresh connection (RFC 9110 §9.2.2)", arguments: ["GET", "PUT"])
    func notRepeated(method: String) async throws {
        let server = try await ScriptedServer.start { request in
            request.requestIndex == 0 ? .response(200) : Reply([.close])
        }
        try await HTTPTransport.with { (transport) async throws in
            _ = await transport.get(try server.url("/"))
            let record = await transport.get(try server.url("/"), method: method, body: [1])
            #expect(record.error?.code == .truncated)
            #expect(record.error?.onReusedConnection == true)
        }
        #expect(server.connectionCount == 1 && server.requests.count == 2)
    }

    @Test("a response before the end of the content is taken, and its connection is not used again")
    func earlyResponse() async throws {
        // More than the server waits for, and than the kernel takes at once.
        let body = [UInt8](repeating: 7, count: 32 << 20)
        let server = try await ScriptedServer.start { request in
            request.method == "PUT" ? Reply.response(413, text: "too much").then(.stall) : .response(200)
        }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/"), method: "PUT", body: body)
            #expect(record.head?.status == 413)
            #expect(record.body == Array("too much".utf8))
            #expect(await transport.get(try server.url("/")).head?.status == 200)
        }
        #expect(server.connectionCount == 2)
    }
}
