// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
@testable import TransferEngine
import TransferTesting

@Suite("Events")
struct EventTests {
    @Test("each transfer's events come in order, with exactly one end, and drained is the last")
    func order() throws {
        let stage = Stage(limit: 3, lanes: 2)
        stage.transport.onStart { Served(length: 50).answer($0) }
        let ids = try (0..<50).map { try stage.add("http://h\($0 % 4)/f\($0)") }
        for id in ids { #expect(stage.words(id) == ["started", "response", "finished"]) }
        #expect(stage.recorder.events.last.flatMap { Stage.word($0.kind) } == "drained")
    }

    @Test("an observer may call the engine")
    func reentrance() throws {
        let stage = Stage()
        stage.engine.observe { event in
            if case .started = event.kind, let id = event.id { stage.engine.cancel(id) }
        }
        let id = try stage.add("http://a/f")
        #expect(stage.words(id) == ["started", "cancelled"])
        #expect(stage.open.isEmpty)
        #expect(stage.engine.counts.running == 0)
    }

    @Test("progress is sampled by the clock, whatever the number of reads")
    func progress() throws {
        let stage = Stage()
        let file = Served(length: Served.large)
        let id = try stage.add("http://a/f")
        try file.head(stage.exchange())
        try stage.exchange().body(file.pattern, 0..<1_000_000, piece: 1000)
        #expect(!stage.words(id).contains("progress"))
        stage.clock.advance(by: .seconds(1))
        #expect(stage.words(id).count { $0 == "progress" } == 1)
    }

    @Test("an unread sequence costs nothing and counts the missed events")
    func missed() async throws {
        let stage = Stage()
        let events = stage.engine.events(bufferingAtMost: 4)
        stage.transport.onStart { Served(length: 5).answer($0) }
        for index in 0..<100 { try stage.add("http://a/f\(index)") }
        #expect(stage.engine.counts.finished == 100)
        var iterator = events.makeAsyncIterator()
        guard case .missed(let count) = await iterator.next()?.kind else {
            Issue.record("the first event should count those missed")
            return
        }
        #expect(count + 4 == stage.recorder.events.count)
    }

    @Test("an observer gets the events that it selects, ends included, until it is cancelled")
    func interest() throws {
        let stage = Stage()
        let (ends, states, all) = (EventRecorder(), EventRecorder(), EventRecorder())
        stage.engine.observe(.ends) { ends.record($0) }
        stage.engine.observe([.states, .responses]) { states.record($0) }
        let observation = stage.engine.observe { all.record($0) }
        stage.transport.onStart { Served(length: 5).answer($0) }
        try stage.add("http://a/f")
        observation.cancel()
        try stage.add("http://a/g")
        #expect(ends.events.compactMap { Stage.word($0.kind) } == ["finished", "drained", "finished", "drained"])
        #expect(states.events.count == 8)
        #expect(all.events.count == 4)
    }

    @Test("a dropped sequence does not observe any more")
    func dropped() throws {
        let stage = Stage()
        weak var buffer: AnyObject?
        do {
            let events = stage.engine.events()
            buffer = events.subscriber
            #expect(buffer != nil)
        }
        stage.transport.onStart { Served(length: 5).answer($0) }
        try stage.add("http://a/f")
        #expect(buffer == nil)
    }

    @Test("the sequence ends when the engine has stopped")
    func sequenceEnds() async throws {
        let stage = Stage()
        let events = stage.engine.events()
        stage.transport.onStart { Served(length: 5).answer($0) }
        try stage.add("http://a/f")
        await stage.engine.stop()
        var words: [String] = []
        for await event in events { if let word = Stage.word(event.kind) { words.append(word) } }
        #expect(words == ["started", "response", "finished", "drained"])
    }

    @Test("ten thousand transfers that end as they begin do not overflow the stack", arguments: [1, 2])
    func manySkips(lanes: Int) throws {
        let stage = Stage(limit: 3, lanes: lanes, starts: false)
        for index in 0..<10_000 {
            stage.store.add(MemoryStore.File([1]), at: "f\(index)")
            try stage.add("http://a/f\(index)") { $0.ifExists = .skip }
        }
        stage.engine.start()
        #expect(stage.engine.counts.skipped == 10_000)
        #expect(stage.engine.counts.waiting == 0)
    }

    @Test("durable small files are synced in groups, and reported only then")
    func groups() throws {
        let pool = ManualPool()
        let stage = Stage(limit: 50, perHost: 50, pool: pool)
        let ids = try (0..<50).map { index in try stage.add("http://a/f\(index)") { $0.durable = true } }
        for exchange in stage.open { Served(length: 5).answer(exchange) }
        #expect(ids.allSatisfy { stage.end($0) == nil })
        pool.runAll()
        #expect(ids.allSatisfy { stage.end($0) == "finished" })
        #expect(stage.store.files.count == 50)
        #expect(stage.store.counts.flushes < 5)
    }

    @Test("After a large group the next is gathered for a moment")
    func gatheredGroups() throws {
        let stage = Stage(limit: 100, perHost: 100)
        let pool = ManualPool()
        let gathered = Stage(limit: 100, perHost: 100, pool: pool)
        for one in [stage, gathered] {
            for index in 0..<40 { try one.add("http://a/f\(index)") { $0.durable = true } }
        }
        for exchange in gathered.open.prefix(20) { Served(length: 5).answer(exchange) }
        pool.runAll()
        #expect(gathered.store.counts.flushes == 1 && gathered.store.files.count == 20)
        for exchange in gathered.open { Served(length: 5).answer(exchange) }
        pool.runAll()
        #expect(gathered.store.files.count == 20)
        gathered.clock.advance(by: .milliseconds(20))
        pool.runAll()
        #expect(gathered.store.counts.flushes == 2 && gathered.store.files.count == 40)
        // Few at a time are named at once.
        for exchange in stage.open { Served(length: 5).answer(exchange) }
        #expect(stage.store.counts.flushes == 40 && stage.store.files.count == 40)
    }

    @Test("Of a group one whose name was taken meanwhile gets another; the rule `fail` fails it alone")
    func takenNames() throws {
        let pool = ManualPool()
        let stage = Stage(pool: pool)
        let theirs = MemoryStore.File([9])
        for path in ["f1", "f2"] { stage.store.takeAtFlush(path, theirs) }
        let ids = try ["f0", "f1", "f2"]
            .map { name in
                try stage.add("http://a/\(name)") {
                    $0.durable = true
                    $0.ifExists = name == "f2" ? .fail : .rename
                }
            }
        for exchange in stage.open { Served(length: 5).answer(exchange) }
        pool.runAll()
        #expect(stage.end(ids[0]) == "finished")
        #expect(stage.end(ids[1]) == nil && stage.words(ids[1]).last == "retrying")
        #expect(stage.failure(ids[2])?.code == .fileExists)
        stage.clock.advance(by: .seconds(60))
        try Served(length: 5).answer(stage.exchange())
        pool.runAll()
        stage.clock.advance(by: .seconds(1))
        pool.runAll()
        #expect(stage.end(ids[1]) == "finished")
        #expect(stage.store.files["f1"]?.bytes == [9] && stage.store.files["f2"]?.bytes == [9])
        #expect(stage.completion(ids[1])?.path != "f1" && stage.store.files.count == 4)
    }
}
