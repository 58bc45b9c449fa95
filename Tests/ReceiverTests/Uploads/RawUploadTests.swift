// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import Platform
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Files sent whole")
struct RawUploadTests {
    private static let content = TestPattern(seed: 3).bytes(0..<200_000)

    @Test("land under the name they are put to, readable when the answer comes")
    func put() async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        let answer = try client.request("PUT", "/new/dir/f.bin", body: Self.content)
        #expect(answer.status == 201)
        #expect(answer.fields["Location"] == "http://localhost/new/dir/f.bin")
        #expect(try bench.directory.read("new/dir/f.bin") == Self.content)
        let read = try client.request("GET", "/new/dir/f.bin")
        #expect(read.body == Self.content)
        #expect(read.fields["ETag"] == answer.fields["ETag"])
        #expect(bench.unfinished.isEmpty)
        await bench.receiver.stop()
    }

    @Test("come chunked, too, and empty")
    func chunked() async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        client.send(
            "PUT /c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        #expect(try client.response().status == 201)
        #expect(try bench.directory.read("c") == Array("abcde".utf8))
        #expect(try client.request("PUT", "/e", body: []).status == 201)
        #expect(try bench.directory.read("e") == [])
        await bench.receiver.stop()
    }

    @Test("replace nothing unless that is allowed, and then whole")
    func existing() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([1], to: "f")
        #expect(try bench.request("PUT", "/f", body: [2]).status == 409)
        #expect(try bench.directory.read("f") == [1])
        await bench.receiver.stop()

        let open = try await ReceiverBench { $0.overwrites = true }
        try open.directory.write([1], to: "f")
        let tag = try open.request("GET", "/f").fields["ETag"] ?? ""
        #expect(try open.request("PUT", "/f", [("If-None-Match", "*")], body: [2]).status == 412)
        #expect(try open.request("PUT", "/f", [("If-Match", "\"other\"")], body: [2]).status == 412)
        #expect(try open.request("PUT", "/f", [("If-Match", tag)], body: [2]).status == 204)
        #expect(try open.directory.read("f") == [2])
        #expect(try open.request("PUT", "/f", [("If-Match", tag)], body: [3]).status == 412)
        #expect(try open.request("PUT", "/", body: [3]).status == 409)
        #expect(open.unfinished.isEmpty)
        await open.receiver.stop()
    }

    @Test("get 100 (Continue) only when they are accepted (Expect: 100-continue)")
    func expectContinue() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([1], to: "taken")
        let client = try bench.client()
        client.send("PUT /f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(client.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        #expect(try client.response().status == 201)
        let refused = try bench.client()
        refused.send("PUT /taken HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(try refused.response().status == 409)
        #expect(refused.isAtEnd())
        await bench.receiver.stop()
    }

    @Test("posted to a directory get a name that is free")
    func post() async throws {
        let bench = try await ReceiverBench()
        let fields = [("Content-Disposition", "attachment; filename=\"../../x/a b.tar.gz\"")]
        let first = try bench.request("POST", "/", fields, body: [1])
        let second = try bench.request("POST", "/", fields, body: [2])
        #expect(first.status == 201)
        #expect(first.fields["Location"] == "http://localhost/a%20b.tar.gz")
        #expect(second.fields["Location"] == "http://localhost/a%20b.1.tar.gz")
        #expect(try bench.directory.read("a b.1.tar.gz") == [2])
        let unnamed = try bench.request("POST", "/", [("Content-Type", "image/png")], body: [3])
        #expect(unnamed.fields["Location"]?.hasPrefix("http://localhost/upload-") ?? false)
        #expect(unnamed.fields["Location"]?.hasSuffix(".png") ?? false)
        await bench.receiver.stop()
    }

    @Test(
        "land under no name that would hide, lead out or be ours",
        arguments: ["/.bashrc", "/.martlet-uploads/x", "/a/.ssh/k", "/end.", "/tab%09", "/nl%0a", "/.f.martlet.json"]
    )
    func names(path: String) async throws {
        let bench = try await ReceiverBench()
        #expect([400, 404].contains(try bench.request("PUT", path, body: [1]).status))
        #expect(bench.directory.entries() == [ServedTree.ownDirectory])
        await bench.receiver.stop()
    }

    @Test("never leave the directory by a link")
    func links() async throws {
        let outside = try TemporaryDirectory()
        let bench = try await ReceiverBench { $0.overwrites = true }
        try outside.write([1], to: "f")
        try bench.directory.link("d", to: outside.path)
        try bench.directory.link("l", to: outside.path("f"))
        #expect(try bench.request("PUT", "/d/new", body: [2]).status == 409)
        // A link at the name itself is replaced, not followed.
        #expect([201, 204].contains(try bench.request("PUT", "/l", body: [2]).status))
        #expect(outside.entries() == ["f"])
        #expect(try outside.read("f") == [1])
        #expect(try bench.directory.read("l") == [2])
        await bench.receiver.stop()
    }

    @Test("are not there before they are whole, and are gone where they are broken off", arguments: [false, true])
    func brokenOff(byReset: Bool) async throws {
        let bench = try await ReceiverBench()
        let client = try bench.client()
        client.send(
            Array("PUT /f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n".utf8) + Self.content[..<500]
        )
        #expect(await bench.eventually { !bench.unfinished.isEmpty })
        #expect(!bench.directory.contains("f"))
        if byReset { client.reset() } else { client.finish() }
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        #expect(!bench.directory.contains("f"))
        await bench.receiver.stop()
    }

    @Test("must have the digest that they come with (RFC 9530)", arguments: ["Repr-Digest", "Content-Digest"])
    func digest(field: String) async throws {
        let bench = try await ReceiverBench()
        let right = WantedDigest.field(.sha256, PlainDigests.sha256(Self.content))
        #expect(try bench.request("PUT", "/wrong", [(field, right)], body: [1, 2]).status == 400)
        #expect(try bench.request("PUT", "/right", [(field, right)], body: Self.content).status == 201)
        #expect(!bench.directory.contains("wrong"))
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        await bench.receiver.stop()
    }

    @Test("stay within the limits of one, of all and of the free space")
    func limits() async throws {
        let bench = try await ReceiverBench {
            $0.limits.upload = 1000
            // Three blocks of 4 KiB: what is being refused has one until its file is gone.
            $0.limits.total = 12_300
        }
        #expect(try bench.request("PUT", "/a", body: Array(repeating: 1, count: 1001)).status == 413)
        let chunked = try bench.client()
        chunked.send("PUT /b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<3 { chunked.send("200\r\n" + String(repeating: "x", count: 512) + "\r\n") }
        #expect(try chunked.response().status == 413)
        #expect(await bench.eventually { bench.unfinished.isEmpty })
        #expect(try bench.request("PUT", "/c", body: Array(repeating: 1, count: 900)).status == 201)
        #expect(try bench.request("PUT", "/d", body: Array(repeating: 1, count: 1)).status == 201)
        // The space of the refused one is returned when its file is gone, or a moment later.
        #expect(
            await bench.eventually {
                (try? bench.request("PUT", "/e", body: Array(repeating: 1, count: 600)).status) == 201
            }
        )
        #expect(try bench.request("PUT", "/g", body: []).status == 507)
        await bench.receiver.stop()

        let full = try await ReceiverBench { $0.limits.reserve = .max }
        #expect(try full.request("PUT", "/a", body: [1]).status == 507)
        // Of unknown length: the space is looked at while it comes.
        let growing = try full.client()
        growing.send("PUT /b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<20 { growing.send("10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n") }
        #expect(try growing.response().status == 507)
        #expect(await full.eventually { full.unfinished.isEmpty })
        await full.receiver.stop()
    }

    @Test("to one name at once each get their own entity tag, and the record is that of the file that stays")
    func namesakes() async throws {
        let bench = try await ReceiverBench {
            $0.overwrites = true
            $0.servesHidden = true
            $0.records = try? RecordChoice()
        }
        let tags = Mutex<[Int: String]>([:])
        let port = bench.receiver.address.port
        DispatchQueue.concurrentPerform(iterations: 24) { index in
            let length = 16 + index
            let client = try? RawClient(port: port)
            let tag = try? client?.request("PUT", "/f", body: Array(repeating: 1, count: length)).fields["ETag"]
            tags.withLock { $0[length] = tag ?? "" }
        }
        for (length, tag) in tags.withLock({ $0 }) {
            #expect(tag.hasPrefix("\"" + String(length, radix: 16) + "-"), "\(length): \(tag)")
        }
        let size = try bench.directory.read("f").count
        let record = try JSON(parsing: try bench.directory.read(".f.martlet.json"))
        #expect(record["size"]?.integer == Int64(size))
        await bench.receiver.stop()
    }

    @Test("have records that are never served, and that contain no credential")
    func records() async throws {
        let bench = try await ReceiverBench {
            $0.servesHidden = true
            $0.records = try? RecordChoice(cookies: ["sid"], headers: ["X-Camera"])
        }
        let fields = [
            ("Cookie", "sid=abc; other=x"), ("X-Camera", "7"), ("Content-Type", "image/png"),
            ("Authorization", "Basic c2VjcmV0"),
        ]
        #expect(try bench.request("PUT", "/p.png", fields, body: [1, 2]).status == 201)
        let record = try JSON(parsing: try bench.directory.read(".p.png.martlet.json"))
        #expect(record["cookies"]?["sid"]?.string == "abc")
        #expect(record["cookies"]?["other"] == nil)
        #expect(record["headers"]?["X-Camera"]?.string == "7")
        #expect(record["type"]?.string == "image/png")
        #expect(record["originalName"]?.string == "p.png")
        #expect(record["size"]?.integer == 2)
        // printf '\1\2' | sha256sum
        let digest = "a12871fee210fb8619291eaea194581cbd2531e4b23759d225f6806923f63222"
        #expect(record["sha256"]?.string == digest)
        #expect(record["sender"]?["address"]?.string == "127.0.0.1")
        #expect(!record.text.contains("c2VjcmV0"))
        #expect(TemporaryDirectory.permissions(of: bench.directory.path(".p.png.martlet.json")) == 0o600)
        #expect(try bench.request("GET", "/.p.png.martlet.json").status == 404)
        #expect(!(try bench.request("GET", "/").text.contains("martlet.json")))
        #expect(throws: ReceiverError.self) { try RecordChoice(headers: ["cookie"]) }
        await bench.receiver.stop()
    }

    @Test("are refused where nothing is taken, and two receivers do not share a directory")
    func readOnly() async throws {
        let bench = try await ReceiverBench()
        let second = try await ReceiverBench(in: bench.directory) { $0.takesUploads = false }
        #expect(try second.request("PUT", "/f", body: [1]).status == 403)
        await second.receiver.stop()
        await #expect(throws: ReceiverError.self) { try await ReceiverBench(in: bench.directory) }
        await bench.receiver.stop()
    }

    @Test("have a record however long their names are")
    func longName() async throws {
        let bench = try await ReceiverBench { $0.records = try? RecordChoice() }
        let name = String(repeating: "n", count: 242)
        #expect(try bench.request("PUT", "/\(name)", body: [1]).status == 201)
        #expect(bench.directory.entries().contains { $0 == ServedTree.recordName(name) })
        await bench.receiver.stop()
    }

    @Test("land in the directory that was named, whatever normal form its name has")
    func normalForms() async throws {
        let bench = try await ReceiverBench()
        let decomposed = "e\u{301}"
        #expect(mkdir(bench.directory.path(decomposed), 0o777) == 0)
        let answer = try bench.request("PUT", "/\(TreePath.encode(decomposed))/f", body: [1])
        #expect(answer.status == 201)
        #expect(try bench.request("GET", answer.fields["Location"] ?? "").body == [1])
        #expect(bench.directory.entries().filter { !$0.hasPrefix(".") }.count == 1)
        await bench.receiver.stop()
    }

    @Test("keep to the total also after some were refused")
    func budget() {
        let budget = UploadBudget(limit: 10)
        budget.charge(20)
        #expect(!budget.fits(1))
        budget.give(15)
        #expect(budget.take(5))
        #expect(!budget.take(1))
    }

    @Test("without a declared length are refused (411), and what is there stays", arguments: ["PUT", "POST"])
    func undeclared(method: String) async throws {
        let bench = try await ReceiverBench { $0.overwrites = true }
        try bench.directory.write([1], to: "f")
        for version in ["1.1", "1.0"] {
            let client = try bench.client()
            client.send(
                "\(method) /f HTTP/\(version)\r\nHost: localhost\r\n\r\nGET /f HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            #expect(try client.response().status == 411)
            // The following bytes are content, not another request.
            #expect(client.readToEnd().isEmpty)
        }
        let draft = [("Upload-Draft-Interop-Version", "6"), ("Upload-Complete", "?1")]
        #expect(try bench.request(method, "/f", draft).status == 411)
        #expect(try bench.directory.read("f") == [1])
        #expect(try bench.request(method, "/f", body: []).status == 204)
        #expect(bench.unfinished.isEmpty)
        await bench.receiver.stop()
    }

    @Test("of many small ones count a block each, as do directories and records, to the total")
    func blocks() async throws {
        let bench = try await ReceiverBench {
            $0.limits.total = 20 * UploadBudget.block
            $0.records = try? RecordChoice()
        }
        // A directory, a file and its record each.
        var taken = 0
        while taken < 100, try bench.request("PUT", "/d\(taken)/f", body: [1]).status == 201 { taken += 1 }
        #expect(taken == 6)
        await bench.receiver.stop()
        // Unfinished uploads of an earlier run count with their records.
        let tus = try await ReceiverBench { $0.limits.total = 20 * UploadBudget.block }
        let fields = [("Tus-Resumable", "1.0.0"), ("Upload-Length", "1")]
        taken = 0
        while taken < 100, try tus.request("POST", "/g\(taken)", fields, body: []).status == 201 { taken += 1 }
        #expect(taken == 10)
        await tus.receiver.stop()
        let again = try await ReceiverBench(in: tus.directory) { $0.limits.total = 20 * UploadBudget.block }
        #expect(try again.request("POST", "/h", fields, body: []).status == 507)
        await again.receiver.stop()
    }

    @Test("to a name that another one is being sent to are refused before their content is sent")
    func second() async throws {
        let bench = try await ReceiverBench()
        let first = try bench.client()
        first.send("PUT /d/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(first.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        let second = try bench.client()
        second.send("PUT /d/f HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(try second.response().status == 409)
        #expect(second.isAtEnd())
        let tus = [("Tus-Resumable", "1.0.0"), ("Upload-Length", "3")]
        #expect(try bench.request("POST", "/d/f", tus, body: []).status == 409)
        #expect(try bench.request("PUT", "/d/g", body: [1]).status == 201)
        first.send("abc")
        #expect(try first.response().status == 201)
        // One that broke off leaves the name to the next.
        let broken = try bench.client()
        broken.send("PUT /h HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        #expect(broken.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        broken.reset()
        #expect(await bench.eventually { (try? bench.request("PUT", "/h", body: [1]).status) == 201 })
        await bench.receiver.stop()
    }

    @Test(
        "may have the names that scripts and emoji need, of up to 255 bytes",
        arguments: [
            "\u{645}\u{6CC}\u{200C}\u{62E}.txt", "\u{1F468}\u{200D}\u{1F469}.png", "Schiff\u{AD}fahrt.txt",
            String(repeating: "n", count: 251) + ".bin",
        ]
    )
    func unusualNames(name: String) async throws {
        let bench = try await ReceiverBench { $0.records = try? RecordChoice() }
        let path = "/" + TreePath.encode(name)
        #expect(try bench.request("PUT", path, body: [1]).status == 201)
        #expect(try bench.request("GET", path).body == [1])
        let metadata = ("Upload-Metadata", "filename " + Base64.encode(Array("x\(name)".utf8.suffix(250))))
        let made = try bench.request(
            "POST",
            "/",
            [("Tus-Resumable", "1.0.0"), ("Upload-Length", "0"), metadata],
            body: []
        )
        #expect(made.status == 201)
        let disposition = ("Content-Disposition", "attachment; filename*=UTF-8''" + TreePath.encode("y\(name)"))
        let posted = try bench.request("POST", "/", [disposition], body: [2])
        if name.utf8.count < 255 { #expect(posted.fields["Location"]?.hasSuffix(TreePath.encode("y\(name)")) == true) }
        await bench.receiver.stop()
    }

    @Test("have an absolute location, with the client's scheme also behind a proxy")
    func location() async throws {
        let bench = try await ReceiverBench()
        let forwarded = try bench.request("PUT", "/a", [("X-Forwarded-Proto", "https")], body: [1])
        #expect(forwarded.fields["Location"] == "https://localhost/a")
        let tus = [("Tus-Resumable", "1.0.0"), ("Upload-Length", "1")]
        let made = try bench.request("POST", "/b", tus, body: [], host: "127.0.0.1:8080")
        #expect(made.fields["Location"]?.hasPrefix("http://127.0.0.1:8080/.martlet-uploads/") == true)
        let old = try bench.client()
        old.send("PUT /c HTTP/1.0\r\nContent-Length: 1\r\n\r\nx")
        #expect(try old.response().fields["Location"] == "/c")
        await bench.receiver.stop()
    }
}
