import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("A link")
struct ShareTests {
    @Test("counts downloads that arrive, however many requests they take")
    func counting() {
        var share = Share(expires: nil, downloads: 2)
        #expect(share.requested(reachesEnd: false, by: "a", now: 0) == .serve(counts: false))
        #expect(share.requested(reachesEnd: true, by: "a", now: 0) == .serve(counts: true))
        share.ended(arrived: false)
        #expect(share.requested(reachesEnd: true, by: "a", now: 0) == .serve(counts: true))
        #expect(share.requested(reachesEnd: true, by: "a", now: 0) == .serve(counts: true))
        #expect(share.requested(reachesEnd: true, by: "a", now: 0) == .busy)
        share.ended(arrived: true)
        share.ended(arrived: true)
        #expect(share.requested(reachesEnd: false, by: "b", now: 0) == .gone)
    }

    @Test("lets who has the last download fetch its other parts, before and after the last byte, and nobody else")
    func parts() {
        var share = Share(expires: nil, downloads: 1)
        #expect(share.requested(reachesEnd: true, by: "a", now: 0) == .serve(counts: true))
        #expect(share.requested(reachesEnd: false, by: "a", now: 1) == .serve(counts: false))
        #expect(share.requested(reachesEnd: false, by: "b", now: 1) == .busy)
        #expect(share.requested(reachesEnd: true, by: "a", now: 1) == .busy)
        share.ended(arrived: true)
        #expect(share.requested(reachesEnd: false, by: "a", now: 3000) == .serve(counts: false))
        #expect(share.requested(reachesEnd: false, by: "a", now: 6000) == .serve(counts: false))
        #expect(share.requested(reachesEnd: true, by: "a", now: 6000) == .gone)
        #expect(share.requested(reachesEnd: false, by: "b", now: 6000) == .gone)
        #expect(share.requested(reachesEnd: false, by: "a", now: 9601) == .gone)
    }

    @Test("ends at its time")
    func expiry() {
        var share = Share(expires: 100, downloads: nil)
        #expect(share.requested(reachesEnd: true, by: "a", now: 99) == .serve(counts: false))
        #expect(share.requested(reachesEnd: true, by: "a", now: 100) == .gone)
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
        let client = try bench.client()
        client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(client.read().count > 0)
        client.reset()
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
        // Mistyped behind the token, or before it.
        #expect(ShareLink.masked("/.martlet-share/0123/100%") == "/.martlet-share/-")
        #expect(ShareLink.masked("/./.martlet-share/0123/f") == "/.martlet-share/-")
        #expect(ShareLink.masked("/a%") == "/a%")
        #expect(ShareLink.masked("/%2emartlet-share/0123/f") == "/.martlet-share/-/f")
    }
}
