// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferTesting

@testable import Daemon

@Suite("What clients of aria2 send over HTTP", .timeLimit(.minutes(1)))
struct Aria2ClientTests {
    @Test(
        "browser extensions are allowed without an option, and need the token; no web page is",
        arguments: [
            ("chrome-extension://mpkodccbngfoacfalldjimigbofkhgjn", 200),
            ("moz-extension://9b0f7b5e-3c4f-4d58-8f3c-1f2a3b4c5d6e", 200), ("safari-web-extension://ABCDEF", 200),
            ("chrome-extension://", 403), ("http://chrome-extension://x", 403), ("extension://x", 403), ("null", 403),
            ("https://evil.example", 403), ("CHROME-extension.evil://x", 403),
        ]
    )
    func extensions(_ origin: String, _ status: Int) async throws {
        try await ServerHarness.run { harness in
            let connection = try await harness.tcp()
            let field = "Origin: \(origin)"
            let reply = try await connection.request("POST", "/jsonrpc", [field], body: HTTPTests.call)
            #expect(reply.status == status)
            #expect(reply.field("Access-Control-Allow-Origin") == (status == 200 ? origin : nil))
            if status == 200 {
                let open = try await connection.request("POST", "/jsonrpc", [field], body: HTTPTests.open)
                #expect(open.status == 400 && open.body.contains("Unauthorized"))
                await connection.close()
            } else {
                try await connection.end()
            }
        }
    }

    @Test("a request in HTTP/1.0 may come without Host, and its connection is closed; one in HTTP/1.1 may not")
    func oldVersion() async throws {
        try await ServerHarness.run { harness in
            let length = "Content-Length: \(HTTPTests.call.utf8.count)\r\n\r\n"
            let old = try await harness.tcp()
            try await old.send("POST /jsonrpc HTTP/1.0\r\n" + length + HTTPTests.call)
            let reply = try await old.reply()
            #expect(reply.status == 200 && reply.body == HTTPTests.answer)
            try await old.end()
            let evil = try await harness.tcp()
            try await evil.send("POST /jsonrpc HTTP/1.0\r\nHost: evil.example\r\n" + length + HTTPTests.call)
            #expect(try await evil.reply().status == 403)
            let page = try await harness.tcp()
            try await page.send("POST /jsonrpc HTTP/1.0\r\nOrigin: http://evil.example\r\n" + length + HTTPTests.call)
            #expect(try await page.reply().status == 403)
            let new = try await harness.tcp()
            try await new.send("POST /jsonrpc HTTP/1.1\r\n" + length + HTTPTests.call)
            #expect(try await new.reply().status == 403)
        }
    }

    @Test("a secret may have spaces inside, everywhere where it is given")
    func spaces() async throws {
        let secret = "my own secret"
        #expect(try SecretFile.token(Array("my own secret\n".utf8), from: "it") == secret)
        for wrong in [" a", "a ", " ", "a\tb", "é"] {
            #expect(throws: ControlError.self) { try SecretFile.token(Array(wrong.utf8), from: "it") }
        }
        try await ServerHarness.run {
            $0.token = secret
        } _: { harness in
            let connection = try await harness.tcp()
            let call = #"{"id":1,"method":"aria2.tellWaiting","params":["token:my own secret",0,1]}"#
            #expect(try await connection.request(body: call).body == HTTPTests.answer)
            for (target, fields) in [
                ("/jsonrpc", ["Authorization: Bearer my own secret"]), ("/jsonrpc?token=my%20own%20secret", []),
            ] {
                let reply = try await connection.request("POST", target, fields, body: HTTPTests.open)
                #expect(reply.body == HTTPTests.answer)
            }
            await connection.close()
        }
    }
}
