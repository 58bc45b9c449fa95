// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Uploads by the IETF draft")
struct DraftTests {
    private static let content = TestPattern(seed: 5).bytes(0..<50_000)

    private func fields(_ version: Int, complete: Bool) -> [(String, String)] {
        [
            ("Upload-Draft-Interop-Version", "\(version)"),
            version < 5
                ? ("Upload-Incomplete", complete ? "?0" : "?1") : ("Upload-Complete", complete ? "?1" : "?0"),
        ]
    }

    private func head(_ bench: ReceiverBench, _ version: Int, _ location: String) throws -> RawClient.Response {
        try bench.request("HEAD", location, [("Upload-Draft-Interop-Version", "\(version)")])
    }

    /// The value of a field in an interim response.
    private func value(_ name: String, _ head: String) -> String? {
        head.split(separator: "\r\n").first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    @Test("get their address at once (104), and complete in one request", arguments: [3, 5, 6])
    func whole(version: Int) async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        var text = "PUT /d/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(Self.content.count)\r\n"
        for (name, value) in self.fields(version, complete: true) { text += "\(name): \(value)\r\n" }
        client.send(text + "\r\n")
        let interim = client.readHead()
        #expect(interim.hasPrefix("HTTP/1.1 104 "))
        #expect(self.value("Upload-Draft-Interop-Version", interim) == "\(version)")
        let location = try #require(self.value("Location", interim))
        client.send(Self.content)
        let answer = try client.response()
        #expect(answer.status == 201)
        #expect(answer.fields[version < 5 ? "Upload-Incomplete" : "Upload-Complete"] == (version < 5 ? "?0" : "?1"))
        #expect(answer.fields["Upload-Offset"] == "50000")
        #expect(try bench.directory.read("d/f") == Self.content)
        #expect(try self.head(bench, version, location).fields["Upload-Offset"] == "50000")
        await bench.receiver.stop()
    }

    @Test("resume where they were interrupted", arguments: [3, 5, 6])
    func resumed(version: Int) async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        var text = "POST /f HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(Self.content.count)\r\n"
        for (name, value) in self.fields(version, complete: true) { text += "\(name): \(value)\r\n" }
        client.send(Array((text + "\r\n").utf8) + Self.content[..<20_000])
        let location = try #require(self.value("Location", client.readHead()))
        client.reset()
        var offset = 0
        #expect(
            await bench.eventually {
                offset = (try? self.head(bench, version, location))?.fields["Upload-Offset"].flatMap { Int($0) } ?? -1
                return offset > 0
            }
        )
        #expect(offset <= 20_000)
        let standing = try self.head(bench, version, location)
        #expect(standing.status == 204)
        #expect(standing.fields[version < 5 ? "Upload-Incomplete" : "Upload-Complete"] == (version < 5 ? "?1" : "?0"))
        #expect(standing.fields["Cache-Control"] == "no-store")
        var fields = self.fields(version, complete: true) + [("Upload-Offset", "\(offset)")]
        if version >= 6 { fields.append(("Content-Type", "application/partial-upload")) }
        let answer = try bench.request("PATCH", location, fields, body: Array(Self.content[offset...]))
        #expect(answer.status == 201)
        #expect(try bench.directory.read("f") == Self.content)
        await bench.receiver.stop()
    }

    @Test("arrive in pieces, and a wrong offset is refused (409)", arguments: [3, 5, 6])
    func pieces(version: Int) async throws {
        let bench = try await ReceiverBench()
        let made = try bench.request(
            "POST",
            "/f",
            self.fields(version, complete: false),
            body: Array(Self.content[..<100])
        )
        #expect(made.status == 201)
        let location = try #require(made.fields["Location"])
        #expect(!bench.directory.contains("f"))
        let type = version >= 6 ? [("Content-Type", "application/partial-upload")] : []
        func patch(_ range: Range<Int>, complete: Bool) throws -> RawClient.Response {
            let fields = self.fields(version, complete: complete) + type + [("Upload-Offset", "\(range.lowerBound)")]
            return try bench.request("PATCH", location, fields, body: Array(Self.content[range]))
        }
        let mismatch = try patch(50..<200, complete: false)
        #expect(mismatch.status == 409)
        #expect(mismatch.fields["Upload-Offset"] == "100")
        let second = try patch(100..<300, complete: false)
        #expect(second.status == 201)
        #expect(second.fields["Upload-Offset"] == "300")
        #expect(try patch(300..<50_000, complete: true).status == 201)
        #expect(try bench.directory.read("f") == Self.content)
        #expect(try patch(300..<400, complete: true).status == 409)
        await bench.receiver.stop()
    }

    @Test("of version 6 need their media type and keep to the length they declared")
    func version6() async throws {
        let bench = try await ReceiverBench()
        let made = try bench.request(
            "POST",
            "/f",
            self.fields(6, complete: false) + [("Upload-Length", "200")],
            body: Array(Self.content[..<100])
        )
        let location = try #require(made.fields["Location"])
        #expect(try self.head(bench, 6, location).fields["Upload-Length"] == "200")
        let offset = ("Upload-Offset", "100")
        let type = ("Content-Type", "application/partial-upload")
        let piece = Array(Self.content[100..<150])
        #expect(
            try bench.request("PATCH", location, self.fields(6, complete: true) + [offset], body: piece).status == 415
        )
        #expect(
            try bench.request("PATCH", location, self.fields(6, complete: true) + [offset, type], body: piece).status
                == 400
        )
        let rest = Array(Self.content[100..<200])
        #expect(
            try bench.request("PATCH", location, self.fields(6, complete: true) + [offset, type], body: rest).status
                == 201
        )
        #expect(try bench.directory.read("f") == Array(Self.content[..<200]))
        await bench.receiver.stop()
    }

    @Test("can be ended, and are offered to those who ask")
    func others() async throws {
        let bench = try await ReceiverBench { $0.limits.upload = 77_000 }
        let options = try bench.request("OPTIONS", "/", [("Upload-Draft-Interop-Version", "5")])
        #expect(options.fields["Upload-Draft-Interop-Version"] == "5")
        #expect(options.fields["Upload-Limit"] == "min-size=0, max-size=77000")
        let made = try bench.request("POST", "/f", self.fields(6, complete: false), body: [1])
        let location = try #require(made.fields["Location"])
        #expect(try bench.request("DELETE", location, [("Upload-Draft-Interop-Version", "6")]).status == 204)
        #expect(try self.head(bench, 6, location).status == 404)
        #expect(try bench.request("PATCH", location, body: [1]).status == 400)
        #expect(bench.unfinished.isEmpty)
        await bench.receiver.stop()
    }

    @Test("keeps to the conditions that it began with until it lands")
    func conditions() async throws {
        let bench = try await ReceiverBench { $0.overwrites = true }
        let fields = [("Upload-Draft-Interop-Version", "6"), ("Upload-Complete", "?0"), ("If-None-Match", "*")]
        let client = try bench.client()
        client.send(
            "PUT /f HTTP/1.1\r\nHost: localhost\r\n" + fields.map { "\($0): \($1)\r\n" }.joined()
                + "Content-Length: 1\r\n\r\na"
        )
        #expect(client.readHead().contains(" 104 "))
        let begun = try client.response()
        #expect(begun.status == 201)
        try bench.directory.write([9], to: "f")
        let rest = try bench.request(
            "PATCH",
            begun.fields["Location"] ?? "",
            [
                ("Upload-Draft-Interop-Version", "6"), ("Upload-Complete", "?1"), ("Upload-Offset", "1"),
                ("Content-Type", "application/partial-upload"),
            ],
            body: [0x62]
        )
        #expect(rest.status == 412)
        #expect(try bench.request("GET", "/f").body == [9])
        #expect(try bench.request("PUT", "/f", fields, body: [1]).status == 412)
        await bench.receiver.stop()
    }
}
