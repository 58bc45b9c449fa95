// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Runs on a file system that is full or read-only")
struct FileSystemTests {
    private let file = Served(length: Served.large)

    /// Answers every open exchange.
    private func answerAll(_ stage: Stage) {
        while let exchange = stage.open.first { self.file.answer(exchange) }
    }

    private func add(_ stage: Stage, _ name: String, patience: Duration = .seconds(300)) throws -> TransferID {
        try stage.add("http://a/\(name)") { options in
            options.retries = 0
            options.outageTimeout = patience
        }
    }

    @Test("the transfer waits, is reported as held once, and continues its bytes when there is room")
    func full() throws {
        let stage = Stage()
        stage.store.failWrites(after: 1_000_000)
        let id = try self.add(stage, "f")
        self.answerAll(stage)
        #expect(stage.engine.counts.held == 1 && stage.end(id) == nil)
        let hold = try #require(stage.engine.fileSystemHolds.first)
        #expect(hold.reason == .fileSystem && hold.cause == "full" && hold.directory == ".")
        for _ in 0..<5 {
            stage.clock.advance(by: .seconds(10))
            self.answerAll(stage)
        }
        #expect(stage.recorder.events.filter { if case .held = $0.kind { true } else { false } }.count == 1)
        stage.store.healWrites()
        stage.clock.advance(by: .seconds(10))
        #expect(try stage.exchange()["Range"]?.hasPrefix("bytes=0-") != true)
        self.answerAll(stage)
        #expect(stage.end(id) == "finished" && stage.holds(self.file))
        #expect(stage.engine.fileSystemHolds.isEmpty)
        #expect(stage.recorder.events.contains { if case .released = $0.kind { true } else { false } })
    }

    @Test("after the outage timeout the next failed attempt fails the transfer, with the reason")
    func timeout() throws {
        let stage = Stage()
        stage.store.failWrites(after: 0)
        let id = try self.add(stage, "f", patience: .seconds(15))
        for _ in 0..<4 {
            self.answerAll(stage)
            stage.clock.advance(by: .seconds(10))
        }
        #expect(stage.failure(id)?.code == .noSpace)
        #expect(stage.engine.fileSystemHolds.isEmpty && stage.engine.counts.held == 0)
    }

    @Test("the last waiting transfer is cancelled: the hold ends")
    func cancelled() throws {
        let stage = Stage()
        stage.store.failWrites(after: 0)
        let id = try self.add(stage, "f")
        self.answerAll(stage)
        stage.engine.cancel(id)
        stage.clock.advance(by: .seconds(11))
        #expect(stage.engine.fileSystemHolds.isEmpty)
    }

    @Test("no byte follows facts that the journal did not take: the next run would continue another version with it")
    func unrecorded() throws {
        let stage = Stage()
        let id = try stage.add("http://a/f") { $0.outageTimeout = .seconds(300) }
        try self.file.answer(stage.exchange(), cutAfter: 1_000_000)
        stage.clock.advance(by: .seconds(31))
        let held = try #require(stage.store.partials["f"])
        // That it joins two responses is recorded before the second one's first byte.
        stage.store.failFacts(with: .noSpace)
        try self.file.answer(stage.exchange())
        #expect(stage.end(id) == nil && stage.engine.counts.held == 1 && stage.open.isEmpty)
        #expect(stage.store.partials["f"]?.bytes == held.bytes && stage.store.partials["f"]?.facts == held.facts)
        stage.store.failFacts(with: nil)
        stage.clock.advance(by: .seconds(10))
        self.answerAll(stage)
        #expect(stage.end(id) == "finished" && stage.holds(self.file))
    }
}
