// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Keeps what it is given.
private final class Collector: ByteSink {
    let bytes = Mutex<[UInt8]>([])

    func write(_ bytes: [UInt8]) throws(StorageError) { self.bytes.withLock { $0 += bytes } }
}

/// Accepts some of the bytes at once: none, some, or all of a piece, in turn.
private final class PromptCollector: ByteSink {
    let bytes = Mutex<[UInt8]>([])
    let counts = Mutex((calls: 0, prompt: 0, late: 0))

    func writeAvailable(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> Int {
        let count = self.counts.withLock { counts in
            counts.calls += 1
            let count = bytes.count * (counts.calls % 3) / 2
            counts.prompt += count
            return count
        }
        self.bytes.withLock { $0 += bytes.prefix(count) }
        return count
    }

    func write(_ bytes: [UInt8]) throws(StorageError) {
        self.counts.withLock { $0.late += bytes.count }
        self.bytes.withLock { $0 += bytes }
    }
}

@Suite("Streams")
struct StreamTests {
    private let file = Served(length: 300_000)

    @Test("the bytes arrive once and in order, over as many attempts as it takes")
    func resumes() throws {
        let stage = Stage()
        let sink = Collector()
        let file = self.file
        stage.transport.onStart { file.answer($0, cutAfter: 100_000) }
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        stage.run(until: id)
        #expect(stage.end(id) == "finished")
        let isSame = sink.bytes.withLock { $0 } == file.bytes
        #expect(isSame)
        #expect(stage.store.counts.smallFiles + stage.store.counts.partialFiles == 0)
    }

    @Test("a sink takes none, some or all of a piece at once, and the rest on the pool: in order, also after cuts")
    func prompt() throws {
        let stage = Stage()
        let sink = PromptCollector()
        let file = self.file
        stage.transport.onStart { file.answer($0, cutAfter: 70_000) }
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        stage.run(until: id)
        #expect(stage.end(id) == "finished")
        let isSame = sink.bytes.withLock { $0 } == file.bytes
        #expect(isSame)
        let counts = sink.counts.withLock { $0 }
        #expect(counts.prompt > 0 && counts.late > 0 && counts.prompt + counts.late == Int(file.length))
    }

    @Test("a server that sends the file in ranges only, and refuses or shortens the whole", arguments: [true, false])
    func rangesOnly(refuses: Bool) throws {
        let stage = Stage()
        let sink = Collector()
        let file = self.file
        stage.transport.onStart { exchange in
            let asked = file.asked(exchange)
            if asked == nil, refuses {
                return exchange.respond(416, ["Content-Length": "0"], framing: .length(0))
            }
            let start = asked?.lowerBound ?? 0
            let end = min(start + 70_000, file.length)
            let fields: HeaderFields = ["ETag": "\"one\"", "Content-Range": "bytes \(start)-\(end - 1)/\(file.length)"]
            exchange.respond(206, fields, framing: .length(end - start))
            exchange.body(file.pattern, start..<end)
            if !exchange.hasEnded { exchange.end() }
        }
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        stage.run(until: id, timers: 500)
        #expect(stage.end(id) == "finished", "\(stage.failure(id)?.message ?? "")")
        let isSame = sink.bytes.withLock { $0 } == file.bytes
        #expect(isSame)
    }

    @Test("a stream whose file changed fails and never starts over")
    func neverStartsOver() throws {
        let stage = Stage()
        let sink = Collector()
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        try self.file.answer(stage.exchange(), cutAfter: 100_000)
        stage.clock.advance(by: .seconds(31))
        var new = self.file
        new.tag = "\"two\""
        new.pattern = TestPattern(seed: 3)
        try new.answer(stage.exchange())
        stage.run(until: id, timers: 500)
        #expect(stage.failure(id)?.code == .cannotResume)
        let isPrefix = sink.bytes.withLock { $0 } == Array(self.file.bytes.prefix(100_000))
        #expect(isPrefix)
    }

    @Test("reading waits while the sink writes")
    func backPressure() throws {
        let pool = ManualPool()
        let stage = Stage(pool: pool)
        let sink = Collector()
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        let exchange = try stage.exchange()
        self.file.head(exchange)
        exchange.body(self.file.pattern.bytes(0..<10_000))
        #expect(exchange.isPaused)
        pool.runAll()
        #expect(!exchange.isPaused)
        #expect(stage.end(id) == nil)
    }

    @Test("a stream's digest is computed over every attempt and compared", arguments: [true, false])
    func digests(_ isRight: Bool) throws {
        let stage = Stage()
        let sink = Collector()
        let file = self.file
        stage.transport.onStart { file.answer($0, cutAfter: 100_000) }
        let digest = MemoryStore.toyDigest(.sha256, isRight ? file.bytes : Array(file.bytes.dropLast()))
        let expected = ExpectedDigest(algorithm: .sha256, bytes: digest, source: "--checksum")
        let id = try stage.add("http://a/f", expected: [expected]) {
            $0.destination = .stream(sink)
            $0.reportDigest = .sha1
        }
        stage.run(until: id)
        if isRight {
            #expect(stage.completion(id)?.digest == MemoryStore.toyDigest(.sha1, file.bytes))
        } else {
            #expect(stage.failure(id)?.code == .checksumMismatch)
        }
    }

    @Test("what the server says of a stream's digest is compared", arguments: [true, false])
    func serverDigests(_ isRight: Bool) throws {
        let stage = Stage()
        var file = self.file
        let bytes = isRight ? file.bytes : Array(file.bytes.dropLast())
        file.fields = { _ in DigestFieldTests.field("Repr-Digest", bytes) }
        let (answering, sink) = (file, Collector())
        stage.transport.onStart { answering.answer($0, cutAfter: 100_000) }
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        stage.run(until: id)
        #expect(isRight ? stage.end(id) == "finished" : stage.failure(id)?.code == .checksumMismatch)
    }

    @Test("an empty body is a complete stream")
    func empty() throws {
        let stage = Stage()
        let sink = Collector()
        let id = try stage.add("http://a/f") { $0.destination = .stream(sink) }
        try Served(length: 0).answer(stage.exchange())
        #expect(stage.end(id) == "finished")
    }
}
