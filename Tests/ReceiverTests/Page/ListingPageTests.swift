// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("The receiver's page")
struct ListingPageTests {
    private static let evil = "<img src=x onerror=alert(1)>\"'&"

    private func bench(
        _ credentials: String = "",
        _ change: @escaping (inout ReceiverConfiguration) -> Void = { _ in }
    ) async throws -> ReceiverBench {
        try await ReceiverBench { configuration in
            configuration.credentials =
                (try? AccessCredential.list(parsing: credentials, source: "the test")) ?? []
            change(&configuration)
        }
    }

    @Test("has no script and no style inside, and loads nothing from another origin")
    func policy() async throws {
        let bench = try await self.bench()
        let page = try bench.request("GET", "/", [("Accept", "text/html")])
        #expect(page.status == 200 && page.fields["Content-Type"] == "text/html; charset=utf-8")
        let policy = try #require(page.fields["Content-Security-Policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self';"))
        #expect(!policy.contains("unsafe"))
        for text in ["<style", "style=", "<script>", "onclick", "://"] as [String] {
            #expect(!page.text.contains(text))
        }
        #expect(page.text.contains("<script type=\"module\" src=\"./.martlet-page/receiver.js\">"))
        await bench.receiver.stop()
    }

    @Test("has files that need no credential, have entity tags, are small, and can only be read")
    func files() async throws {
        let bench = try await self.bench("all token secret")
        let client = try bench.client()
        for name in PageAssets.files.keys {
            let file = try client.request("GET", "/.martlet-page/\(name)")
            #expect(file.status == 200 && !file.body.isEmpty, "\(name)")
            #expect(file.fields["X-Content-Type-Options"] == "nosniff")
            let tag = try #require(file.fields["ETag"])
            #expect(try client.request("GET", "/.martlet-page/\(name)", [("If-None-Match", tag)]).status == 304)
        }
        var size = 0
        for name in PageAssets.files.keys { size += try client.request("GET", "/.martlet-page/\(name)").body.count }
        #expect(size > 40_000 && size <= 55_000)
        #expect(PageAssets.files["hash.js"] != nil && PageAssets.files["style.css"] != nil)
        #expect(try client.request("HEAD", "/.martlet-page/style.css").body.isEmpty)
        #expect(try client.request("POST", "/.martlet-page/style.css", body: []).status == 405)
        for name in ["", "/", "/nothing", "/style.css/", "/../style.css"] {
            #expect(try [400, 404].contains(client.request("GET", "/.martlet-page\(name)").status), "\(name)")
        }
        await bench.receiver.stop()
    }

    @Test("shows names from outside as text, in its listing, its paths and its title")
    func escaping() async throws {
        let bench = try await self.bench()
        let name = Self.evil
        let put = try bench.request("PUT", "/\(TreePath.encode(name))/\(TreePath.encode(name))", body: [1])
        #expect(put.status == 201)
        for path in ["/", "/\(TreePath.encode(name))/"] {
            let page = try bench.request("GET", path).text
            #expect(!page.contains("<img") && page.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"))
            #expect(page.contains("href=\"\(TreePath.encode(name))"))
        }
        await bench.receiver.stop()
    }

    @Test("has controls by the visitor's rights")
    func rights() {
        let entry = DirectoryListing.Entry(name: "a", isDirectory: false, size: 1, modified: 0)
        func page(_ rights: Rights, _ path: TreePath = .root) -> String {
            let page = ListingPage(path: path, visitor: PageVisitor(rights: rights))
            return page.listingHead(count: 1, isCut: false) + page.row(entry)
        }
        let sends = "type=\"file\""
        let selects = "name=\"name\" value=\"a\""
        #expect(page(.all).contains(sends) && page(.all).contains(selects))
        #expect(!page([.read, .list]).contains(sends) && page([.read, .list]).contains(selects))
        // An unreadable directory cannot be downloaded as a zip either.
        #expect(!page([.list]).contains(selects) && !page([.list]).contains("?zip"))
        #expect(page([.read, .list]).contains("data-may=\"read list\""))
        let deep = page(.all, TreePath(names: ["x", "y"], endsWithSlash: true))
        #expect(deep.contains("href=\"../../.martlet-page/style.css\"") && deep.contains("<a href=\"../\">x</a>/y/"))
    }

    @Test("only sends for a visitor who may only write, the same whether the directory exists")
    func onlySends() async throws {
        let bench = try await self.bench("write token w\nread,list token r")
        try bench.directory.write([1], to: "secret.txt")
        let client = try bench.client()
        let write = ("Authorization", "Bearer w")
        let page = try client.request("GET", "/", [write])
        #expect(page.status == 200 && page.text.contains("type=\"file\"") && !page.text.contains("secret.txt"))
        #expect(try client.request("HEAD", "/", [write]).status == 200)
        let missing = try client.request("GET", "/missing/", [write])
        #expect(missing.status == 200 && missing.text.contains("data-path=\"/missing/\""))
        #expect(try client.request("GET", "/", [write, ("Accept", "application/json")]).status == 403)
        #expect(try client.request("GET", "/secret.txt", [write]).status == 403)
        #expect(try client.request("GET", "/").status == 401)
        let reader = try client.request("GET", "/", [("Authorization", "Bearer r")])
        #expect(reader.text.contains("secret.txt") && !reader.text.contains("type=\"file\""))
        await bench.receiver.stop()
    }

    @Test("has no form if nothing is taken")
    func readOnly() async throws {
        let bench = try await self.bench("all token a\nwrite token w") { $0.takesUploads = false }
        let all = try bench.request("GET", "/", [("Authorization", "Bearer a")])
        #expect(all.status == 200 && !all.text.contains("type=\"file\""))
        #expect(try bench.request("GET", "/", [("Authorization", "Bearer w")]).status == 403)
        await bench.receiver.stop()
    }

    @Test("shows the links of a form's files to a browser without JavaScript")
    func sent() async throws {
        let bench = try await self.bench { $0.sharesUploads = true }
        let content =
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"<b>.txt\"\r\n\r\nhello\r\n--b--\r\n"
        let page = try bench.request(
            "POST",
            "/d/",
            [("Content-Type", "multipart/form-data; boundary=b"), ("Accept", "text/html")],
            body: Array(content.utf8)
        )
        #expect(page.status == 201 && page.text.contains("/.martlet-share/"))
        #expect(page.text.contains("href=\"../.martlet-page/style.css\"") && !page.text.contains("<b>"))
        #expect(page.fields["Content-Security-Policy"]?.contains("unsafe") == false)
        await bench.receiver.stop()
    }

    @Test("has a picture for each kind of file")
    func pictures() {
        let kinds = [
            "a.png": "image", "b.MP3": "audio", "c.mkv": "video", "d.tar.gz": "archive", "e.iso": "archive",
            "f.pdf": "text", "g.txt": "text", "h.docx": "text", "i.json": "text", "j": "file", "k.wasm": "file",
            "l.deb": "archive", "m.ttf": "file", "n.eml": "text",
        ]
        for (name, kind) in kinds {
            let entry = DirectoryListing.Entry(name: name, isDirectory: false, size: 0, modified: 0)
            #expect(FilePicture.of(entry) == kind, "\(name)")
        }
        let folder = DirectoryListing.Entry(name: "a.png", isDirectory: true, size: 0, modified: 0)
        #expect(FilePicture.of(folder) == "folder")
    }
}
