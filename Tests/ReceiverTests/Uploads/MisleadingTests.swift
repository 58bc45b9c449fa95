// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Uploads that would not be what they seem")
struct MisleadingTests {
    private static func draft(_ version: Int, _ complete: String) -> [(String, String)] {
        [("Upload-Draft-Interop-Version", "\(version)"), ("Upload-Complete", complete)]
    }

    @Test("are refused if they send a part in an unknown version, or declare their end with an invalid value")
    func parts() async throws {
        let bench = try await ReceiverBench()
        for fields in [
            Self.draft(8, "?0"), Self.draft(4, "?0"), [("Upload-Complete", "?0")], [("Upload-Incomplete", "?1")],
            Self.draft(6, "0"), Self.draft(6, "false"),
        ] {
            #expect(try bench.request("PUT", "/half", fields, body: [1]).status == 400, "\(fields)")
        }
        #expect(!bench.directory.contains("half") && bench.unfinished.isEmpty)
        // An append must declare it, too.
        let made = try bench.request("POST", "/f", Self.draft(6, "?0") + [("Upload-Length", "9")], body: [1])
        let location = try #require(made.fields["Location"])
        let append = [("Upload-Offset", "1"), ("Content-Type", "application/partial-upload")]
        for complete in [[], [("Upload-Complete", "0")]] {
            let fields = append + complete + [("Upload-Draft-Interop-Version", "6")]
            #expect(try bench.request("PATCH", location, fields, body: [2]).status == 400)
        }
        #expect(!bench.directory.contains("f"))
        await bench.receiver.stop()
    }

    @Test("by the draft have the digest they were announced with, or are not there", arguments: [false, true])
    func digest(inParts: Bool) async throws {
        let bench = try await ReceiverBench()
        let content = [UInt8]("content".utf8)
        for isRight in [false, true] {
            let digest = Base64.encode(isRight ? PlainDigests.sha256(content) : PlainDigests.sha256([1]))
            let begin = Self.draft(6, inParts ? "?0" : "?1") + [("Repr-Digest", "sha-256=:\(digest):")]
            var answer = try bench.request("PUT", "/f", begin, body: inParts ? Array(content[..<3]) : content)
            if inParts {
                let append = [("Upload-Offset", "3"), ("Content-Type", "application/partial-upload")]
                let location = try #require(answer.fields["Location"])
                answer = try bench.request("PATCH", location, Self.draft(6, "?1") + append, body: Array(content[3...]))
            }
            #expect(answer.status == (isRight ? 201 : 400))
            #expect(bench.directory.contains("f") == isRight)
        }
        await bench.receiver.stop()
    }

    @Test("whose checked part broke off give its bytes back to the total")
    func total() async throws {
        // Two blocks of content, the record, and the mark of what is not checked yet.
        let bench = try await ReceiverBench { $0.limits.total = 4 * UploadBudget.block }
        let version = ("Tus-Resumable", "1.0.0")
        let made = try bench.request("POST", "/f", [version, ("Upload-Length", "8000")], body: [])
        let location = try #require(made.fields["Location"])
        for _ in 0..<3 {
            let client = try bench.client()
            client.send(
                Array(
                    ("PATCH \(location) HTTP/1.1\r\nHost: localhost\r\nTus-Resumable: 1.0.0\r\n"
                        + "Upload-Checksum: sha1 \(Base64.encode(Array(repeating: 1, count: 20)))\r\n"
                        + "Content-Type: application/offset+octet-stream\r\nUpload-Offset: 0\r\n"
                        + "Content-Length: 8000\r\n\r\n")
                        .utf8
                ) + [UInt8](repeating: 7, count: 7000)
            )
            let part = bench.unfinished.first { $0.hasSuffix(".part") } ?? ""
            #expect(await bench.eventually { (try? bench.area(part).count) == 7000 })
            client.reset()
            let head = try bench.request("HEAD", location, [version])
            #expect(head.fields["Upload-Offset"] == "0")
        }
        await bench.receiver.stop()
    }

    @Test("land at the name that was written, in whatever normal form")
    func normalForm() async throws {
        let bench = try await ReceiverBench { $0.overwrites = true }
        #expect(try bench.request("PUT", "/e%CC%81.txt", body: [1]).status == 201)
        #expect(try bench.request("GET", "/e%CC%81.txt").body == [1])
        #expect(try bench.request("PUT", "/e%CC%81.txt", body: [2]).status == 204)
        #expect(try bench.request("GET", "/e%CC%81.txt").body == [2])
        #expect(try bench.request("GET", "/%C3%A9.txt").status == 404)
        await bench.receiver.stop()
    }

    @Test("in a coding are refused (RFC 9110 §15.5.16), and of what is there already, whatever it is")
    func codingAndCondition() async throws {
        let bench = try await ReceiverBench { $0.overwrites = true }
        let coded = try bench.request("PUT", "/f", [("Content-Encoding", "gzip")], body: [1])
        #expect(coded.status == 415 && coded.fields["Accept-Encoding"] == "identity")
        try bench.directory.link("l", to: "nowhere")
        #expect(mkfifo(bench.directory.path("p"), 0o600) == 0)
        for name in ["/l", "/p"] {
            #expect([409, 412].contains(try bench.request("PUT", name, [("If-None-Match", "*")], body: [1]).status))
        }
        await bench.receiver.stop()
    }

    @Test("take the old record away with the file that they replace")
    func records() async throws {
        let directory = try TemporaryDirectory()
        var bench = try await ReceiverBench(in: directory) { $0.records = try? RecordChoice() }
        #expect(try bench.request("PUT", "/f", body: [1]).status == 201)
        #expect(directory.contains(".f.martlet.json"))
        await bench.receiver.stop()
        bench = try await ReceiverBench(in: directory) { $0.overwrites = true }
        #expect(try bench.request("PUT", "/f", body: [2]).status == 204)
        #expect(!directory.contains(".f.martlet.json"))
        await bench.receiver.stop()
    }

    @Test("never lie in what is the receiver's own, nor is that served, by a link either")
    func ownByLink() async throws {
        let bench = try await ReceiverBench { configuration in
            configuration.records = try? RecordChoice()
            configuration.overwrites = true
        }
        #expect(try bench.request("PUT", "/f", body: [1]).status == 201)
        try bench.directory.link("record", to: ".f.martlet.json")
        try bench.directory.link("own", to: ServedTree.ownDirectory)
        #expect(try bench.request("GET", "/record").status == 404)
        #expect(try bench.request("GET", "/own/lock").status == 404)
        #expect(try bench.request("GET", "/own/").status == 404)
        #expect(try bench.request("PUT", "/own/x", body: [1]).status == 409)
        let listing = try bench.request("GET", "/", [("Accept", "application/json")]).text
        #expect(!listing.contains("record") && !listing.contains("own"))
        await bench.receiver.stop()
    }

    @Test("get the error that the receiver's directory is gone, not that the name is taken")
    func removedArea() async throws {
        let bench = try await ReceiverBench()
        #expect(unlink(bench.directory.path(ServedTree.ownDirectory + "/lock")) == 0)
        #expect(rmdir(bench.directory.path(ServedTree.ownDirectory)) == 0)
        let answer = try bench.request("PUT", "/f", body: [1])
        #expect(answer.status == 500 && answer.text.contains("start the receiver again"))
        await bench.receiver.stop()
    }
}
