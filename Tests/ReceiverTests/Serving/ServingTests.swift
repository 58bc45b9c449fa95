// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import Files
import Platform
import NIOPosix
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("Files handed out")
struct ServingTests {
    private static let pattern = TestPattern(seed: 7)

    @Test("come whole, in parts and from their end", arguments: [1000, 300_000])
    func ranges(length: Int64) async throws {
        let bench = try await ReceiverBench()
        let content = Self.pattern.bytes(0..<length)
        try bench.directory.write(content, to: "f.bin")
        let client = try bench.client()
        let whole = try client.request("GET", "/f.bin")
        #expect(whole.status == 200)
        #expect(whole.body == content)
        #expect(whole.fields["Accept-Ranges"] == "bytes")
        let part = try client.request("GET", "/f.bin", [("Range", "bytes=10-\(length - 11)")])
        #expect(part.status == 206)
        #expect(part.fields["Content-Range"] == "bytes 10-\(length - 11)/\(length)")
        #expect(part.body == Array(content[10..<(Int(length) - 10)]))
        let suffix = try client.request("GET", "/f.bin", [("Range", "bytes=-7")])
        #expect(suffix.body == Array(content.suffix(7)))
        let several = try client.request("GET", "/f.bin", [("Range", "bytes=0-1,5-6")])
        #expect(several.status == 200)
        #expect(several.body == content)
        let beyond = try client.request("GET", "/f.bin", [("Range", "bytes=\(length)-")])
        #expect(beyond.status == 416)
        #expect(beyond.fields["Content-Range"] == "bytes */\(length)")
        await bench.receiver.stop()
    }

    @Test("have a HEAD with the fields of GET, without the content")
    func head() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write(Array("hello".utf8), to: "a.txt", modified: 784_111_777)
        let client = try bench.client()
        let head = try client.request("HEAD", "/a.txt")
        let get = try client.request("GET", "/a.txt")
        #expect(head.body.isEmpty)
        for name in ["Content-Length", "ETag", "Last-Modified", "Content-Type"] as [String] {
            #expect(head.fields[name] == get.fields[name])
        }
        #expect(get.fields["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(get.fields["Content-Type"] == "text/plain; charset=utf-8")
        let ranged = try client.request("HEAD", "/a.txt", [("Range", "bytes=1-2")])
        // Only GET has ranges (RFC 9110 §14.2).
        #expect(ranged.status == 200)
        #expect(ranged.fields["Content-Length"] == "5")
        await bench.receiver.stop()
    }

    @Test("have another entity tag after every change, and the same one without")
    func entityTags() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([1, 2, 3], to: "f", modified: 1000)
        let first = try bench.request("GET", "/f").fields["ETag"]
        #expect(try bench.request("GET", "/f").fields["ETag"] == first)
        // The same size and the same time of change: only the inode's change time differs.
        try Self.waitForStep(after: bench.directory.path("f"))
        try bench.directory.write([3, 2, 1], to: "f", modified: 1000)
        let second = try bench.request("GET", "/f").fields["ETag"]
        #expect(second != first)
        let resumed = try bench.request("GET", "/f", [("Range", "bytes=1-"), ("If-Range", first ?? "")])
        #expect(resumed.status == 200)
        let same = try bench.request("GET", "/f", [("Range", "bytes=1-"), ("If-Range", second ?? "")])
        #expect(same.status == 206)
        #expect(try bench.request("GET", "/f", [("If-None-Match", second ?? "")]).status == 304)
        #expect(try bench.request("GET", "/f", [("If-Match", first ?? "")]).status == 412)
        await bench.receiver.stop()
    }

    /// Waits until what is changed gets another time than a file that was changed last: a filesystem's clock goes in
    /// steps of some milliseconds.
    private static func waitForStep(after path: String) throws {
        let other = try TemporaryDirectory()
        let end = ContinuousClock.now + .seconds(20)
        var (before, now) = (stat(), stat())
        repeat {
            try other.write([1], to: "f")
            guard stat(path, &before) == 0, stat(other.path("f"), &now) == 0, ContinuousClock.now < end else {
                throw TestSupportError("the filesystem's clock stands still, or \(path) is gone")
            }
        } while Self.changeTime(now) <= Self.changeTime(before)
    }

    private static func changeTime(_ status: stat) -> (Int, Int) {
        (status.statusChangeTime.tv_sec, status.statusChangeTime.tv_nsec)
    }

    @Test("have their digest reported on request", arguments: [100, 200_000])
    func digest(length: Int64) async throws {
        let bench = try await ReceiverBench()
        let content = Self.pattern.bytes(0..<length)
        try bench.directory.write(content, to: "f")
        let client = try bench.client()
        #expect(try client.request("GET", "/f").fields["Repr-Digest"] == nil)
        let wanted = WantedDigest.field(.sha256, PlainDigests.sha256(content))
        for range in ["bytes=0-", "bytes=5-9"] {
            let answer = try client.request("GET", "/f", [("Want-Repr-Digest", "sha-256=10"), ("Range", range)])
            #expect(answer.status == 206)
            #expect(answer.fields["Repr-Digest"] == wanted)
        }
        await bench.receiver.stop()
    }

    @Test("are found only below the directory")
    func confinement() async throws {
        let bench = try await ReceiverBench()
        let outside = try TemporaryDirectory()
        try outside.write([1], to: "secret")
        try bench.directory.write([2], to: "inside")
        try bench.directory.write([2], to: ".hidden")
        try bench.directory.link("out", to: outside.path("secret"))
        try bench.directory.link("outdir", to: outside.path)
        try bench.directory.link("up", to: "../")
        try bench.directory.link("in", to: "inside")
        try bench.directory.link("device", to: "/dev/zero")
        try bench.directory.link("revealed", to: ".hidden")
        #expect(mkfifo(bench.directory.path("fifo"), 0o666) == 0)
        let client = try bench.client()
        for path in [
            "/out", "/outdir/secret", "/outdir/", "/up/", "/device", "/fifo", "/.hidden", "/revealed", "/inside/",
            "/nothing",
        ] {
            #expect(try client.request("GET", path).status == 404, "\(path)")
        }
        for path in ["/../x", "/%2e%2e/x", "/a%2f..%2fb", "/%00", "/%"] {
            #expect(try client.request("GET", path).status == 400, "\(path)")
        }
        #expect(try client.request("GET", "/in").body == [2])
        #expect(try client.request("GET", "http://localhost/inside").body == [2])
        let listing = try client.request("GET", "/", [("Accept", "application/json")]).text
        #expect(listing.contains("\"inside\"") && listing.contains("\"in\""))
        for name in ["out", "outdir", "up", "device", "fifo", ".hidden", "revealed"] {
            #expect(!listing.contains("\"\(name)\""))
        }
        await bench.receiver.stop()
    }

    @Test("without the kernel's help are found by a walk that follows no link")
    func walk() throws {
        let directory = try TemporaryDirectory()
        #expect(mkdir(directory.path("d"), 0o755) == 0)
        try directory.write([1], to: "d/f")
        try directory.link("l", to: "d")
        let root = OpenFile(open(directory.path, O_RDONLY | O_DIRECTORY))
        #expect((try? BeneathOpen.walk(root, ["d", "f"], O_RDONLY).get()) != nil)
        #expect((try? BeneathOpen.walk(root, ["l", "f"], O_RDONLY).get()) == nil)
        #expect((try? BeneathOpen.walk(root, [], O_RDONLY).get()) != nil)
    }

    @Test("are listed as a page whose names are harmless, and links that lead to them")
    func listing() async throws {
        let bench = try await ReceiverBench()
        let name = "<b>&\"' ü%.txt"
        try bench.directory.write([1, 2], to: name)
        #expect(mkdir(bench.directory.path("dir"), 0o755) == 0)
        let page = try bench.request("GET", "/")
        #expect(page.fields["Content-Type"] == "text/html; charset=utf-8")
        #expect(page.text.contains("&lt;b&gt;&amp;&quot;&#39; ü%.txt"))
        #expect(!page.text.contains("<b>"))
        #expect(page.text.contains("href=\"dir/\""))
        // Shown, these would hide or reverse what follows them; joiners and the tags of flags are kept.
        let flag = "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}"
        for (name, shown) in [
            ("evil\u{202E}gpj.exe", "evil\u{FFFD}gpj.exe"), ("a\u{2066}b", "a\u{FFFD}b"), ("a\u{200B}b", "a\u{FFFD}b"),
            ("\u{85}x", "\u{FFFD}x"), ("می\u{200C}خواهم", "می\u{200C}خواهم"), (flag, flag),
        ] {
            try bench.directory.write([3], to: name)
            let page = try bench.request("GET", "/").text
            #expect(page.contains(shown) && (name == shown || !page.contains(name)))
            #expect(try bench.request("GET", "/" + TreePath.encode(name)).body == [3])
        }
        let json = try bench.request("GET", "/", [("Accept", "application/json")])
        #expect(json.text.contains("\"size\":2"))
        #expect(try bench.request("GET", "/" + TreePath.encode(name)).body == [1, 2])
        let moved = try bench.request("GET", "/dir")
        #expect(moved.status == 301)
        #expect(moved.fields["Location"] == "/dir/")
        await bench.receiver.stop()
    }

    @Test("are sandboxed: an uploaded page gets no rights of the visitor")
    func sandbox() async throws {
        for takesUploads in [true, false] {
            let bench = try await ReceiverBench { $0.takesUploads = takesUploads }
            try bench.directory.write(Array("<script>".utf8), to: "x.html")
            let answer = try bench.request("GET", "/x.html")
            #expect(answer.fields["Content-Security-Policy"]?.hasPrefix("sandbox") ?? false)
            // Nor is it part of a page elsewhere.
            #expect(answer.fields["Cross-Origin-Resource-Policy"] == "same-origin")
            await bench.receiver.stop()
        }
    }

    @Test("that are cut while they are sent end the connection instead of anything made up")
    func cutFile() async throws {
        let bench = try await ReceiverBench { $0.limits.idle = .seconds(2) }
        let length = 64 << 20
        try bench.directory.write([1], to: "f")
        #expect(truncate(bench.directory.path("f"), off_t(length)) == 0)
        let client = try RawClient(port: bench.receiver.address.port, receiveBuffer: 4096)
        client.send("GET /f HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(client.read().count > 0)
        #expect(truncate(bench.directory.path("f"), 1000) == 0)
        var count = 0
        while true {
            let more = client.read()
            if more.isEmpty { break }
            count += more.count
        }
        #expect(count < length)
        await bench.receiver.stop()
    }

    @Test("do not include what the receiver itself made, however its name is written")
    func ownNames() {
        for name in [".martlet-uploads", ".MARTLET-Uploads", ".f.martlet.json", ".f\u{600}.Martlet.JSON"] {
            #expect(ServedTree.isOwn(name))
        }
        for name in ["martlet-uploads", "f.martlet.json", ".profile"] { #expect(!ServedTree.isOwn(name)) }
        let long = String(repeating: "é", count: 121)
        let record = ServedTree.recordName(long)
        #expect(record.utf8.count <= 255)
        #expect(ServedTree.isOwn(record))
        #expect(record != ServedTree.recordName(String(long.dropLast()) + "ab"))
        #expect(ServedTree.recordName("f") == ".f.martlet.json")
        // No other file's record has that name.
        let forged = String(record.dropFirst().dropLast(".martlet-json".count))
        #expect(ServedTree.recordName(forged) != record)
    }

    #if os(Linux)
    @Test("are not FIFOs: a FIFO is not opened, because a waiting writer would then continue")
    func fifo() async throws {
        let bench = try await ReceiverBench()
        #expect(mkfifo(bench.directory.path("p"), 0o600) == 0)
        let watch = inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK))
        defer { close(watch) }
        inotify_add_watch(watch, bench.directory.path("p"), UInt32(IN_OPEN))
        #expect(try bench.request("HEAD", "/p").status == 404)
        #expect(try bench.request("GET", "/p").status == 404)
        #expect(try bench.request("PUT", "/p", body: [1]).status == 409)
        var events = [UInt8](repeating: 0, count: 4096)
        #expect(read(watch, &events, events.count) == -1 && errno == EAGAIN)
        await bench.receiver.stop()
    }
    #endif

    @Test("are listed by links that lead anywhere in the tree, not out of it")
    func links() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([1, 2, 3], to: "f")
        #expect(mkdir(bench.directory.path("d"), 0o755) == 0)
        try bench.directory.link("d/up", to: "../f")
        try bench.directory.link("d/out", to: "/etc/passwd")
        let listing = try bench.request("GET", "/d/", [("Accept", "application/json")]).text
        #expect(listing.contains("\"up\"") && !listing.contains("out"))
        #expect(try bench.request("GET", "/d/up").body == [1, 2, 3])
        await bench.receiver.stop()
    }

    @Test("have listings whose memory is bounded, however few clients read them")
    func listingBudget() {
        let place = ListingPlace()
        var held = [place.charge(40 << 20)]
        #expect(held[0] != nil)
        #expect(place.charge(40 << 20) == nil)
        held = []
        #expect(place.charge(40 << 20) != nil)
        #expect(place.charge(100 << 20) != nil)
    }

    @Test("have listings that are made in pieces as they are sent", arguments: [AcceptedFormat.json, .html])
    func listingPieces(format: AcceptedFormat) throws {
        let entries = (0..<2000)
            .map { DirectoryListing.Entry(name: "\"f\($0)", isDirectory: $0 == 0, size: 7, modified: 0) }
        let listing = DirectoryListing(entries: entries, isCut: false)
        var text = ListingResponse.Text(
            listing: ListingResponse(path: .root, listing: listing, visitor: .nobody),
            format: format
        )
        var pieces: [[UInt8]] = []
        repeat { pieces.append(text.next()) } while pieces.last?.isEmpty == false
        #expect(pieces.count > 3 && pieces.allSatisfy { $0.count < ListingResponse.Text.piece + 8192 })
        let whole = Array(pieces.joined())
        if format == .json {
            #expect(try JSON(parsing: whole)["entries"]?.array?.count == 2000)
        } else {
            #expect(String(decoding: whole, as: UTF8.self).hasSuffix("</html>\n"))
        }
    }

    @Test("have listings in both versions of HTTP, whose ends are known")
    func listingFraming() async throws {
        let bench = try await ReceiverBench()
        for index in 0..<1500 { try bench.directory.write([], to: "f\(index)") }
        let client = try bench.client()
        for _ in 0..<2 {
            let answer = try client.request("GET", "/", [("Accept", "application/json")])
            #expect(answer.fields["Transfer-Encoding"] == "chunked" && answer.isWhole)
            #expect(try JSON(parsing: answer.body)["entries"]?.array?.count == 1500)
        }
        let old = try bench.client()
        old.send("GET / HTTP/1.0\r\nAccept: application/json\r\n\r\n")
        let answer = try old.response()
        #expect(answer.fields["Transfer-Encoding"] == nil)
        #expect(try JSON(parsing: answer.body)["entries"]?.array?.count == 1500)
        #expect(try bench.request("HEAD", "/").status == 200)
        await bench.receiver.stop()
    }

    @Test("have listings that delay nothing else, and end with their clients")
    func listingsApart() async throws {
        let bench = try await ReceiverBench()
        for index in 0..<1000 { try bench.directory.write([], to: "f\(index)") }
        // All threads for listings are taken.
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<ListingPlace.threads { bench.receiver.core.listings.pool.submit { _ in gate.wait() } }
        let aborted = try (0..<100).map { _ in try bench.client() }
        for client in aborted { client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") }
        #expect(await bench.eventually { bench.receiver.core.listings.isBusy })
        #expect(try bench.request("PUT", "/up", body: [1]).status == 201)
        #expect(try bench.request("GET", "/up").body == [1])
        for client in aborted { client.reset() }
        for _ in 0..<ListingPlace.threads { gate.signal() }
        #expect(await bench.eventually { bench.receiver.listener.isIdle })
        #expect(try bench.request("GET", "/", [("Accept", "application/json")]).isWhole)
        #expect(!bench.receiver.core.listings.isBusy)
        await bench.receiver.stop()
    }

    @Test("have listings that end when the client has gone")
    func listingEnds() throws {
        let directory = try TemporaryDirectory()
        for index in 0..<600 { try directory.write([], to: "f\(index)") }
        let tree = try ServedTree(directory.path)
        var checks = 0
        let listing = try DirectoryListing.read(tree.root, of: tree, at: []) {
            checks += 1
            return checks < 2
        }
        #expect(listing == nil && checks == 2)
    }

    @Test("were not changed in the future")
    func future() async throws {
        let bench = try await ReceiverBench()
        try bench.directory.write([1], to: "f", modified: 33_000_000_000)
        let answer = try bench.request("GET", "/f")
        let told = try #require(answer.fields["Last-Modified"].flatMap(HTTPDate.parse))
        #expect(told < 33_000_000_000)
        #expect(answer.fields["Last-Modified"] == answer.fields["Date"] || told <= Timestamp.now)
        await bench.receiver.stop()
    }

    // The Fetch standard: a page whose referrer policy is `no-referrer` sends its form with `Origin: null`.
    @Test("have a page whose form a browser sends with its origin, and a trail of links to the directories above")
    func page() async throws {
        let bench = try await ReceiverBench()
        #expect(mkdir(bench.directory.path("a"), 0o777) == 0)
        #expect(mkdir(bench.directory.path("a/<b>"), 0o777) == 0)
        let page = try bench.request("GET", "/a/%3Cb%3E/")
        #expect(page.fields["Referrer-Policy"] == "same-origin")
        #expect(page.text.contains("<form method=\"post\""))
        #expect(page.text.contains("<a href=\"../\">a</a>/&lt;b&gt;/</h1>"))
        await bench.receiver.stop()
    }
}
