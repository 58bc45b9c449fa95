// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("A link")
struct ShareTests {
    private static let length: Int64 = 1000

    /// A share of 1000 bytes, and what becomes of requests for it.
    private final class Bench {
        var share: Share
        var tickets = 0
        var now: Int64 = 0

        init(downloads: Int?, expires: Int64? = nil) { self.share = Share(expires: expires, downloads: downloads) }

        func request(_ count: Int64, _ address: String, ticket: String? = nil) -> Share.Verdict {
            self.tickets += 1
            return self.share.requested(
                count,
                of: ShareTests.length,
                by: Share.Client(ticket: ticket, address: address),
                offering: "t\(self.tickets)",
                now: self.now
            )
        }

        /// Sends so many bytes on a claim, and ends its response; returns whether they could be sent.
        func send(_ count: Int64, on verdict: Share.Verdict) -> Bool {
            guard case .claim(let id) = verdict else { return false }
            let isSent = self.share.take(count, of: ShareTests.length, for: id)
            self.share.ended(id, unsent: 0, now: self.now)
            return isSent
        }

        func take(_ count: Int64, on id: Share.ClaimID) -> Bool {
            self.share.take(count, of: ShareTests.length, for: id)
        }

        func fetch(_ count: Int64, _ address: String, ticket: String? = nil) -> Bool {
            let verdict = self.request(count, address, ticket: ticket)
            return self.send(count, on: verdict)
        }
    }

    @Test("counts the bytes of a download, in however many requests it comes")
    func counting() {
        let bench = Bench(downloads: 2)
        for _ in 0..<10 { #expect(bench.fetch(100, "a")) }
        #expect(bench.fetch(1000, "a"))
        #expect(bench.request(1000, "a") == .gone)
        #expect(bench.request(1000, "b") == .gone)
    }

    @Test("gives no second copy, neither by all but the last byte nor to a neighbour behind the same address")
    func tricks() {
        let bench = Bench(downloads: 1)
        #expect(bench.fetch(999, "a"))
        for count: Int64 in [1000, 999, 600, 502] { #expect(bench.request(count, "a") == .gone) }
        #expect(bench.request(1, "b") == .gone)
        // The last byte remains, and some slack below half of the file, for a short time.
        #expect(bench.fetch(1, "a"))
        #expect(bench.fetch(300, "a"))
        #expect(bench.request(201, "a") == .gone)
        bench.now += Share.grace
        #expect(bench.request(1, "a") == .gone)
        // Nor by many small parts, also long after.
        let parts = Bench(downloads: 1)
        var sum: Int64 = 0
        while sum < 10_000, parts.fetch(50, "a") { sum += 50 }
        #expect(sum == 1500)
        parts.now = 100_000
        #expect(parts.request(50, "a") == .gone)
    }

    @Test("lets a client have parts at once, but sends no more than one and a half files")
    func parallel() throws {
        let bench = Bench(downloads: 1)
        let whole = bench.request(1000, "a")
        let part = bench.request(500, "a")
        #expect(whole == part)
        #expect(bench.request(1000, "a") == .busy && bench.request(100, "b") == .busy)
        guard case .claim(let id) = whole else { throw TestSupportError("no claim") }
        for _ in 0..<15 { #expect(bench.take(100, on: id)) }
        #expect(!bench.take(1, on: id))
        // Bytes that did not reach the client do not count.
        bench.share.ended(id, unsent: 700, now: 0)
        #expect(bench.take(700, on: id))
    }

    @Test("binds a download to its ticket, which others do not have")
    func tickets() throws {
        let bench = Bench(downloads: 1)
        let first = bench.request(1000, "a")
        guard case .claim(let id) = first else { throw TestSupportError("no claim") }
        #expect(bench.send(600, on: first))
        let ticket = try #require(bench.share.ticket(id))
        // From another address, too; then its first address does not count any more.
        #expect(bench.fetch(200, "b", ticket: ticket))
        #expect(bench.request(200, "a") == .gone)
        #expect(bench.request(200, "b") == .gone)
        #expect(bench.request(200, "b", ticket: "wrong") == .gone)
        #expect(bench.fetch(200, "c", ticket: ticket))
    }

    @Test("is not used up by a preview that breaks off: after a while the next client gets the place, but not for ever")
    func previews() {
        let bench = Bench(downloads: 1)
        for round in 0..<5 {
            #expect(bench.fetch(100, "preview\(round)"))
            #expect(bench.request(1000, "person") == .busy)
            bench.now += Share.rest
        }
        // Their bytes count: no copy is put together by giving up again and again.
        #expect(bench.fetch(100, "one more"))
        bench.now += Share.rest
        #expect(bench.request(1000, "person") == .gone)
        #expect(bench.request(900, "one more") == .claim(6))
        let good = Bench(downloads: 1)
        #expect(good.fetch(100, "preview"))
        good.now = Share.rest
        #expect(good.fetch(1000, "person"))
        #expect(good.request(1000, "another") == .gone)
    }

    @Test("lets a download that broke off below its half begin again")
    func restart() {
        let bench = Bench(downloads: 1)
        #expect(bench.fetch(500, "a"))
        #expect(bench.fetch(1000, "a"))
        #expect(bench.request(1000, "a") == .gone)
    }

    @Test("forgets finished downloads, but not that they were")
    func memory() {
        let bench = Bench(downloads: 10_000)
        for index in 0..<10_000 {
            bench.now += 1
            #expect(bench.fetch(1000, "\(index)"))
        }
        bench.now += 10_000
        #expect(bench.request(1000, "x") == .gone)
    }

    @Test("ends at its time, and counts nothing without a limit")
    func expiry() {
        let bench = Bench(downloads: nil, expires: 100)
        bench.now = 99
        for _ in 0..<10 { #expect(bench.request(1000, "a") == .serve) }
        bench.now = 100
        #expect(bench.request(1, "a") == .gone)
    }

    @Test("is not used up by HEAD and by programs that show a preview, and gives a browser its ticket")
    func heads() async throws {
        let directory = try TemporaryDirectory()
        let content = TestPattern(seed: 1).bytes(0..<100_000)
        try directory.write(content, to: "f")
        let bench = try await ReceiverBench {
            $0.directory = nil
            $0.shares = [ShareOffer(path: directory.path("f"), downloads: 1)]
        }
        let path = try #require(bench.receiver.sharePaths.first)
        for _ in 0..<3 {
            #expect(try bench.request("HEAD", path).fields["Content-Length"] == "100000")
            let preview = try bench.request("GET", path, [("User-Agent", "Slackbot-LinkExpanding 1.0")])
            #expect(preview.status == 200 && preview.body.count < 100)
        }
        // All but the last byte, and then all.
        let most = try bench.request("GET", path, [("Range", "bytes=0-99998")])
        #expect(most.status == 206 && most.body.count == 99_999)
        #expect(await bench.eventually { (try? bench.request("GET", path).status) == 410 })
        let cookie = try #require(most.fields["Set-Cookie"]?.split(separator: ";").first)
        #expect(try bench.request("GET", path, [("Cookie", "\(cookie)")]).status == 410)
        let rest = try bench.request("GET", path, [("Cookie", "\(cookie)"), ("Range", "bytes=99999-")])
        #expect(rest.status == 206 && most.body + rest.body == content)
        #expect(try bench.request("GET", path, [("Range", "bytes=99999-")]).status == 410)
        // Nothing about the file is revealed any more, either.
        #expect(try bench.request("HEAD", path).status == 410)
        let tag = try #require(most.fields["ETag"])
        for fields in [[("If-None-Match", tag)], [("User-Agent", "WhatsApp/2")]] {
            #expect(try bench.request("GET", path, fields, host: "localhost").status == 410, "\(fields)")
        }
        await bench.receiver.stop()
    }

    @Test("hands over its file and no other, without credentials, even where nothing else is served")
    func served() async throws {
        let directory = try TemporaryDirectory()
        let content = TestPattern(seed: 1).bytes(0..<100_000)
        try directory.write(content, to: "a b.bin")
        let bench = try await ReceiverBench {
            $0.directory = nil
            $0.shares = [ShareOffer(path: directory.path("a b.bin"), downloads: 1)]
        }
        let path = try #require(bench.receiver.sharePaths.first)
        #expect(path.split(separator: "/").dropFirst().first?.count == 32)
        #expect(try bench.request("HEAD", path).status == 200)
        let wrong = ShareLink.path(token: UploadName().id, name: "a b.bin")
        #expect(try bench.request("GET", wrong).status == 404)
        #expect(try bench.request("GET", "/").status == 404)
        #expect(try bench.request("PUT", path, body: [1]).status == 405)
        let first = try bench.request("GET", path, [("Range", "bytes=0-49999")])
        #expect(first.status == 206)
        let second = try bench.request("GET", path, [("Range", "bytes=50000-")])
        #expect(first.body + second.body == content)
        #expect(second.fields["Content-Disposition"]?.contains("a%20b.bin") ?? false)
        #expect(await bench.eventually { (try? bench.request("GET", path).status) == 410 })
        await bench.receiver.stop()
    }

    @Test("is not used up by a download that broke off, also of a file that fits into the socket's buffers")
    func brokenOff() async throws {
        let directory = try TemporaryDirectory()
        let content = [UInt8](repeating: 7, count: 1_500_000)
        try directory.write(content, to: "f")
        let bench = try await ReceiverBench {
            $0.directory = nil
            $0.shares = [ShareOffer(path: directory.path("f"), downloads: 1)]
        }
        let path = try #require(bench.receiver.sharePaths.first)
        func breakOff() throws {
            let client = try bench.client()
            client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(client.read().count > 0)
            client.reset()
        }
        // The socket is closed then, as by a crash: only shut down, it would keep the rest unread.
        try breakOff()
        // Until the receiver has noticed it says that the last download is on its way.
        #expect(await bench.eventually { (try? bench.request("GET", path).body) == content })
        #expect(await bench.eventually { (try? bench.request("GET", path).status) == 410 })
        await bench.receiver.stop()
    }

    @Test("does not stand in the log")
    func masked() {
        #expect(ShareLink.masked("/.martlet-share/0123456789abcdef/f") == "/.martlet-share/-/f")
        #expect(ShareLink.masked("//.martlet-share//0123/f") == "/.martlet-share/-/f")
        #expect(ShareLink.masked("/a/b") == "/a/b")
        let token = UploadName().id
        for path in [
            "/martlet-share/\(token)/f", "/.martlet-share\(token)/f", "/.Martlet-Share/\(token)/f",
            "/.martlet_share/\(token)",
            "/x/.martlet-share/\(token)/f", "/\(token)/f", "/.martlet-shar/\(token.dropLast(4))/f",
            "/.martlet-share/\(token)f",
            "/.martlet-share%2F\(token)%2Ff", "/d/\(token)x/", "/.martlet-share/%\(token)/f", "/" + token.uppercased(),
        ] {
            #expect(!ShareLink.masked(path).lowercased().contains(token.prefix(20)), "\(ShareLink.masked(path))")
        }
        // Mistyped behind the token, or before it.
        #expect(ShareLink.masked("/.martlet-share/0123/100%") == "/.martlet-share/-")
        #expect(ShareLink.masked("/./.martlet-share/0123/f") == "/.martlet-share/-")
        #expect(ShareLink.masked("/a%") == "/a%")
        #expect(ShareLink.masked("/%2emartlet-share/0123/f") == "/.martlet-share/-/f")
    }
}
