// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

/// The responses of a receiver behind a proxy: `--base-path` and `--trusted-proxy`.
@Suite("A receiver behind a proxy")
struct ProxiedReceiverTests {
    private static let forwarded = [
        ("X-Forwarded-For", "192.0.2.60"), ("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "files.example"),
    ]

    @Test("has the base path in every URL, and nothing outside it")
    func basePath() async throws {
        let bench = try await ReceiverBench { configuration in
            configuration.basePath = "/files"
            configuration.sharesUploads = true
        }
        mkdir(bench.directory.path("d"), 0o755)
        try bench.directory.write(Array("text".utf8), to: "d/a b.txt")
        #expect(try bench.request("GET", "/d/a%20b.txt").status == 404)
        #expect(try bench.request("GET", "/files/d/a%20b.txt").text == "text")
        let redirect = try bench.request("GET", "/files/d")
        #expect(redirect.status == 301)
        #expect(redirect.fields["Location"] == "/files/d/")
        #expect(try bench.request("GET", "/files").fields["Location"] == "/files/")
        let page = try bench.request("GET", "/files/d/", [("Accept", "text/html")]).text
        #expect(page.contains("href=\"a%20b.txt\""))
        #expect(!page.contains("href=\"/") && page.contains("href=\"../.martlet-page/style.css\""))
        let json = try JSON(parsing: try bench.request("GET", "/files/d/", [("Accept", "application/json")]).body)
        #expect(json["entries"]?[0]?["url"]?.string == "/files/d/a%20b.txt")
        #expect(json["path"]?.string == "/d/")
        let sent = try bench.request("PUT", "/files/new", body: Array("new".utf8))
        #expect(sent.status == 201)
        #expect(sent.fields["Location"] == "http://localhost/files/new")
        let link = try #require(sent.fields["Share-Link"])
        #expect(link.hasPrefix("http://localhost/files/.martlet-share/"))
        #expect(try bench.request("GET", String(link.dropFirst("http://localhost".count))).text == "new")
        let tus = try bench.request(
            "POST",
            "/files/",
            [("Tus-Resumable", "1.0.0"), ("Upload-Length", "3"), ("Upload-Metadata", "filename dHVz")]
        )
        #expect(tus.status == 201)
        let upload = try #require(tus.fields["Location"])
        #expect(upload.hasPrefix("http://localhost/files/.martlet-uploads/"))
        let offset = try bench.request(
            "HEAD",
            String(upload.dropFirst("http://localhost".count)),
            [("Tus-Resumable", "1.0.0")]
        )
        #expect(offset.status == 200)
    }

    @Test("uses what a trusted proxy reports, in URLs, log and cookies")
    func trusted() async throws {
        let lines = Mutex("")
        let log = AccessLog { bytes in lines.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        let bench = try await ReceiverBench(log: log) { configuration in
            configuration.trustedProxies = ["127.0.0.1"]
            configuration.allowedHosts = ["files.example"]
        }
        let sent = try bench.request("PUT", "/new", Self.forwarded, body: Array("new".utf8))
        #expect(sent.fields["Location"] == "https://files.example/new")
        // Pages of the client's host may write; others may not.
        let own = Self.forwarded + [("Origin", "https://files.example")]
        #expect(try bench.request("PUT", "/own", own, body: [1]).status == 201)
        let other = Self.forwarded + [("Origin", "https://localhost")]
        #expect(try bench.request("PUT", "/other", other, body: [1]).status == 403)
        // A page that was rebound to this machine can add the fields, but not change `Host`.
        #expect(try bench.request("GET", "/new", Self.forwarded, host: "evil.example").status == 403)
        let host = [("X-Forwarded-For", "192.0.2.60"), ("X-Forwarded-Host", "evil.example")]
        #expect(try bench.request("GET", "/new", host).status == 403)
        await bench.receiver.stop()
        #expect(lines.withLock { $0 }.contains("192.0.2.60 - - ["))
    }

    @Test("ignores the fields of other clients")
    func untrusted() async throws {
        let bench = try await ReceiverBench { $0.trustedProxies = ["192.0.2.1"] }
        let sent = try bench.request("PUT", "/new", Self.forwarded, body: Array("new".utf8))
        // The scheme is believed from this machine, as documented.
        #expect(sent.fields["Location"] == "https://localhost/new")
    }

    @Test("does not start with a base path or a proxy that is none")
    func refused() async throws {
        await #expect(throws: ReceiverError.self) { try await ReceiverBench { $0.basePath = "/a b" } }
        await #expect(throws: ReceiverError.self) { try await ReceiverBench { $0.trustedProxies = ["proxy"] } }
    }
}
