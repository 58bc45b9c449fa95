// SPDX-License-Identifier: Apache-2.0
import Files
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("The link for an upload")
struct UploadLinkTests {
    private static let content = TestPattern(seed: 6).bytes(0..<100_000)
    private static let write = [("Authorization", "Bearer w")]
    private static let tus = [("Tus-Resumable", "1.0.0"), ("Content-Type", "application/offset+octet-stream")]

    /// A receiver whose clients may write with a token and read with another one.
    private func bench(
        _ directory: TemporaryDirectory,
        _ store: TemporaryDirectory,
        _ change: (inout ReceiverConfiguration) -> Void = { _ in }
    ) async throws -> ReceiverBench {
        let credentials = try AccessCredential.list(parsing: "write token w\nread token r", source: "")
        return try await ReceiverBench(in: directory) {
            $0.linkStore = store.path("a.links")
            $0.sharesUploads = true
            $0.credentials = credentials
            change(&$0)
        }
    }

    private func path(_ link: String?) throws -> String {
        let link = try #require(link)
        #expect(link.hasPrefix("http://localhost/.martlet-share/"))
        return String(link.dropFirst("http://localhost".count))
    }

    private func checkServed(_ bench: ReceiverBench, _ link: String?) throws {
        let path = try self.path(link)
        #expect(try bench.request("GET", path).body == Self.content)
    }

    @Test("by PUT or POST is in a header field, and works without credentials, also after a restart")
    func raw() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        let bench = try await self.bench(directory, store) { $0.allowedHosts = ["box.example"] }
        let put = try bench.request("PUT", "/d/a%20b", Self.write, body: Self.content)
        #expect(put.status == 201)
        try self.checkServed(bench, put.fields["Share-Link"])
        // The second one gets a numbered name.
        for _ in 0..<2 {
            let fields = Self.write + [("Content-Disposition", "attachment; filename=\"x\"")]
            let post = try bench.request("POST", "/d/", fields, body: Self.content)
            try self.checkServed(bench, post.fields["Share-Link"])
        }
        #expect(try bench.request("GET", "/d/a%20b", Self.write).status == 403)
        let proxied = try bench.request(
            "PUT",
            "/e",
            Self.write + [("X-Forwarded-Proto", "https")],
            body: Self.content,
            host: "box.example"
        )
        #expect(proxied.fields["Share-Link"]?.hasPrefix("https://box.example/.martlet-share/") ?? false)
        await bench.receiver.stop()
        let again = try await self.bench(directory, store)
        try self.checkServed(again, put.fields["Share-Link"])
        await again.receiver.stop()
    }

    @Test("is not for what another sender puts under the name later")
    func overwritten() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        let bench = try await self.bench(directory, store) { $0.overwrites = true }
        let first = try bench.request("PUT", "/f", Self.write, body: Self.content).fields["Share-Link"]
        try self.checkServed(bench, first)
        let second = try bench.request("PUT", "/f", Self.write, body: [1, 2, 3])
        #expect(second.status == 204)
        #expect(try bench.request("GET", try self.path(first)).status == 410)
        let link = try self.path(second.fields["Share-Link"])
        #expect(try bench.request("GET", link).body == [1, 2, 3])
        await bench.receiver.stop()
        let again = try await self.bench(directory, store)
        #expect(try again.request("GET", try self.path(first)).status == 410)
        await again.receiver.stop()
    }

    @Test("by tus is the same for every repetition of the last request, also after a restart")
    func tus() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        var bench = try await self.bench(directory, store)
        let created = try bench.request(
            "POST",
            "/",
            Self.write + Self.tus + [("Upload-Length", "100000"), ("Upload-Metadata", "filename YS5iaW4=")],
            body: Array(Self.content[..<40_000])
        )
        #expect(created.status == 201 && created.fields["Share-Link"] == nil)
        let location = try #require(created.fields["Location"])
        let patch = Self.write + Self.tus + [("Upload-Offset", "40000")]
        let last = try bench.request("PATCH", location, patch, body: Array(Self.content[40_000...]))
        #expect(last.status == 204)
        let link = try #require(last.fields["Share-Link"])
        try self.checkServed(bench, link)
        for _ in 0..<2 {
            let head = try bench.request("HEAD", location, Self.write + Self.tus)
            #expect(head.fields["Share-Link"] == link)
            let repeated = try bench.request("PATCH", location, patch, body: Array(Self.content[40_000...]))
            #expect(repeated.status == 409 && repeated.fields["Share-Link"] == link)
            await bench.receiver.stop()
            bench = try await self.bench(directory, store)
        }
        try self.checkServed(bench, link)
        let whole = try bench.request(
            "POST",
            "/",
            Self.write + Self.tus + [("Upload-Length", "100000")],
            body: Self.content
        )
        try self.checkServed(bench, whole.fields["Share-Link"])
        await bench.receiver.stop()
    }

    @Test("by the IETF draft is in its final response, and again in that of HEAD", arguments: [3, 5, 6])
    func draft(version: Int) async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        let bench = try await self.bench(directory, store)
        let name = ("Upload-Draft-Interop-Version", "\(version)")
        func complete(_ value: Bool) -> (String, String) {
            version < 5 ? ("Upload-Incomplete", value ? "?0" : "?1") : ("Upload-Complete", value ? "?1" : "?0")
        }
        let first = try bench.request(
            "PUT",
            "/f",
            Self.write + [name, complete(false)],
            body: Array(Self.content[..<30_000])
        )
        #expect(first.status == 201 && first.fields["Share-Link"] == nil)
        let location = try #require(first.fields["Location"])
        let fields = [name, complete(true), ("Upload-Offset", "30000"), ("Content-Type", "application/partial-upload")]
        let last = try bench.request("PATCH", location, Self.write + fields, body: Array(Self.content[30_000...]))
        #expect(last.status == 201)
        try self.checkServed(bench, last.fields["Share-Link"])
        let head = try bench.request("HEAD", location, Self.write + [name])
        #expect(head.fields["Share-Link"] == last.fields["Share-Link"])
        await bench.receiver.stop()
    }

    @Test("is there if the receiver died between the last byte and the response, also under a numbered name")
    func died() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        var bench = try await self.bench(directory, store)
        let area = try #require(bench.receiver.core.area)
        var links: [UploadName: String] = [:]
        for step in 0..<2 {
            let place = LandingPlace(directory: [], name: "x.bin", mayRename: true)
            let upload = ResumableUpload(
                name: UploadName(),
                place: place,
                length: 3,
                created: Timestamp.now,
                facts: UploadFacts(json: nil),
                endsByLength: true
            )
            let file = try area.create(upload)
            let number = [7, 7, UInt8(step)].withUnsafeBytes { file.write($0, at: 0) }
            #expect(number == 0)
            let landed = try area.land(upload.name.part, file, place, [:], of: upload.name, from: nil)
            // The record of its end is missing: neither the upload nor the link know the final name.
            let known = bench.receiver.core.shares.state.withLock { $0.book.link(ofUpload: upload.name.id) }
            var link = try #require(known)
            link.path = ["x.bin"]
            link.mayBeRenamed = true
            try bench.receiver.core.shares.make(link, now: 0)
            links[upload.name] = landed.link
        }
        await bench.receiver.stop()
        bench = try await self.bench(directory, store)
        for (name, link) in links {
            let head = try bench.request("HEAD", name.path, Self.write + Self.tus)
            #expect(try self.path(head.fields["Share-Link"]) == link)
            #expect(try bench.request("GET", link).body.count == 3)
        }
        await bench.receiver.stop()
    }

    @Test("by a form is in the JSON, and on the page of a browser")
    func form() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        let bench = try await self.bench(directory, store)
        let head = "Content-Disposition: form-data; name=\"f\"; filename=\"<x>.bin\""
        let form = Array("--XX\r\n\(head)\r\n\r\n".utf8) + Self.content + Array("\r\n--XX--\r\n".utf8)
        let type = ("Content-Type", "multipart/form-data; boundary=XX")
        let json = try bench.request("POST", "/", Self.write + [type], body: form)
        #expect(json.status == 201)
        let link = try JSON(parsing: json.body)["files"]?[0]?["link"]?.string
        #expect(link == json.fields["Share-Link"])
        try self.checkServed(bench, link)
        let page = try bench.request("POST", "/", Self.write + [type, ("Accept", "text/html")], body: form)
        #expect(page.status == 201)
        #expect(page.fields["Content-Type"]?.hasPrefix("text/html") ?? false)
        let anchor = try #require(page.text.split(separator: "<").first { $0.hasPrefix("a href=") })
        try self.checkServed(bench, String(anchor.split(separator: "\"")[1]))
        #expect(!page.text.contains("<x>"))
        await bench.receiver.stop()
    }

    @Test("is returned only if the receiver permits it, and only for complete files")
    func options() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        let without = try await self.bench(directory, store) { $0.sharesUploads = false }
        let put = try without.request("PUT", "/f", Self.write, body: Self.content)
        #expect(put.status == 201 && put.fields["Share-Link"] == nil)
        await without.receiver.stop()
        let bench = try await self.bench(directory, store) {
            $0.shareDownloads = 1
            $0.allowedOrigins = ["https://ok.example"]
        }
        let refused = try bench.request("PUT", "/f", Self.write, body: Self.content)
        #expect(refused.status == 409 && refused.fields["Share-Link"] == nil)
        #expect(bench.receiver.core.shares.list(now: 0) { _ in true }.isEmpty)
        let limited = try bench.request(
            "PUT",
            "/g",
            Self.write + [("Origin", "https://ok.example")],
            body: Self.content
        )
        #expect(limited.fields["Access-Control-Expose-Headers"]?.contains("Share-Link") ?? false)
        try self.checkServed(bench, limited.fields["Share-Link"])
        let path = try self.path(limited.fields["Share-Link"])
        #expect(await bench.eventually { (try? bench.request("GET", path).status) == 410 })
        await bench.receiver.stop()
    }
}
