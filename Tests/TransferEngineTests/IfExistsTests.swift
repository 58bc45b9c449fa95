// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("What is done where the name is taken")
struct IfExistsTests {
    private let date = "Tue, 15 Nov 1994 08:12:31 GMT"
    private let seconds: Int64 = 784_887_151

    private func run(
        _ policy: DownloadOptions.IfExists,
        there: MemoryStore.File,
        file: Served
    ) throws -> (Stage, TransferID) {
        let stage = Stage()
        stage.store.add(there, at: "f.txt")
        stage.transport.onStart { file.answer($0) }
        let id = try stage.add("http://a/f.txt") { $0.ifExists = policy }
        return (stage, id)
    }

    @Test("auto skips a file that agrees by length and time, with one HEAD")
    func autoSkips() throws {
        var file = Served(length: 100)
        file.modified = self.date
        let (stage, id) = try self.run(.auto, there: .init(file.bytes, modified: self.seconds), file: file)
        #expect(stage.completion(id)?.skipped == true)
        #expect(stage.engine.counts.skipped == 1)
        #expect(stage.transport.exchanges.map(\.request.method) == ["HEAD"])
    }

    @Test("auto gives the new file a number where the old one differs")
    func autoNumbers() throws {
        let file = Served(length: 100)
        let (stage, id) = try self.run(.auto, there: .init([1, 2, 3]), file: file)
        #expect(stage.completion(id)?.path == "f (1).txt" || stage.completion(id)?.path != "f.txt")
        #expect(stage.store.files["f.txt"]?.bytes == [1, 2, 3])
        #expect(stage.store.files.count == 2)
    }

    @Test("a name that was taken because the first one was not free is the next attempts' name, too")
    func retriesKeepTheName() throws {
        let stage = Stage()
        stage.store.add(.init([1]), at: "f.txt")
        let id = try stage.add("http://a/f.txt") { $0.ifExists = .rename }
        for _ in 0..<3 {
            try stage.exchange().respond(503, ["Content-Length": "0"])
            stage.clock.advance(by: .seconds(40))
        }
        try Served(length: 100).answer(stage.exchange())
        #expect(stage.completion(id)?.path == "f.1.txt")
        // The end has released it.
        let second = try stage.add("http://a/f.txt") { $0.ifExists = .rename }
        try Served(length: 100).answer(stage.exchange())
        #expect(stage.completion(second)?.path == "f.2.txt")
    }

    @Test("a name that was asked for: another file with it is an error, and stays")
    func exactName() throws {
        let stage = Stage()
        stage.store.add(.init([1, 2, 3]), at: "mine")
        let file = Served(length: 100)
        stage.transport.onStart { file.answer($0) }
        let id = try stage.add("http://a/f.txt", name: "mine", isExact: true)
        #expect(stage.failure(id)?.code == .fileExists)
        #expect(stage.store.files.mapValues(\.bytes) == ["mine": [1, 2, 3]])
    }

    @Test("a name that was asked for: a wrong digest replaces a file of ours, but not one that changes meanwhile")
    func exactNameReplaced() throws {
        for changes in [false, true] {
            let stage = Stage()
            let record = RecordedVersion(entityTag: "\"old\"")
            stage.store.add(.init([1, 2, 3], recorded: record), at: "mine")
            let file = Served(length: 100)
            let digest = MemoryStore.toyDigest(.sha256, file.bytes)
            let expected = ExpectedDigest(algorithm: .sha256, bytes: digest, source: "--checksum")
            let id = try stage.add("http://a/f.txt", name: "mine", isExact: true, expected: [expected])
            let exchange = try stage.exchange()
            if changes { stage.store.add(.init([4], modified: 7), at: "mine") }
            file.answer(exchange)
            if changes {
                #expect(stage.failure(id)?.code == .fileExists)
                #expect(stage.store.files["mine"]?.bytes == [4])
            } else {
                #expect(stage.completion(id)?.path == "mine" && stage.completion(id)?.verified == true)
                #expect(stage.holds(file, at: "mine"))
            }
        }
    }

    @Test("update sends one conditional request; a changed file replaces the old one")
    func update() throws {
        for status in [304, 200] {
            let stage = Stage()
            let record = RecordedVersion(entityTag: "\"old\"")
            stage.store.add(.init([1, 2, 3], recorded: record), at: "f.txt")
            let file = Served(length: 100)
            let id = try stage.add("http://a/f.txt") { $0.ifExists = .update }
            let exchange = try stage.exchange()
            #expect(exchange["If-None-Match"] == "\"old\"" && exchange.request.method == "GET")
            if status == 304 {
                exchange.respond(304, ["ETag": "\"old\""], framing: .none)
                exchange.end()
            } else {
                file.answer(exchange)
            }
            #expect(stage.completion(id)?.unchanged == (status == 304))
            #expect(stage.store.files.count == 1 && stage.transport.exchanges.count == 1)
            if status == 200 { #expect(stage.holds(file, at: "f.txt")) }
        }
    }

    @Test("skip fetches nothing")
    func skip() throws {
        let (stage, id) = try self.run(.skip, there: .init([1]), file: Served(length: 100))
        #expect(stage.completion(id)?.skipped == true)
        #expect(stage.transport.exchanges.isEmpty)
    }

    @Test("rename always takes a number")
    func rename() throws {
        let file = Served(length: 100)
        let (stage, _) = try self.run(.rename, there: .init(file.bytes), file: file)
        #expect(stage.store.files.count == 2)
        #expect(stage.store.files["f.txt"]?.bytes == file.bytes)
    }

    @Test("overwrite replaces the file when the new one is whole, not before")
    func overwrite() throws {
        let file = Served(length: 100)
        let (stage, _) = try self.run(.overwrite, there: .init([1, 2, 3]), file: file)
        #expect(stage.store.files.count == 1 && stage.holds(file, at: "f.txt"))
        let failing = Stage()
        failing.store.add(.init([1, 2, 3]), at: "f.txt")
        failing.transport.onStart { $0.respond(404, ["Content-Length": "0"]) }
        _ = try failing.add("http://a/f.txt") { $0.ifExists = .overwrite }
        #expect(failing.store.files["f.txt"]?.bytes == [1, 2, 3])
    }

    @Test("fail fails")
    func fail() throws {
        let (stage, id) = try self.run(.fail, there: .init([1]), file: Served(length: 100))
        #expect(stage.failure(id)?.code == .fileExists)
        #expect(stage.store.files["f.txt"]?.bytes == [1])
    }

    @Test("resume compares the file's end and continues from it in one request")
    func resume() throws {
        let file = Served(length: Served.large)
        let (stage, id) = try self.run(.resume, there: .init(file.pattern.bytes(0..<2_000_000)), file: file)
        #expect(stage.end(id) == "finished")
        #expect(stage.store.files.count == 1 && stage.holds(file, at: "f.txt"))
        #expect(stage.transport.exchanges.map { $0["Range"] } == ["bytes=1737856-"])
        #expect(stage.completion(id)?.consistency == .overlap)
    }

    @Test("resume of a whole file compares its digest if one is given", arguments: [true, false])
    func resumeWhole(isRight: Bool) throws {
        let stage = Stage()
        let file = Served(length: 300_000)
        stage.store.add(.init(file.bytes), at: "f.txt")
        let digest = MemoryStore.toyDigest(.sha256, isRight ? file.bytes : [1])
        let expected = ExpectedDigest(algorithm: .sha256, bytes: digest, source: "--checksum")
        stage.transport.onStart { file.answer($0) }
        let id = try stage.add("http://a/f.txt", expected: [expected]) { $0.ifExists = .resume }
        stage.run(until: id, timers: 500)
        if isRight {
            #expect(stage.completion(id)?.skipped == true && stage.completion(id)?.verified == true)
        } else {
            #expect(stage.failure(id)?.code == .cannotResume)
        }
        #expect(stage.store.files.count == 1 && stage.store.files["f.txt"]?.bytes == file.bytes)
    }

    @Test("resume refuses a file that differs from the start of the server's, and leaves it alone")
    func resumeRefuses() throws {
        let there = TestPattern(seed: 55).bytes(0..<2_000_000)
        let (stage, id) = try self.run(.resume, there: .init(there), file: Served(length: Served.large))
        #expect(stage.failure(id)?.code == .cannotResume)
        let isUntouched = stage.store.files.mapValues(\.bytes) == ["f.txt": there]
        #expect(isUntouched)
    }

    @Test("resume does not continue a file that another program changes after it was compared")
    func resumeOfChangedFile() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        stage.store.add(.init(file.pattern.bytes(0..<2_000_000)), at: "f.txt")
        let other = TestPattern(seed: 55).bytes(0..<1_500_000)
        stage.transport.onStart {
            // The bytes to compare were read before.
            stage.store.add(.init(other), at: "f.txt")
            file.answer($0)
        }
        let id = try stage.add("http://a/f.txt") { $0.ifExists = .resume }
        stage.run(until: id, timers: 500)
        #expect(stage.failure(id)?.code == .fileExists)
        let isUntouched = stage.store.files.mapValues(\.bytes) == ["f.txt": other]
        #expect(isUntouched && stage.store.partials.isEmpty)
    }

    @Test("a partial file of another URL is left alone")
    func foreignPartial() throws {
        let stage = Stage()
        let facts = ResourceFacts(url: "http://other/f.txt")
        stage.store.add(MemoryStore.Partial(bytes: [1, 2], extents: [0..<2], facts: facts), at: "f.txt")
        let id = try stage.add("http://a/f.txt")
        try Served(length: 10).answer(stage.exchange())
        #expect(stage.completion(id)?.path != "f.txt")
        #expect(stage.store.partials["f.txt"]?.bytes == [1, 2])
    }

    @Test("attempts after the first keep the number that the first took")
    func numberStays() throws {
        let stage = Stage()
        stage.store.add(.init([1, 2, 3]), at: "f.txt")
        let file = Served(length: Served.large)
        stage.transport.onStart { file.answer($0, cutAfter: 400_000) }
        let id = try stage.add("http://a/f.txt")
        stage.run(until: id)
        #expect(stage.end(id) == "finished")
        #expect(stage.store.files.count == 2)
        #expect(stage.store.partials.isEmpty)
    }
}
