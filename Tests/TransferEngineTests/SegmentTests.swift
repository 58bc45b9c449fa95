// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Several connections for one file")
struct SegmentTests {
    private let file = Served(length: 8 << 20)

    private func begin(_ stage: Stage, _ policy: DownloadOptions.ConnectionPolicy) throws -> TransferID {
        let id = try stage.add("http://a/f") { $0.connections = policy }
        try self.file.head(stage.exchange())
        return id
    }

    /// Gives every open exchange bytes by its range until nothing is open.
    private func serveAll(_ stage: Stage, from offsets: [ObjectIdentifier: Int64] = [:]) {
        while let exchange = stage.open.first {
            if let offset = offsets[ObjectIdentifier(exchange)] {
                exchange.body(self.file.pattern, offset..<(self.file.asked(exchange)?.upperBound ?? self.file.length))
                if !exchange.hasEnded { exchange.end() }
            } else {
                self.file.answer(exchange)
            }
        }
    }

    @Test("fixed(4) opens four exchanges once ranges are known to work, with disjoint ranges")
    func fixed() throws {
        let stage = Stage(lanes: 2)
        let id = try self.begin(stage, .fixed(4))
        #expect(stage.open.count == 4)
        let ranges = stage.open.compactMap { self.file.asked($0) }
        #expect(ranges.count == 3)
        #expect(Set(ranges.map(\.lowerBound)).count == 3)
        try self.serveAll(stage, from: [ObjectIdentifier(stage.exchange()): 0])
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(self.file))
        #expect(stage.completion(id)?.bytes == self.file.length)
    }

    @Test("a server that does not report range support gets one connection")
    func silent() throws {
        let stage = Stage()
        var file = self.file
        file.doesRanges = false
        try stage.add("http://a/f") { $0.connections = .fixed(4) }
        try file.head(stage.exchange())
        #expect(stage.open.count == 1)
    }

    @Test("a connection that is done takes half of what another has left")
    func stealing() throws {
        let stage = Stage()
        let id = try self.begin(stage, .fixed(2))
        #expect(stage.open.count == 2)
        let first = try stage.exchange()
        try self.file.answer(stage.exchange(1))
        #expect(stage.open.count == 2)
        #expect(self.file.asked(try stage.exchange(1)).map { $0.upperBound <= 4 << 20 } == true)
        self.serveAll(stage, from: [ObjectIdentifier(first): 0])
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(self.file))
        #expect(stage.store.counts.writtenBytes == self.file.length)
    }

    @Test("the piece of a connection that dies is taken over, and no byte is fetched twice")
    func death() throws {
        let stage = Stage()
        let id = try self.begin(stage, .fixed(4))
        let first = try stage.exchange()
        try self.file.answer(stage.exchange(2), cutAfter: 50_000)
        self.serveAll(stage, from: [ObjectIdentifier(first): 0])
        #expect(stage.end(id) == "finished")
        #expect(stage.words(id).contains("retrying") == false)
        #expect(stage.holds(self.file))
        #expect(stage.store.counts.writtenBytes == self.file.length)
    }

    @Test("one that is refused costs the others nothing")
    func refused() throws {
        let stage = Stage()
        let id = try self.begin(stage, .fixed(4))
        let first = try stage.exchange()
        try stage.exchange(3).respond(503, ["Content-Length": "0"])
        try stage.exchange(2).end()
        for exchange in stage.open where exchange !== first { if !exchange.hasEnded { self.file.answer(exchange) } }
        self.serveAll(stage, from: [ObjectIdentifier(first): 0])
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(self.file))
    }

    @Test("a connection slower than a tenth of the others for five seconds is given up")
    func slow() throws {
        let stage = Stage()
        let id = try self.begin(stage, .fixed(3))
        let exchanges = stage.open
        var offsets: [ObjectIdentifier: Int64] = [ObjectIdentifier(exchanges[0]): 0]
        for exchange in exchanges.dropFirst() {
            offsets[ObjectIdentifier(exchange)] = self.file.asked(exchange)?.lowerBound
            self.file.head(exchange)
        }
        for _ in 0..<40 where !exchanges[2].hasEnded {
            for (index, exchange) in exchanges.enumerated() {
                let key = ObjectIdentifier(exchange)
                let from = offsets[key] ?? 0
                let count: Int64 = index == 2 ? 10 : 20_000
                exchange.body(self.file.pattern, from..<from + count)
                offsets[key] = from + count
            }
            stage.clock.advance(by: .milliseconds(200))
        }
        #expect(exchanges[2].isCancelled)
        self.serveAll(stage, from: offsets)
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(self.file))
    }

    @Test("adaptive begins with one and adds another only while that helps")
    func adaptive() throws {
        let stage = Stage()
        _ = try self.begin(stage, .adaptive(most: 4))
        #expect(stage.open.count == 1)
        let first = try stage.exchange()
        var offset: Int64 = 0
        // One connection flows at 500 kB/s: a second one is tried.
        for _ in 0..<10 where stage.open.count == 1 {
            first.body(self.file.pattern, offset..<offset + 100_000)
            offset += 100_000
            stage.clock.advance(by: .milliseconds(200))
        }
        #expect(stage.open.count == 2)
        let second = try stage.exchange(1)
        self.file.head(second)
        var other = try #require(self.file.asked(second)?.lowerBound)
        // The two share the same 500 kB/s: the second is given up, and no third is tried.
        for _ in 0..<30 {
            first.body(self.file.pattern, offset..<offset + 50_000)
            offset += 50_000
            if !second.isCancelled {
                second.body(self.file.pattern, other..<other + 50_000)
                other += 50_000
            }
            stage.clock.advance(by: .milliseconds(200))
        }
        #expect(stage.transport.exchanges.count == 2)
        #expect(second.isCancelled && !first.isCancelled && stage.open.count == 1)
    }
}

@Suite("Mirrors")
struct MirrorTests {
    private let file = Served(length: 8 << 20)

    @Test("a mirror with equal entity tag, Last-Modified and length is used beside the first source")
    func agreeing() throws {
        let stage = Stage()
        var file = self.file
        file.modified = "Tue, 01 Jul 2025 10:00:00 GMT"
        let id = try stage.add("http://a/f", "http://b/f") { $0.connections = .fixed(2) }
        let first = try stage.exchange()
        file.head(first)
        let second = try stage.exchange(1)
        #expect(second.request.url.redacted == "http://b/f")
        #expect(second["If-Range"] == nil)
        file.answer(second)
        first.body(file.pattern, 0..<file.length)
        while let exchange = stage.open.first {
            if exchange === first { first.end() } else { file.answer(exchange) }
        }
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(file))
        #expect(stage.completion(id)?.consistency == .entityTag)
    }

    @Test("a mirror that nothing shows to have the same version continues the file only where no other source can")
    func fallback() throws {
        let stage = Stage()
        let file = self.file
        let id = try stage.add("http://a/f", "http://b/f") { $0.connections = .fixed(2) }
        let first = try stage.exchange()
        file.head(first)
        var mirror = file
        mirror.tag = "\"mirror\""
        let beside = try stage.exchange(1)
        mirror.answer(beside)
        #expect(beside.isCancelled)
        #expect(stage.open.allSatisfy { $0.request.url.redacted == "http://a/f" })
        first.body(file.pattern, 0..<1_000_000)
        for exchange in stage.open { exchange.fail(TransportError(.reset, "gone")) }
        let last = try stage.exchange()
        #expect(last.request.url.redacted == "http://b/f")
        #expect(last["Range"] == "bytes=934464-4194303")
        while let exchange = stage.open.first { mirror.answer(exchange) }
        stage.run(until: id, timers: 500)
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(file))
        #expect(stage.completion(id)?.consistency == .overlap)
    }

    @Test("a mirror that disagrees, in bytes or length or by not doing ranges, is dropped", arguments: 0..<3)
    func disagreeing(way: Int) throws {
        let stage = Stage()
        let id = try stage.add("http://a/f", "http://b/f") { $0.connections = .fixed(2) }
        let first = try stage.exchange()
        self.file.head(first)
        first.body(self.file.pattern, 0..<1_000_000)
        stage.clock.advance(by: .milliseconds(200))
        var mirror = self.file
        if way == 0 { mirror.pattern = TestPattern(seed: 99) }
        if way == 1 { mirror.length += 1 }
        if way == 2 { mirror.doesRanges = false }
        mirror.answer(try #require(stage.open.dropFirst().first))
        for exchange in stage.open { #expect(exchange.request.url.redacted == "http://a/f") }
        var own = self.file
        own.tag = "\"one\""
        let rest = stage.open.dropFirst()
        for exchange in rest { own.answer(exchange) }
        first.body(self.file.pattern, 1_000_000..<self.file.length)
        while let exchange = stage.open.first { if exchange === first { first.end() } else { own.answer(exchange) } }
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(self.file))
    }

    @Test("mirrors that ignore ranges are not asked without an end")
    func ignoringRanges() throws {
        let stage = Stage()
        let file = self.file
        let digest = ExpectedDigest(
            algorithm: .sha256,
            bytes: MemoryStore.toyDigest(.sha256, file.bytes),
            source: "--checksum"
        )
        let id = try stage.add("http://a/f", "http://b/f", "http://c/f", expected: [digest]) {
            $0.connections = .adaptive(most: 4)
        }
        let first = try stage.exchange()
        file.head(first)
        first.body(file.pattern, 0..<3_000_000)
        var whole = file
        whole.doesRanges = false
        for _ in 0..<40 {
            guard let exchange = stage.open.first(where: { $0 !== first }) else { break }
            whole.answer(exchange)
            if stage.transport.exchanges.count > 30 { break }
        }
        #expect(stage.transport.exchanges.count < 10, "\(stage.transport.exchanges.count) requests")
        if !first.hasEnded {
            first.body(file.pattern, 3_000_000..<file.length)
            if !first.hasEnded { first.end() }
        }
        while let exchange = stage.open.first { whole.answer(exchange) }
        #expect(stage.end(id) == "finished")
    }

    @Test("if the first source breaks at once, the mirror provides the file", arguments: [0, 100, 900_000])
    func failover(cut: Int64) throws {
        let stage = Stage()
        let file = self.file
        stage.transport.onStart { exchange in
            if exchange.request.url.redacted == "http://a/f" {
                file.answer(exchange, cutAfter: cut)
            } else {
                var mirror = file
                mirror.tag = "\"mirror\""
                mirror.answer(exchange)
            }
        }
        let id = try stage.add("http://a/f", "http://b/f") { $0.retries = 4 }
        stage.run(until: id, timers: 3000)
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(file))
    }
}
