// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

/// Numbers within a few of the ends of the integer types, in everything that a client can choose.
///
/// An overflow traps and ends the test process.
@Suite("Requests with numbers at the ends of the integer types")
struct NumberRangeRequestTests {
    private static let integers: [Int64] = [
        .min, -1, 0, 1, 1 << 32, 1 << 56, .max - 4096, .max - 4095, .max - 1, .max,
    ]
    private static let larger = ["9223372036854775808", "18446744073709551615", "18446744073709551616"]
    private static let numbers = Self.integers.map { String($0) } + Self.larger

    /// Sends a request without its content, and reads a response if the receiver refuses it.
    private func send(_ bench: ReceiverBench, _ head: String) throws {
        let client = try bench.client()
        client.send(Array((head + "\r\n\r\n").replacing("\n", with: "\r\n").utf8))
    }

    @Test("do not end the receiver", arguments: Self.numbers)
    func lengths(_ number: String) async throws {
        let bench = try await ReceiverBench {
            $0.records = try? RecordChoice(cookies: [], headers: [])
            $0.limits.total = .max
        }
        let created = try bench.request(
            "POST",
            "/",
            [("Tus-Resumable", "1.0.0"), ("Upload-Defer-Length", "1")],
            body: []
        )
        let location = try #require(created.fields["Location"])
        for text in ["0", number] {
            for method in ["POST /", "PUT /x", "POST /?name=y", "PATCH \(location)"] {
                let head = "\(method) HTTP/1.1\nHost: localhost\nConnection: close\nContent-Length: \(text)"
                try self.send(bench, head)
                try self.send(
                    bench,
                    head + "\nTus-Resumable: 1.0.0\nUpload-Length: \(number)\nUpload-Offset: 0"
                        + "\nContent-Type: application/offset+octet-stream"
                )
                for version in 3...6 {
                    try self.send(
                        bench,
                        head + "\nUpload-Draft-Interop-Version: \(version)\nUpload-Complete: ?0\nUpload-Incomplete: ?1"
                            + "\nUpload-Offset: \(text)\nUpload-Length: \(number)\nContent-Type: application/partial-upload"
                    )
                }
            }
        }
        #expect(try bench.request("GET", "/").status == 200)
        #expect(try bench.request("HEAD", location, [("Tus-Resumable", "1.0.0")]).status == 200)
    }

    @Test("get ranges and archives of the largest files")
    func largestFiles() async throws {
        let bench = try await ReceiverBench()
        for name in ["a", "b"] {
            try bench.directory.write([], to: name)
            // Sparse; a filesystem with smaller files refuses it.
            guard truncate(bench.directory.path(name), .max) == 0 else { return }
        }
        for (field, first) in [
            ("bytes=\(Int64.max - 100)-", "bytes \(Int64.max - 100)-"), ("bytes=-1", "bytes \(Int64.max - 1)-"),
            ("bytes=\(1 << 56)-\((1 << 56) + 9)", "bytes \(1 << 56)-"),
        ] {
            let response = try bench.request("GET", "/a", [("Range", field)])
            #expect(response.status == 206)
            #expect(response.fields["Content-Range"]?.hasPrefix(first) == true)
            #expect(response.isWhole && response.body.allSatisfy { $0 == 0 })
        }
        for path in ["/a", "/?zip&name=a", "/?zip&name=a&name=b"] {
            try self.send(bench, "GET \(path) HTTP/1.1\nHost: localhost\nConnection: close")
        }
        #expect(try bench.request("HEAD", "/a").fields["Content-Length"] == "\(Int64.max)")
    }

    @Test("are accepted or refused in fields, forms and stored texts")
    func fields() throws {
        let proxies = try #require(TrustedProxies(parsing: ["10.0.0.0/8"]))
        for text in EdgeNumbers.texts {
            for entry in ["10.0.0.0/\(text)", "fd00::/\(text)", "::\(text)/8", "\(text).0.0.1"] {
                _ = TrustedProxies(parsing: [entry])
            }
            for fields: HeaderFields in [
                ["Forwarded": "for=\"[::1]:\(text)\";host=\"h:\(text)\";proto=\(text), for=192.0.2.1:\(text)"],
                ["X-Forwarded-For": "192.0.2.1:\(text), \(text)", "X-Forwarded-Host": "h:\(text)"],
            ] {
                _ = ClientOrigin(fields, peer: "10.0.0.1", proxies: proxies)
            }
            _ = WantedDigest.algorithm("sha-256=\(text), sha-512=1")
            _ = PasswordHash(text: "pbkdf2-sha256$\(text)$00$\(String(repeating: "00", count: 32))")
            let boundary = Array("b".utf8)
            var form = FormParser(boundary: boundary)
            let content =
                "--b\r\nContent-Disposition: form-data; name=\"\(text)\"; filename*\(text)=x\r\n\r\n\(text)\r\n--b--"
            Array(content.utf8).withUnsafeBytes { bytes in try? form.take(bytes) { _ in } }
        }
        let link = """
            {"token":"t","origin":"file","path":["a"],"size":1,"modified":2,"inode":"3","created":4,"expires":5,"downloads":6,\
            "revoked":7}
            """
        for origin in ["option", "request", "upload"] {
            for text in EdgeNumbers.variants(of: link.replacing("\"file\"", with: "\"\(origin)\"")) {
                _ = (try? JSON(parsing: text)).flatMap { StoredLink(json: $0)?.json }
            }
        }
    }

    @Test("are accepted or refused in the records of links and uploads")
    func records() throws {
        for left in Self.integers {
            for right in Self.integers {
                var share = Share(expires: left, downloads: 2)
                let claim = JSON.object([
                    JSON.Member("id", .integer(left)), JSON.Member("ticket", "t"), JSON.Member("address", "a"),
                    JSON.Member("proven", false), JSON.Member("bytes", .integer(right)),
                    JSON.Member("last", .integer(left)),
                ])
                _ = share.apply(
                    .object([
                        JSON.Member("claims", .array([claim])), JSON.Member("gone", .array([.integer(right)])),
                        JSON.Member("next", .integer(left)), JSON.Member("finished", .integer(right)),
                        JSON.Member("spilled", .integer(left)),
                    ])
                )
                for now in [Int64.min, 0, .max] {
                    for address in ["a", "b"] {
                        let client = Share.Client(ticket: nil, address: address)
                        _ = share.requested(1, of: max(0, right), by: client, offering: "n", now: now)
                    }
                    _ = share.completed(of: right)
                    _ = share.over(of: right, now: now)
                }
                let upload = ResumableUpload(
                    name: UploadName(),
                    json: .object([
                        JSON.Member("version", 1), JSON.Member("directory", .array([])), JSON.Member("name", "x"),
                        JSON.Member("mayRename", true), JSON.Member("length", .integer(left)),
                        JSON.Member("created", .integer(right)),
                    ])
                )
                #expect((upload == nil) == (left < 0))
            }
        }
    }
}
