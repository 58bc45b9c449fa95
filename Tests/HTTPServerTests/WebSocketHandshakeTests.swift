// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import HTTPServer

@Suite("A WebSocket's handshake")
struct WebSocketHandshakeTests {
    @Test("is accepted with the digest of its key (RFC 6455 §1.3)")
    func accept() {
        let fields = WebSocketHandshake.fields(accepting: "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(fields["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("is valid only with all its fields, once each, on the first request")
    func validity() throws {
        let valid = HeaderFields([
            ("Upgrade", "WebSocket"), ("Connection", "keep-alive, Upgrade"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "x"),
        ])
        func isValid(_ change: (inout Request) -> Void = { _ in }) throws -> Bool {
            var request = Request(
                head: RequestHead(method: "GET", target: "/", fields: valid),
                target: try #require(RequestTarget("/")),
                peer: "-",
                localAddress: nil,
                isLocal: true,
                isSecure: false,
                isFirst: true
            )
            change(&request)
            return WebSocketHandshake.isValid(request)
        }
        #expect(try isValid())
        #expect(try !isValid { $0.isFirst = false })
        #expect(try !isValid { $0.head.method = "POST" })
        #expect(try !isValid { $0.head.minorVersion = 0 })
        #expect(try !isValid { $0.head.framing = .length(1) })
        #expect(try !isValid { $0.head.fields["Connection"] = "close" })
        #expect(try !isValid { $0.head.fields["Sec-WebSocket-Version"] = "8" })
        for name in ["Upgrade", "Sec-WebSocket-Version", "Sec-WebSocket-Key"] {
            #expect(try !isValid { $0.head.fields.append(name, "y") })
            #expect(try !isValid { $0.head.fields[name] = nil })
        }
    }
}
