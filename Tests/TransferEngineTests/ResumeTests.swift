// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Going on with what is there")
struct ResumeTests {
    private let file = Served(length: Served.large)

    /// A transfer of which 1,000,000 bytes are there and whose second attempt has just begun.
    private func interrupted(_ stage: Stage, _ file: Served) throws -> TransferID {
        let id = try stage.add("http://a/f")
        try file.answer(stage.exchange(), cutAfter: 1_000_000)
        stage.clock.advance(by: .seconds(31))
        return id
    }

    @Test("a strong entity tag is sent in If-Range, a weak one never")
    func validator() throws {
        let stage = Stage()
        let id = try self.interrupted(stage, self.file)
        #expect(try stage.exchange()["If-Range"] == "\"one\"")
        #expect(try stage.exchange()["Range"] == "bytes=1000000-")
        try self.file.answer(stage.exchange())
        #expect(stage.holds(self.file))
        #expect(stage.completion(id)?.received == self.file.length)
    }

    @Test("one that is cancelled as it begins leaves its partial file alone: the next one may have it already")
    func cancelledAtItsBeginning() throws {
        let stage = Stage(releasesNames: true)
        let first = try self.interrupted(stage, self.file)
        stage.engine.cancel(first, keeping: true)
        let keeps = stage.store.counts.keeps
        let observation = stage.engine.observe(.states) { [weak engine = stage.engine] event in
            if case .started = event.kind, let id = event.id { engine?.cancel(id, keeping: true) }
        }
        let second = try stage.add("http://a/f")
        #expect(stage.end(second) == "cancelled")
        #expect(stage.store.counts.keeps == keeps, "it was not opened")
        observation.cancel()
        _ = try stage.add("http://a/f")
        #expect(try stage.exchange()["Range"] == "bytes=1000000-")
        try self.file.answer(stage.exchange())
        #expect(stage.holds(self.file))
    }

    @Test("of two partial files that a kill has left, the longer one is continued")
    func longerOfTwo() throws {
        for second in [500_001, 499_999] as [Int64] {
            let stage = Stage()
            let facts = ResourceFacts(url: "http://a/f", length: self.file.length, entityTag: "\"one\"")
            for (name, count) in [("f", 500_000), ("f.martlet-new", second)] {
                let bytes = Array(self.file.bytes.prefix(Int(count)))
                stage.store.add(.init(bytes: bytes, extents: [0..<count], facts: facts), at: name)
            }
            _ = try stage.add("http://a/f")
            #expect(try stage.exchange()["Range"] == "bytes=\(max(second, 500_000))-")
            try self.file.answer(stage.exchange())
            #expect(stage.holds(self.file))
            #expect(stage.store.partials.isEmpty)
        }
    }

    @Test("without a strong validator the response itself begins with 64 KiB that are compared")
    func comparison() throws {
        let stage = Stage()
        var weak = self.file
        weak.tag = "W/\"one\""
        let id = try self.interrupted(stage, weak)
        #expect(try stage.exchange()["Range"] == "bytes=934464-")
        #expect(try stage.exchange()["If-Range"] == nil)
        try weak.answer(stage.exchange())
        #expect(stage.holds(weak))
        #expect(stage.completion(id)?.consistency == .overlap)
        #expect(stage.completion(id)?.verified == false)
    }

    @Test("nothing is fetched beside a comparison, however often the clock ticks")
    func comparisonAlone() throws {
        let stage = Stage()
        var weak = self.file
        weak.tag = "W/\"one\""
        let id = try stage.add("http://a/f") { $0.connections = .fixed(4) }
        try weak.head(stage.exchange())
        try stage.exchange().body(weak.pattern, 0..<1_000_000)
        stage.engine.pause(id)
        stage.engine.resume(id)
        #expect(stage.open.count == 1)
        stage.clock.advance(by: .seconds(3))
        #expect(stage.open.count == 1)
    }

    @Test("bytes that disagree start over")
    func disagreement() throws {
        let stage = Stage()
        var old = self.file
        old.tag = nil
        old.modified = nil
        _ = try self.interrupted(stage, old)
        var new = old
        new.pattern = TestPattern(seed: 8)
        try new.answer(stage.exchange())
        try new.answer(stage.exchange())
        #expect(stage.holds(new))
    }

    @Test("a changed entity tag starts over and fetches the new file")
    func changed() throws {
        let stage = Stage()
        let id = try self.interrupted(stage, self.file)
        var new = self.file
        new.tag = "\"two\""
        new.pattern = TestPattern(seed: 9)
        try new.answer(stage.exchange())
        while let exchange = stage.open.first { new.answer(exchange) }
        #expect(stage.end(id) == "finished")
        #expect(stage.holds(new))
    }

    @Test(
        "(b') a tag that differs between nodes is compared if Last-Modified agrees; else the file fails",
        arguments: [true, false]
    )
    func worthlessTags(hasDate: Bool) throws {
        let stage = Stage()
        var file = self.file
        file.modified = hasDate ? "Tue, 01 Jul 2025 10:00:00 GMT" : nil
        let original = file
        stage.transport.onStart { exchange in
            var served = original
            served.tag = "\"\(exchange.request.url.redacted)-\(stage.transport.exchanges.count)\""
            served.answer(exchange, cutAfter: 900_000)
        }
        let id = try stage.add("http://a/f")
        stage.run(until: id)
        if hasDate {
            #expect(stage.holds(file))
            #expect(stage.completion(id)?.consistency == .overlap)
        } else {
            #expect(stage.failure(id)?.code == .badResponse)
            #expect(stage.failure(id)?.message.contains("several versions") == true)
        }
    }

    @Test("200 instead of 206 is written from 0 into a new file")
    func whole() throws {
        let stage = Stage()
        _ = try self.interrupted(stage, self.file)
        var without = self.file
        without.doesRanges = false
        without.tag = "\"two\""
        without.pattern = TestPattern(seed: 10)
        try without.answer(stage.exchange())
        while let exchange = stage.open.first { without.answer(exchange) }
        #expect(stage.holds(without))
    }

    @Test("416 proves nothing: the last bytes are requested, and show whether the file is complete")
    func notSatisfiable() throws {
        for total in [Int64(2_000_000), 2_500_000] {
            let stage = Stage()
            let facts = ResourceFacts(url: "http://a/f", entityTag: "\"one\"")
            let there = self.file.pattern.bytes(0..<2_000_000)
            stage.store.add(MemoryStore.Partial(bytes: there, extents: [0..<2_000_000], facts: facts), at: "f")
            var served = self.file
            served.length = total
            let id = try stage.add("http://a/f")
            #expect(try stage.exchange()["Range"] == "bytes=1999999-")
            while let exchange = stage.open.first { served.answer(exchange) }
            #expect(stage.end(id) == "finished")
            #expect(stage.holds(served))
        }
    }

    @Test("a body of unknown length is complete at its end; one that ended by close is not verified")
    func unknownLength() throws {
        for framing in [BodyFraming.chunked, .untilClose] {
            let stage = Stage()
            let id = try stage.add("http://a/f")
            try stage.exchange().respond(200, [:], framing: framing)
            try stage.exchange().body(self.file.pattern, 0..<100_000)
            try stage.exchange().end(cleanly: framing == .chunked)
            #expect(stage.completion(id)?.bytes == 100_000)
            #expect(stage.completion(id)?.verifiedLength == (framing == .chunked))
            #expect(stage.holds(Served(length: 100_000)))
        }
    }

    @Test("files up to 256 KiB of declared length go without a journal; up to 1 MiB they are not synced")
    func journals() throws {
        let stage = Stage()
        try stage.add("http://a/f")
        try Served(length: 256 << 10).answer(stage.exchange())
        #expect(stage.store.counts.partialFiles == 0)
        #expect(stage.store.counts.smallFiles == 1)
        try stage.add("http://a/g")
        try Served(length: 1 << 20).answer(stage.exchange())
        #expect(stage.store.counts.partialFiles == 1)
        #expect(stage.store.counts.syncedCommits == 0)
        try stage.add("http://a/h")
        try Served(length: (1 << 20) + 1).answer(stage.exchange())
        #expect(stage.store.counts.partialFiles == 2)
        #expect(stage.store.counts.syncedCommits == 1)
    }

    @Test("what arrived of a small file outlasts a failed attempt")
    func smallFile() throws {
        let stage = Stage()
        let file = Served(length: 100_000)
        let id = try stage.add("http://a/f")
        try file.answer(stage.exchange(), cutAfter: 60_000)
        stage.clock.advance(by: .seconds(31))
        #expect(try stage.exchange()["Range"] == "bytes=60000-")
        try file.answer(stage.exchange())
        #expect(stage.holds(file))
        #expect(stage.completion(id)?.received == file.length)
    }

    @Test("200 to Range with If-Range, with the same validator: once more without If-Range")
    func ifRangeNotImplemented() throws {
        let stage = Stage()
        let id = try self.interrupted(stage, self.file)
        let first = try stage.exchange()
        #expect(first["If-Range"] == "\"one\"")
        first.respond(
            200,
            ["ETag": "\"one\"", "Content-Length": "\(self.file.length)"],
            framing: .length(self.file.length)
        )
        #expect(first.isCancelled)
        #expect(try stage.exchange()["Range"] == "bytes=1000000-")
        #expect(try stage.exchange()["If-Range"] == nil)
        try self.file.answer(stage.exchange())
        #expect(stage.holds(self.file))
        #expect(stage.completion(id)?.consistency == .entityTag)
    }

    @Test("a 200 of the same version to a range alone: what is held is passed over, not deleted")
    func passedOver() throws {
        let stage = Stage()
        _ = try self.interrupted(stage, self.file)
        var without = self.file
        without.doesRanges = false
        try without.answer(stage.exchange())
        let second = try stage.exchange()
        without.head(second)
        second.body(self.file.pattern, 0..<500_000)
        #expect(stage.store.partials["f"]?.extents == [0..<1_000_000])
        second.body(self.file.pattern, 500_000..<self.file.length)
        second.end()
        #expect(stage.holds(self.file))
    }

    @Test("a login page in place of the rest is an error that keeps the bytes")
    func captivePortal() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f") { $0.retries = 1 }
        var file = self.file
        file.fields = { _ in ["Content-Type": "application/zip"] }
        try file.answer(stage.exchange(), cutAfter: 1_000_000)
        for _ in 0..<2 {
            stage.clock.advance(by: .seconds(31))
            guard stage.end(id) == nil else { break }
            let exchange = try stage.exchange()
            exchange.respond(200, ["Content-Type": "text/html", "Content-Length": "39"], framing: .length(39))
        }
        #expect(stage.failure(id)?.message.contains("text/html") == true)
        #expect(stage.store.partials["f"]?.extents == [0..<1_000_000])
    }

    @Test(
        "a 200 that may be the file but proves nothing goes to a second partial file; the longer one stays",
        arguments: [900_000, 1_100_000, Served.large]
    )
    func beside(arrived: Int64) throws {
        let stage = Stage(releasesNames: true)
        let id = try stage.add("http://a/f") { $0.retries = 0 }
        try self.file.answer(stage.exchange(), cutAfter: 1_000_000)
        #expect(stage.end(id) == "failed")
        var other = self.file
        other.tag = nil
        other.doesRanges = false
        other.pattern = TestPattern(seed: 12)
        let second = try stage.add("http://a/f") { $0.retries = 0 }
        // With If-Range first, then a range to compare.
        try other.answer(stage.exchange())
        try other.answer(stage.exchange(), cutAfter: arrived)
        if arrived == Served.large {
            #expect(stage.holds(other))
            #expect(stage.completion(second)?.consistency == .singleResponse)
            #expect(stage.store.partials.isEmpty)
        } else {
            #expect(stage.failure(second) != nil)
            #expect(stage.store.partials.count == 1)
            let kept = try #require(stage.store.partials["f"])
            #expect(kept.extents == [0..<max(1_000_000, arrived)])
            let pattern = arrived < 1_000_000 ? self.file.pattern : other.pattern
            let isWhole = kept.bytes == pattern.bytes(0..<max(1_000_000, arrived))
            #expect(isWhole)
        }
    }

    @Test("A, B, A: a single response, restarted when it breaks, then an error that names both validators")
    func alternation() throws {
        let stage = Stage()
        let file = self.file
        stage.transport.onStart { exchange in
            var served = file
            let isSecond = stage.transport.exchanges.count % 2 == 0
            served.tag = isSecond ? "\"b\"" : "\"a\""
            served.pattern = TestPattern(seed: isSecond ? 21 : 20)
            served.answer(exchange, cutAfter: 1_000_000)
        }
        let id = try stage.add("http://a/f")
        stage.run(until: id)
        let message = stage.failure(id)?.message ?? ""
        #expect(message.contains("\"a\"") && message.contains("\"b\""), "\(message)")
        #expect(stage.store.partials["f"]?.facts.isUnreliable == true)
        #expect(stage.transport.exchanges.count < 40)
    }

    @Test("an alternating source: refused connections are no restarts")
    func alternationInOutage() throws {
        let stage = Stage()
        let file = self.file
        stage.transport.onStart { exchange in
            let count = stage.transport.exchanges.count
            if (4..<14).contains(count) { return exchange.fail(TransportError(.refused, "refused")) }
            var served = file
            let isSecond = count == 2
            served.tag = isSecond ? "\"b\"" : "\"a\""
            served.pattern = TestPattern(seed: isSecond ? 21 : 20)
            served.answer(exchange, cutAfter: count < 14 ? 1_000_000 : .max)
        }
        let id = try stage.add("http://a/f") { $0.outageTimeout = .seconds(3600) }
        stage.run(until: id)
        #expect(stage.end(id) == "finished", "\(stage.failure(id)?.message ?? "")")
        #expect(stage.transport.exchanges.count > 13)
    }

    @Test("a difference is final: a 200 that repeats the old validator replaces the bytes, also for the next process")
    func difference() throws {
        let stage = Stage()
        var changed = self.file
        changed.pattern = TestPattern(seed: 8)
        var silent = changed
        silent.tag = nil
        let id = try self.interrupted(stage, self.file)
        // Without validators the condition fails; then the range is compared.
        try silent.answer(stage.exchange())
        #expect(try stage.exchange()["Range"] == "bytes=934464-")
        try silent.answer(stage.exchange())
        #expect(try stage.exchange()["Range"] == nil)
        #expect(stage.store.partials["f"]?.facts.isContradicted == true)
        #expect(stage.store.counts.checkpoints == 1)
        stage.engine.cancel(id, keeping: true)
        #expect(stage.store.partials["f"]?.bytes.isEmpty == false)
        let next = Stage(store: stage.store)
        let second = try next.add("http://a/f")
        #expect(try next.exchange()["Range"] == nil)
        try changed.answer(next.exchange())
        #expect(next.holds(changed))
        #expect(next.completion(second)?.consistency == .singleResponse)
    }

    @Test("a whole response that repeats the old validator is compared while its beginning is skipped")
    func differenceInPassing() throws {
        let stage = Stage()
        var old = self.file
        old.doesRanges = false
        let id = try self.interrupted(stage, old)
        var changed = old
        changed.pattern = TestPattern(seed: 8)
        // To the request with If-Range, to that without it, and to that for the whole.
        for _ in 0..<3 { try changed.answer(stage.exchange()) }
        #expect(stage.holds(changed))
        #expect(stage.completion(id)?.consistency == .singleResponse)
    }

    @Test("a file whose digest disagrees fails and does not get its name")
    func digest() throws {
        let stage = Stage()
        let wrong = ExpectedDigest(algorithm: .sha256, bytes: Array(repeating: 0, count: 32), source: "the user")
        let url = try HTTPURL("http://a/f")
        let id = try stage.engine.add(DownloadRequest([url], expected: [wrong]))
        try Served(length: 100).answer(stage.exchange())
        #expect(stage.failure(id)?.code == .checksumMismatch)
        #expect(stage.store.files["f"] == nil)
    }

    @Test("a full disk fails the transfer and keeps what is there")
    func noSpace() throws {
        let stage = Stage()
        stage.store.failWrites(after: 200_000)
        let id = try stage.add("http://a/f")
        try self.file.answer(stage.exchange())
        #expect(stage.failure(id)?.code == .noSpace)
        #expect(stage.store.partials["f"] != nil)
        #expect(stage.open.isEmpty)
    }
}
