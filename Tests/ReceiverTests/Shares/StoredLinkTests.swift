// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

@Suite("Stored links")
struct StoredLinkTests {
    private static let content = TestPattern(seed: 3).bytes(0..<300_000)

    /// A receiver of a directory with a file `f`, whose links are stored in another directory.
    private func bench(
        _ directory: TemporaryDirectory,
        _ store: TemporaryDirectory,
        name: String = "a",
        _ change: (inout ReceiverConfiguration) -> Void = { _ in }
    ) async throws -> ReceiverBench {
        try await ReceiverBench(in: directory) {
            $0.linkStore = store.path(name + StoredLinks.suffix)
            $0.takesUploads = false
            change(&$0)
        }
    }

    private func offer(_ directory: TemporaryDirectory, count: Int? = 3, lifetime: Duration? = nil) -> [ShareOffer] {
        [ShareOffer(path: directory.path("f"), lifetime: lifetime, downloads: count)]
    }

    /// Starts a receiver with what a crash of another one would leave: the file of the links at this moment.
    private func crashed(
        _ directory: TemporaryDirectory,
        _ store: TemporaryDirectory,
        from: String,
        to name: String,
        _ change: (inout ReceiverConfiguration) -> Void
    ) async throws -> ReceiverBench {
        try store.write(try store.read(from + StoredLinks.suffix), to: name + StoredLinks.suffix)
        return try await self.bench(directory, store, name: name, change)
    }

    @Test("keep their count and expiry across restarts, and are the same for the same offer")
    func restarts() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        var path: String?
        for round in 0..<4 {
            let bench = try await self.bench(directory, store) {
                $0.shares = self.offer(directory, lifetime: .seconds(1000))
            }
            let link = try #require(bench.receiver.sharePaths.first)
            if round < 3 {
                #expect(path == nil || path == link)
                path = link
                #expect(try bench.request("GET", link).body == Self.content)
            } else {
                // Used up: it is gone, and the offer gets another one.
                #expect(path != link)
                #expect(try bench.request("GET", try #require(path)).status == 410)
            }
            await bench.receiver.stop()
        }
        #expect(TemporaryDirectory.permissions(of: store.path("a.links")) == 0o600)
        let items = try StoredLinks.list(in: store.path)
        #expect(items.map(\.completed).sorted() == [0, 3])
        #expect(items.allSatisfy { $0.limit == 3 && $0.end.hasPrefix("until ") })
        #expect(items.map(\.file) == [directory.path("f"), directory.path("f")])
    }

    @Test("give no more copies if the receiver dies between and during downloads")
    func crashes() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        let change = { (configuration: inout ReceiverConfiguration) in configuration.shares = self.offer(directory) }
        var bench = try await self.bench(directory, store, name: "0", change)
        let link = try #require(bench.receiver.sharePaths.first)
        var copies = 0
        for round in 1...8 {
            let answer = try bench.request("GET", link)
            if answer.body == Self.content { copies += 1 } else { #expect(answer.status == 410) }
            let next = try await self.crashed(directory, store, from: "\(round - 1)", to: "\(round)", change)
            await bench.receiver.stop()
            bench = next
            // The offer of a link that is used up gets another one.
            if copies < 3 { #expect(bench.receiver.sharePaths == [link]) }
        }
        #expect(copies == 3)
        await bench.receiver.stop()
    }

    @Test("of concurrent downloads are counted before the first byte")
    func concurrent() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        let bench = try await self.bench(directory, store) { $0.shares = self.offer(directory) }
        let link = try #require(bench.receiver.sharePaths.first)
        let port = bench.receiver.address.port
        let copies = await withTaskGroup(of: Bool.self) { group in
            for host in UInt8(2)...13 {
                group.addTask {
                    await onThread {
                        let client = try? RawClient(port: port, from: host)
                        return (try? client?.request("GET", link).body) == Self.content
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(copies == 3)
        let other = try await self.crashed(directory, store, from: "a", to: "b") { $0.shares = [] }
        #expect(try StoredLinks.list(in: store.path).map(\.limit) == [3, 3])
        await other.receiver.stop()
        await bench.receiver.stop()
    }

    @Test("let an interrupted download continue after a crash, without its cookie")
    func resumed() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        let content = [UInt8](repeating: 7, count: 32_000_000)
        try directory.write(content, to: "f")
        let change = { (configuration: inout ReceiverConfiguration) in
            configuration.shares = self.offer(directory, count: 1)
        }
        let bench = try await self.bench(directory, store, change)
        let link = try #require(bench.receiver.sharePaths.first)
        let client = try RawClient(port: bench.receiver.address.port, receiveBuffer: 65536)
        client.send("GET \(link) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var got: [UInt8] = []
        while got.count < 1_000_000 { got += client.read() }
        let next = try await self.crashed(directory, store, from: "a", to: "b", change)
        #expect(next.receiver.sharePaths == [link])
        let rest = try next.request("GET", link, [("Range", "bytes=900000-")])
        #expect(rest.status == 206 && rest.body == Array(content[900_000...]))
        let again = [("Range", "bytes=900000-")]
        #expect(await next.eventually { (try? next.request("GET", link, again).status) == 410 })
        client.reset()
        await bench.receiver.stop()
        await next.receiver.stop()
    }

    @Test("are for the file that was shared: one that was replaced gets another link, one that was edited the same")
    func replaced() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        func link() async throws -> String {
            let bench = try await self.bench(directory, store) { $0.shares = self.offer(directory) }
            let link = try #require(bench.receiver.sharePaths.first)
            await bench.receiver.stop()
            return link
        }
        let first = try await link()
        let descriptor = open(directory.path("f"), O_WRONLY | O_APPEND)
        #expect(write(descriptor, "x", 1) == 1)
        close(descriptor)
        #expect(try await link() == first)
        try directory.write([1], to: "g")
        #expect(rename(directory.path("g"), directory.path("f")) == 0)
        let second = try await link()
        #expect(second != first)
        let bench = try await self.bench(directory, store) { $0.shares = self.offer(directory) }
        #expect(try bench.request("GET", first).status == 410)
        #expect(try bench.request("GET", second).body == [1])
        await bench.receiver.stop()
        // An unoffered file is not shared.
        let without = try await self.bench(directory, store)
        #expect(try without.request("GET", second).status == 404)
        await without.receiver.stop()
    }

    @Test("have the name that the user gave the file, which may be a symlink")
    func named() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "v1")
        #expect(symlink("v1", directory.path("latest")) == 0 && mkdir(directory.path("d"), 0o700) == 0)
        var links: Set<String> = []
        for path in ["latest", "d/../latest", "./latest"] {
            let bench = try await self.bench(directory, store) { $0.shares = [ShareOffer(path: directory.path(path))] }
            let link = try #require(bench.receiver.sharePaths.first)
            #expect(link.hasSuffix("/latest"))
            #expect(try bench.request("GET", link).body == Self.content)
            links.insert(link)
            await bench.receiver.stop()
        }
        #expect(links.count == 1)
        #expect(try StoredLinks.list(in: store.path).map(\.file) == [directory.path("latest")])
    }

    @Test("are revoked by another process while the receiver runs, and stay revoked")
    func revoked() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        let bench = try await self.bench(directory, store) { $0.shares = self.offer(directory, count: nil) }
        let link = try #require(bench.receiver.sharePaths.first)
        #expect(try bench.request("GET", link).status == 200)
        #expect(try !StoredLinks.revoke("x", in: store.path))
        #expect(try StoredLinks.revoke("http://localhost:1\(link)", in: store.path))
        #expect(try bench.request("GET", link).status == 410)
        await bench.receiver.stop()
        #expect(try StoredLinks.list(in: store.path).map(\.end) == ["removed"])
        let again = try await self.bench(directory, store) { $0.shares = self.offer(directory, count: nil) }
        #expect(again.receiver.sharePaths != [link])
        #expect(try again.request("GET", link).status == 410)
        await again.receiver.stop()
    }

    @Test("are not served from a damaged file, and not by two receivers")
    func refused() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        let bench = try await self.bench(directory, store) { $0.shares = self.offer(directory) }
        let busy = await #expect(throws: ReceiverError.self) {
            try await self.bench(directory, store) { $0.shares = self.offer(directory) }
        }
        #expect(busy?.code == .busy)
        // Without links it may run.
        let plain = try await self.bench(directory, store)
        #expect(try plain.request("GET", "/f").status == 200)
        let made = try plain.request(
            "POST",
            "/.martlet-share",
            [("Content-Type", "application/json")],
            body: Array("{\"path\":\"/f\"}".utf8)
        )
        #expect(made.status == 503)
        await plain.receiver.stop()
        await bench.receiver.stop()
        var bytes = try store.read("a.links")
        bytes[40] ^= 1
        try store.write(bytes, to: "a.links")
        let damaged = await #expect(throws: ReceiverError.self) { try await self.bench(directory, store) }
        #expect(damaged?.code == .links)
        #expect(damaged?.message.contains("a.links") ?? false)
        #expect(try store.read("a.links") == bytes)
    }

    @Test("are used only if that can be stored")
    func unwritable() async throws {
        let (directory, store) = (try TemporaryDirectory(), try TemporaryDirectory())
        try directory.write(Self.content, to: "f")
        let bench = try await self.bench(directory, store) { $0.shares = self.offer(directory, count: 2) }
        let link = try #require(bench.receiver.sharePaths.first)
        // Neither appended to nor replaced.
        let saved = try store.read("a.links")
        #expect(unlink(store.path("a.links")) == 0 && mkdir(store.path("a.links"), 0o700) == 0)
        #expect(try bench.request("GET", link).status == 503)
        #expect(rmdir(store.path("a.links")) == 0)
        try store.write(saved, to: "a.links")
        for _ in 0..<2 { #expect(await bench.eventually { (try? bench.request("GET", link).body) == Self.content }) }
        #expect(await bench.eventually { (try? bench.request("GET", link).status) == 410 })
        await bench.receiver.stop()
    }

    @Test("that grant nothing are forgotten after a month, and their number is limited")
    func bounded() throws {
        let most = 1000
        var book = LinkBook(most: most)
        let file = FileIdentity(size: 1, modified: 1, changed: nil, device: 0, inode: 1)
        func link(_ number: Int64, lifetime: Int64?) -> StoredLink {
            StoredLink(
                .request,
                path: ["f"],
                file: file,
                created: number,
                lifetime: lifetime.map { .seconds($0) },
                downloads: nil
            )
        }
        for number in 0..<Int64(most) {
            #expect(book.put(link(number, lifetime: number < 100 ? 10 : nil), now: number) != nil)
        }
        // A hundred have expired: there is room for as many.
        for number in 0..<100 { #expect(book.put(link(Int64(number), lifetime: nil), now: 20_000) != nil) }
        #expect(book.put(link(0, lifetime: nil), now: 20_000) == nil)
        #expect(book.entries.count == most)
        var small = LinkBook()
        let expiring = link(0, lifetime: 10)
        #expect(small.put(expiring, now: 0) != nil)
        small.prune(now: 10 + LinkBook.memory - 1)
        #expect(small[expiring.token] != nil)
        small.prune(now: 10 + LinkBook.memory)
        #expect(small[expiring.token] == nil)
        // That it was forgotten is stored, too.
        var read = LinkBook()
        let changes = small.takeChanges()
        #expect(read.apply(try #require(changes)) == true)
        #expect(read.entries.isEmpty)
    }
}

/// Runs blocking work on a separate thread.
private func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        let number = SystemThread.start { continuation.resume(returning: work()) }
        if number != 0 { continuation.resume(returning: work()) }
    }
}
