// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Uploads by tus 1.0")
struct TusTests {
    private static let content = TestPattern(seed: 4).bytes(0..<100_000)
    private static let version = ("Tus-Resumable", "1.0.0")
    private static let type = ("Content-Type", "application/offset+octet-stream")

    private func create(
        _ bench: ReceiverBench,
        _ path: String = "/",
        length: Int = content.count,
        _ more: [(String, String)] = [("Upload-Metadata", "filename YS5iaW4=")]
    ) throws -> String {
        let fields = [Self.version, ("Upload-Length", "\(length)")] + more
        let answer = try bench.request("POST", path, fields, body: [])
        #expect(answer.status == 201)
        #expect(answer.fields["Tus-Resumable"] == "1.0.0")
        return try #require(answer.fields["Location"])
    }

    private func offset(_ bench: ReceiverBench, _ location: String) throws -> Int {
        let answer = try bench.request("HEAD", location, [Self.version])
        #expect(answer.fields["Cache-Control"] == "no-store")
        return try #require(answer.fields["Upload-Offset"].flatMap { Int($0) })
    }

    private func patch(
        _ bench: ReceiverBench,
        _ location: String,
        _ range: Range<Int>,
        _ more: [(String, String)] = []
    ) throws -> RawClient.Response {
        let fields = [Self.version, Self.type, ("Upload-Offset", "\(range.lowerBound)")] + more
        return try bench.request("PATCH", location, fields, body: Array(Self.content[range]))
    }

    @Test("are offered to those who ask")
    func options() async throws {
        let bench = try await ReceiverBench { $0.limits.upload = 5000 }
        let answer = try bench.request("OPTIONS", "/")
        #expect(answer.status == 204)
        #expect(answer.fields["Tus-Version"] == "1.0.0")
        #expect(answer.fields["Tus-Max-Size"] == "5000")
        for word in ["creation", "termination", "checksum", "expiration", "creation-with-upload"] {
            #expect(answer.fields["Tus-Extension"]?.contains(word) ?? false)
        }
        await bench.receiver.stop()
    }

    @Test("come in pieces and land under the name of their metadata")
    func pieces() async throws {
        let bench = try await ReceiverBench { $0.records = try? RecordChoice() }
        let location = try self.create(bench)
        #expect(try self.offset(bench, location) == 0)
        let first = try self.patch(bench, location, 0..<40_000)
        #expect(first.status == 204)
        #expect(first.fields["Upload-Offset"] == "40000")
        #expect(first.fields["Upload-Expires"] != nil)
        #expect(!bench.directory.contains("a.bin"))
        #expect(try self.patch(bench, location, 10_000..<50_000).status == 409)
        #expect(try self.patch(bench, location, 50_000..<60_000).status == 409)
        #expect(try self.patch(bench, location, 40_000..<100_000).status == 204)
        #expect(try bench.directory.read("a.bin") == Self.content)
        // The record's digest is of the whole content, not of the last piece.
        let record = try JSON(parsing: try bench.directory.read(".a.bin.martlet.json"))
        #expect(record["sha256"]?.string == Hexadecimal.encode(PlainDigests.sha256(Self.content)))
        // Whoever lost the answer may ask again.
        #expect(try self.offset(bench, location) == 100_000)
        await bench.receiver.stop()
    }

    @Test("of a name that is there are refused before any content, as a PUT is; unless what is there is to be replaced")
    func taken() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([1], to: "a.bin")
        let fields = [Self.version, ("Upload-Length", "5"), ("Upload-Metadata", "filename YS5iaW4=")]
        #expect(try bench.request("POST", "/", fields, body: []).status == 409)
        // If the client sends no name, one is made.
        let location = try self.create(bench, length: 3, [])
        #expect(try self.patch(bench, location, 0..<3).status == 204)
        #expect(try bench.directory.read("a.bin") == [1])
        await bench.receiver.stop()
        let replacing = try await ReceiverBench { $0.overwrites = true }
        try replacing.directory.write([1], to: "a.bin")
        let other = try self.create(replacing, length: 3)
        #expect(try self.patch(replacing, other, 0..<3).status == 204)
        #expect(try replacing.directory.read("a.bin") == Array(Self.content.prefix(3)))
        await replacing.receiver.stop()
    }

    @Test("may bring their first bytes when they are made, and go to an exact name")
    func creationWithUpload() async throws {
        let bench = try await ReceiverBench()
        let fields = [Self.version, Self.type, ("Upload-Length", "10")]
        let answer = try bench.request("POST", "/d/exact", fields, body: Array(Self.content[..<10]))
        #expect(answer.status == 201)
        #expect(answer.fields["Upload-Offset"] == "10")
        #expect(try bench.directory.read("d/exact") == Array(Self.content[..<10]))
        #expect(try bench.request("POST", "/d/exact", fields, body: Array(Self.content[..<10])).status == 409)
        await bench.receiver.stop()
    }

    @Test("can declare their length later")
    func deferredLength() async throws {
        let bench = try await ReceiverBench()
        let made = try bench.request("POST", "/x", [Self.version, ("Upload-Defer-Length", "1")], body: [])
        let location = try #require(made.fields["Location"])
        #expect(try bench.request("HEAD", location, [Self.version]).fields["Upload-Defer-Length"] == "1")
        #expect(try self.patch(bench, location, 0..<50).status == 204)
        #expect(try self.patch(bench, location, 50..<80, [("Upload-Length", "80")]).status == 204)
        #expect(try bench.directory.read("x") == Array(Self.content[..<80]))
        await bench.receiver.stop()
    }

    @Test("keep no byte that does not have its checksum", arguments: ["md5", "sha256"])
    func checksum(name: String) async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench)
        let piece = Array(Self.content[..<1000])
        let digest = name == "md5" ? PlainDigests.md5(piece) : PlainDigests.sha256(piece)
        let field = ("Upload-Checksum", "\(name) \(Base64.encode(digest))")
        let wrong = try self.patch(bench, location, 0..<999, [field])
        #expect(wrong.status == 460)
        #expect(try self.offset(bench, location) == 0)
        #expect(try self.patch(bench, location, 0..<1000, [field]).status == 204)
        #expect(try self.offset(bench, location) == 1000)
        #expect(try self.patch(bench, location, 1000..<1001, [("Upload-Checksum", "crc32 AAAA")]).status == 400)
        await bench.receiver.stop()
    }

    @Test("that were interrupted resume from the bytes on disk; unchecked content is cut off")
    func brokenOff() async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench)
        for checksum in ["", "Upload-Checksum: sha1 \(Base64.encode(Array(repeating: 1, count: 20)))\r\n"] {
            let before = try self.offset(bench, location)
            let client = try bench.client()
            client.send(
                Array(
                    ("PATCH \(location) HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\n\(checksum)"
                        + "Content-Type: application/offset+octet-stream\r\nUpload-Offset: \(before)\r\nContent-Length: 20000\r\n\r\n")
                        .utf8
                ) + Self.content[before..<(before + 7000)]
            )
            #expect(await bench.eventually { self.partSize(bench) == before + 7000 })
            client.reset()
            let now = try self.offset(bench, location)
            #expect(now == (checksum.isEmpty ? before + 7000 : before))
        }
        let offset = try self.offset(bench, location)
        #expect(try self.patch(bench, location, offset..<100_000).status == 204)
        #expect(try bench.directory.read("a.bin") == Self.content)
        await bench.receiver.stop()
    }

    private func partSize(_ bench: ReceiverBench) -> Int {
        guard let name = bench.unfinished.first(where: { $0.hasSuffix(".part") }) else { return -1 }
        var status = stat()
        return stat(bench.directory.path(ServedTree.ownDirectory + "/" + name), &status) == 0 ? Int(status.st_size) : -1
    }

    @Test("whose client reconnects on another connection are cut off on the first")
    func takeOver() async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench)
        let first = try bench.client()
        first.send(
            Array(
                ("PATCH \(location) HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                    + "Content-Type: application/offset+octet-stream\r\nContent-Length: 100000\r\n\r\n")
                    .utf8
            ) + Self.content[..<5000]
        )
        #expect(await bench.eventually { self.partSize(bench) == 5000 })
        #expect(try self.offset(bench, location) == 5000)
        #expect(first.isAtEnd())
        #expect(try self.patch(bench, location, 5000..<100_000).status == 204)
        #expect(try bench.directory.read("a.bin") == Self.content)
        await bench.receiver.stop()
    }

    @Test("survive the receiver's end")
    func restart() async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench)
        #expect(try self.patch(bench, location, 0..<1234).status == 204)
        await bench.receiver.stop()
        let again = try await ReceiverBench(in: bench.directory)
        #expect(try self.offset(again, location) == 1234)
        #expect(try self.patch(again, location, 1234..<100_000).status == 204)
        #expect(try again.directory.read("a.bin") == Self.content)
        await again.receiver.stop()
    }

    @Test("complete at the next request, if the receiver died after the last byte")
    func diedBeforeLanding() async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench, length: 10)
        await bench.receiver.stop()
        let part = try #require(bench.unfinished.first { $0.hasSuffix(".part") })
        try bench.directory.write(Array(Self.content[..<10]), to: ServedTree.ownDirectory + "/" + part)
        let again = try await ReceiverBench(in: bench.directory)
        #expect(try self.offset(again, location) == 10)
        #expect(try again.directory.read("a.bin") == Array(Self.content[..<10]))
        await again.receiver.stop()
    }

    @Test("can be ended, and then are gone")
    func termination() async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench)
        #expect(try self.patch(bench, location, 0..<10).status == 204)
        #expect(try bench.request("DELETE", location, [Self.version]).status == 204)
        #expect(bench.unfinished.isEmpty)
        #expect(try bench.request("HEAD", location, [Self.version]).status == 404)
        #expect(try self.patch(bench, location, 10..<20).status == 404)
        await bench.receiver.stop()
    }

    @Test("may come from clients that know POST alone")
    func methodOverride() async throws {
        let bench = try await ReceiverBench()
        let location = try self.create(bench)
        func post(_ method: String, _ more: [(String, String)], _ body: [UInt8]) throws -> Int {
            let fields = [Self.version, ("X-HTTP-Method-Override", method)] + more
            return try bench.request("POST", location, fields, body: body).status
        }
        #expect(try post("PATCH", [Self.type, ("Upload-Offset", "0")], Array(Self.content[..<10])) == 204)
        #expect(try self.offset(bench, location) == 10)
        #expect(try post("GET", [], []) == 405)
        #expect(try post("DELETE", [], []) == 204)
        #expect(bench.unfinished.isEmpty)
        await bench.receiver.stop()
    }

    @Test("expire, and unowned files are removed at the start")
    func expiration() async throws {
        let bench = try await ReceiverBench { $0.limits.expiry = .seconds(0) }
        let location = try self.create(bench)
        #expect(try bench.request("HEAD", location, [Self.version]).status == 410)
        try bench.directory.write([1, 2], to: ServedTree.ownDirectory + "/" + UploadName().part)
        await bench.receiver.stop()
        let again = try await ReceiverBench(in: bench.directory) { $0.limits.expiry = .seconds(0) }
        #expect(again.unfinished.isEmpty)
        await again.receiver.stop()
    }

    @Test("are refused where what they say does not fit")
    func refusals() async throws {
        let bench = try await ReceiverBench { $0.limits.upload = 50_000 }
        func post(_ fields: [(String, String)]) throws -> Int {
            let answer = try bench.request("POST", "/", fields, body: [])
            #expect(answer.fields["Tus-Resumable"] == "1.0.0")
            return answer.status
        }
        #expect(try post([("Tus-Resumable", "0.2.2"), ("Upload-Length", "1")]) == 412)
        #expect(try post([Self.version]) == 400)
        #expect(try post([Self.version, ("Upload-Length", "-1")]) == 400)
        #expect(try post([Self.version, ("Upload-Length", "1"), ("Upload-Defer-Length", "1")]) == 400)
        #expect(try post([Self.version, ("Upload-Length", "50001")]) == 413)
        #expect(try post([Self.version, ("Upload-Length", "1"), ("Upload-Metadata", "a !")]) == 400)
        let location = try self.create(bench, length: 100)
        #expect(try bench.request("PATCH", location, [Self.version, ("Upload-Offset", "0")], body: [1]).status == 415)
        #expect(try bench.request("PATCH", location, [Self.version, Self.type], body: [1]).status == 400)
        #expect(try self.patch(bench, location, 0..<101).status == 400)
        for path in ["/.martlet-uploads/" + UploadName().id, "/.martlet-uploads/../x", "/.martlet-uploads/lock"] {
            #expect([400, 404].contains(try bench.request("HEAD", path, [Self.version]).status))
        }
        await bench.receiver.stop()
    }

    @Test("is spoken in one version by every method")
    func versions() async throws {
        let bench = try await ReceiverBench()
        let fields = [("Tus-Resumable", "0.2.2")]
        for method in ["HEAD", "DELETE", "PATCH", "POST"] {
            let path = method == "POST" ? "/" : UploadName().path
            let answer = try bench.request(method, path, fields, body: method == "HEAD" ? nil : [])
            #expect(answer.status == 412)
            #expect(answer.fields["Tus-Version"] == "1.0.0" && answer.fields["Tus-Resumable"] == "1.0.0")
        }
        await bench.receiver.stop()
    }

    @Test("refuse concatenation, which would store parts as complete files", arguments: ["partial", "final;/a /b"])
    func concatenation(value: String) async throws {
        let bench = try await ReceiverBench()
        let fields = [Self.version, ("Upload-Length", "3"), ("Upload-Concat", value)]
        let answer = try bench.request("POST", "/part", fields, body: [])
        #expect(answer.status == 400 && answer.fields["Tus-Resumable"] == "1.0.0")
        #expect(try bench.request("OPTIONS", "/").fields["Tus-Extension"]?.contains("concat") == false)
        #expect(!bench.directory.contains("part") && bench.unfinished.isEmpty)
        await bench.receiver.stop()
    }
}
