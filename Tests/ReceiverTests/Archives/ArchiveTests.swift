// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

/// Directories and selections as zip archives; Scripts/check-receiver gives them to other programs.
@Suite("Archives of directories")
struct ArchiveTests {
    private static let form = [("Content-Type", "application/x-www-form-urlencoded")]

    private func bench() async throws -> ReceiverBench {
        let bench = try await ReceiverBench()
        for name in ["d", "d/sub", "other"] { mkdir(bench.directory.path(name), 0o755) }
        for name in ["d/a b.txt", "d/sub/deep", "other/x", ".hidden", "d/.hidden"] {
            try bench.directory.write(Array(name.utf8), to: name)
        }
        try bench.directory.write([UInt8](repeating: 7, count: 1_000_000), to: "d/large")
        try bench.directory.link("d/out", to: "/etc/passwd")
        try bench.directory.link("d/loop", to: ".")
        try bench.directory.link("d/in", to: "a b.txt")
        return bench
    }

    /// The names and contents of the stored entries, by the central directory.
    private func entries(_ archive: [UInt8]) throws -> [String: [UInt8]] {
        func number(_ offset: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(archive[offset + $1]) << (8 * $1) }
        }
        let end = archive.count - 22
        try #require(end >= 0 && number(end, 4) == 0x0605_4B50)
        var next = number(end + 16, 4)
        var entries: [String: [UInt8]] = [:]
        for _ in 0..<number(end + 10, 2) {
            let (size, begin) = (number(next + 24, 4), number(next + 42, 4))
            let (name, extra) = (number(next + 28, 2), number(next + 30, 2))
            let content = begin + 30 + number(begin + 26, 2) + number(begin + 28, 2)
            let bytes = Array(archive[content..<content + size])
            var checksum = CRC32()
            bytes.withUnsafeBytes { checksum.update($0) }
            #expect(Int(checksum.value) == number(next + 16, 4))
            entries[String(decoding: archive[next + 46..<next + 46 + name], as: UTF8.self)] = bytes
            next += 46 + name + extra
        }
        #expect(next == end)
        return entries
    }

    @Test("have everything that can be listed, and nothing else")
    func directory() async throws {
        let bench = try await self.bench()
        let response = try bench.request("GET", "/d/?zip")
        #expect(response.status == 200)
        #expect(response.isWhole)
        #expect(response.fields["Content-Type"] == "application/zip")
        #expect(response.fields["Content-Disposition"] == "attachment; filename*=UTF-8''d.zip")
        let entries = try self.entries(response.body)
        #expect(entries.keys.sorted() == ["a b.txt", "in", "large", "sub/", "sub/deep"])
        #expect(entries["sub/deep"] == Array("d/sub/deep".utf8))
        #expect(entries["large"]?.count == 1_000_000)
        let all = try self.entries(try bench.request("GET", "/?zip").body)
        #expect(all.keys.contains("d/sub/deep"))
        #expect(!all.keys.contains { $0.contains("hidden") || $0.contains("loop") || $0.contains("martlet") })
    }

    @Test("of a selection have its entries, by query or by form, and their length if they are files")
    func selection() async throws {
        let bench = try await self.bench()
        let files = try bench.request("GET", "/d/?zip&name=a%20b.txt&name=large&name=large")
        #expect(files.fields["Content-Length"] == "\(files.body.count)")
        #expect(try self.entries(files.body).keys.sorted() == ["a b.txt", "large"])
        let head = try bench.request("HEAD", "/d/?zip&name=a%20b.txt&name=large")
        #expect(head.fields["Content-Length"] == files.fields["Content-Length"])
        let sent = try bench.request("POST", "/d/?zip", Self.form, body: Array("name=sub%2F&name=a+b.txt".utf8))
        #expect(try self.entries(sent.body).keys.sorted() == ["a b.txt", "sub/", "sub/deep"])
        #expect(bench.directory.entries().sorted() == [".hidden", ".martlet-uploads", "d", "other"])
    }

    @Test("are refused for names outside the directory")
    func refused() async throws {
        let bench = try await self.bench()
        for name in ["..", ".", "", "sub%2Fdeep", "%2Fetc", "a%00"] {
            #expect(try bench.request("GET", "/d/?zip&name=\(name)").status == 400, "\(name)")
        }
        for name in [".hidden", "none", "out", ".martlet-uploads"] {
            #expect(try bench.request("GET", "/d/?zip&name=\(name)").status == 404, "\(name)")
        }
        #expect(try bench.request("GET", "/none/?zip").status == 404)
        #expect(try bench.request("POST", "/d/?zip", body: [1]).status == 415)
        // A query that only begins like it is ignored.
        #expect(try bench.request("GET", "/d/?zipper").fields["Content-Type"]?.hasPrefix("text/html") == true)
        let foreign = Self.form + [("Origin", "http://evil.example")]
        #expect(try bench.request("POST", "/d/?zip", foreign, body: Array("name=sub".utf8)).status == 403)
    }

    @Test("need the rights to read and to list")
    func rights() async throws {
        for rights in [Rights.read, .list, .write, [.read, .list]] {
            let bench = try await ReceiverBench { configuration in
                configuration.credentials = [AccessCredential(.token, secret: "t", rights: rights)]
                configuration.signInRounds = 1
            }
            let status = try bench.request("GET", "/?zip", [("Authorization", "Bearer t")]).status
            #expect(status == (rights == [.read, .list] ? 200 : 403))
            #expect(try bench.request("GET", "/?zip").status == 401)
        }
    }

    @Test("end with the connection if a file becomes shorter while it is sent")
    func truncated() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([UInt8](repeating: 7, count: 64_000_000), to: "f")
        for query in ["zip", "zip&name=f"] {
            let client = try RawClient(port: bench.receiver.address.port, receiveBuffer: 4096)
            client.send("GET /?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = client.readHead()
            // More than the buffers of both sides is left to be read by the server.
            #expect(truncate(bench.directory.path("f"), 1_000_000) == 0)
            let rest = client.readToEnd()
            #expect(rest.count < 64_000_000)
            #expect(!rest.suffix(22).starts(with: [0x50, 0x4B, 5, 6]))
            #expect(!rest.suffix(5).elementsEqual(Array("0\r\n\r\n".utf8)))
            try bench.directory.write([UInt8](repeating: 7, count: 64_000_000), to: "f")
        }
    }

    @Test("spool the central directory of many files")
    func spool() throws {
        var spool = ArchiveSpool()
        var expected: [UInt8] = []
        for number in 0..<30_000 {
            let record = Array("record \(number) of many".utf8)
            expected += record
            let isKept = spool.append(record)
            #expect(isKept)
        }
        var found: [UInt8] = []
        while let piece = spool.next(), !piece.isEmpty { found += piece }
        #expect(expected.count > 2 * ArchiveSpool.piece)
        #expect(found == expected)
    }
}
