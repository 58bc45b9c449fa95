// SPDX-License-Identifier: Apache-2.0
import HTTPTransport
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("TLS", .timeLimit(.minutes(1)))
struct TLSTests {
    @Test("a certificate whose authority is given is trusted, for a name and for an address")
    func trusted() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "secret") }
        let directory = try TemporaryDirectory()
        try directory.write(Array(TestCertificate.localhost.authorityPEM.utf8), to: "ca.pem")
        try await HTTPTransport.with {
            $0.tls.roots = .pemFile(directory.path("ca.pem"))
        } _: { (transport) async throws in
            for host in ["127.0.0.1", "localhost"] {
                for _ in 0..<2 {
                    let record = await transport.get(try HTTPURL("https://\(host):\(server.port)/"))
                    #expect(record.body == Array("secret".utf8))
                    #expect(record.error == nil)
                }
            }
        }
        #expect(server.connectionCount == 2)
    }

    @Test("an unknown authority is refused, and the message says what to do")
    func untrusted() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200) }
        try await HTTPTransport.with { (transport) async throws in
            let record = await transport.get(try server.url("/"))
            #expect(record.error?.code == .certificateUnknownAuthority)
            #expect(record.error?.setting == .trust)
            #expect(record.connectedCount == 0)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("without verification anything is accepted")
    func insecure() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "secret") }
        try await HTTPTransport.with {
            $0.tls.verification = .none
        } _: { (transport) async throws in
            #expect(try await transport.get(server.url("/")).body == Array("secret".utf8))
        }
    }

    @Test("a plain server is no TLS server")
    func plain() async throws {
        let server = try await ScriptedServer.start { _ in .response(400) }
        try await HTTPTransport.with { (transport) async throws in
            let url = try HTTPURL("https://127.0.0.1:\(server.port)/")
            let record = await transport.get(url, connectTimeout: 2_000_000_000)
            #expect(record.error?.code == .tls || record.error?.code == .connectTimeout)
        }
    }

    @Test("a file without certificates is refused at the start, with a clear message")
    func badFile() throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array("nothing".utf8), to: "empty.pem")
        for name in ["empty.pem", "missing.pem"] {
            var configuration = HTTPTransport.Configuration()
            configuration.tls.roots = .pemFile(directory.path(name))
            #expect {
                _ = try HTTPTransport(configuration: configuration)
            } throws: { error in
                (error as? TransportError)?.code == .certificate && "\(error)".contains(name)
            }
        }
    }

    @Test("a large body and a truncated one are distinguished as over TCP")
    func bodies() async throws {
        let body = [UInt8](repeating: 9, count: 3 << 20)
        let server = try await ScriptedServer.start(tls: .localhost) { request in
            switch request.path {
            case "/cut": Reply.raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").then(.close)
            case "/reset": Reply.raw("HTTP/1.1 200 OK\r\n\r\nabc").then(.close)
            default: .response(200, body: body)
            }
        }
        try await HTTPTransport.with {
            $0.tls.verification = .none
        } _: { (transport) async throws in
            #expect(try await transport.get(server.url("/")).body == body)
            #expect(try await transport.get(server.url("/cut")).error?.code == .truncated)
            let untilClose = await transport.get(try server.url("/reset"))
            #expect(untilClose.isClean == false)
            #expect(untilClose.body == Array("abc".utf8))
        }
    }

    @Test("a body without a length that is cut without close_notify is truncated (RFC 9112 §9.8)", arguments: [0, 3])
    func cut(length: Int) async throws {
        let body = String(repeating: "a", count: length)
        let server = try await ScriptedServer.start(tls: .localhost) { request in
            let reply = Reply.raw("HTTP/1.\(request.path == "/0" ? 0 : 1) 200 OK\r\n\r\n\(body)")
            return request.path == "/closed" ? reply.then(.close) : reply.then(.cut)
        }
        try await HTTPTransport.with {
            $0.tls.verification = .none
        } _: { (transport) async throws in
            for path in ["/0", "/1"] {
                let cut = await transport.get(try server.url(path))
                #expect(cut.error?.code == .truncated && cut.isClean == nil && cut.violations.isEmpty)
                #expect(cut.error?.message.contains("close_notify") == true)
                #expect(cut.body == Array(body.utf8))
            }
            let closed = await transport.get(try server.url("/closed"))
            #expect(closed.error == nil && closed.isClean == false && closed.body == Array(body.utf8))
        }
    }

    @Test("a cut body without a length that was paused is truncated when it is resumed")
    func cutInPause() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in
            Reply.raw("HTTP/1.1 200 OK\r\n\r\nabc").then(.cut)
        }
        try await HTTPTransport.with {
            $0.tls.verification = .none
        } _: { (transport) async throws in
            let receiver = ExchangeRecorder(onBody: { _ in .pause })
            let exchange = await transport.begin(try server.url("/"), receiver)
            await receiver.hasBody.wait()
            while !receiver.now.isOver {
                exchange.resumeReading()
                await Task.yield()
            }
            #expect(receiver.now.error?.code == .truncated && receiver.now.body == Array("abc".utf8))
        }
    }

    @Test(
        "a response whose framing shows its end is complete without close_notify",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        ],
        [false, true]
    )
    func complete(_ text: String, pauses: Bool) async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in Reply.raw(text).then(.cut) }
        try await HTTPTransport.with {
            $0.tls.verification = .none
        } _: { (transport) async throws in
            let receiver = ExchangeRecorder(onBody: { _ in pauses ? .pause : .read })
            let exchange = await transport.begin(try server.url("/"), receiver)
            if pauses {
                await server.waitForOpenConnections(0)
                while !receiver.now.isOver {
                    exchange.resumeReading()
                    await Task.yield()
                }
            }
            let record = await receiver.whole()
            #expect(record.error == nil && record.isClean == true && record.violations.isEmpty)
            #expect(record.body == (text.contains("abc") ? Array("abc".utf8) : []))
        }
    }

    @Test("a pause holds over TLS as well")
    func pause() async throws {
        let body = [UInt8](repeating: 9, count: 1 << 20)
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, body: body) }
        try await HTTPTransport.with {
            $0.tls.verification = .none
        } _: { (transport) async throws in
            let receiver = ExchangeRecorder(onBody: { _ in .pause })
            let exchange = await transport.begin(try server.url("/"), receiver)
            // Resumes as fast as it can: a resume that finds no pause does nothing.
            while !receiver.now.isOver {
                exchange.resumeReading()
                await Task.yield()
            }
            #expect(receiver.now.body == body)
        }
    }
}
