// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Uploads that go on")
struct ResumableUploadTests {
    private let size: Int64 = 3 << 20
    private let bytes = TestPattern(seed: 7).bytes(0..<3 << 20)

    /// Answers a creation and gives the PATCH that follows.
    private func created(_ stage: Stage) throws -> ScriptedExchange {
        let post = try stage.exchange()
        #expect(post.request.method == "POST" && post.request.body == [] && post["Upload-Length"] == "\(self.size)")
        post.respond(201, ["Location": "/r/1", "Content-Length": "0"])
        post.end()
        return try stage.exchange()
    }

    private func expectWhole(_ stage: Stage, _ id: TransferID, _ exchange: ScriptedExchange) {
        exchange.respond(204, ["Upload-Offset": "\(self.size)"], framing: .none)
        exchange.end()
        #expect(stage.end(id) == "finished")
    }

    @Test("by tus a broken upload continues from the server's offset, with only the missing bytes")
    func tus() throws {
        let stage = Stage()
        stage.put(self.size)
        let journal = MemoryJournal()
        let id = try stage.upload { request in
            request.way = .by(.tus)
            request.journal = journal
        }
        let first = try self.created(stage)
        #expect(first.request.method == "PATCH" && first.request.url.path == "/r/1" && first["Upload-Offset"] == "0")
        #expect(first["Content-Type"] == "application/offset+octet-stream")
        // Before the first byte the way back is on disk.
        #expect(journal.record.withLock { $0 }?.resource == "http://host/r/1")
        first.pull(2 << 20)
        first.fail(TransportError(.reset, "reset"))
        stage.clock.advanceToNext()
        while stage.open.isEmpty { stage.clock.advanceToNext() }
        let head = try stage.exchange()
        #expect(head.request.method == "HEAD" && head.request.url.path == "/r/1")
        head.respond(200, ["Upload-Offset": "1234567", "Upload-Length": "\(self.size)"], framing: .none)
        head.end()
        let second = try stage.exchange()
        #expect(second["Upload-Offset"] == "1234567")
        #expect(second.pull() == Array(self.bytes[1_234_567...]))
        self.expectWhole(stage, id, second)
        #expect(journal.record.withLock { $0 } == nil)
    }

    @Test("attempts with progress may continue for ever; those without use up the budget")
    func budget() throws {
        for moves in [true, false] {
            let stage = Stage()
            stage.put(self.size)
            let id = try stage.upload { request in
                request.way = .by(.tus)
                request.options.retries = 2
            }
            var patch = try self.created(stage)
            var offset: Int64 = 0
            for round in 0..<6 {
                patch.pull(1)
                patch.fail(TransportError(.reset, "reset"))
                if stage.end(id) != nil {
                    #expect(!moves && round == 2)
                    break
                }
                while stage.open.isEmpty { stage.clock.advanceToNext() }
                if moves { offset += 1000 }
                let head = try stage.exchange()
                head.respond(200, ["Upload-Offset": "\(offset)"], framing: .none)
                head.end()
                patch = try stage.exchange()
            }
            #expect((stage.end(id) == nil) == moves)
        }
    }

    @Test("another process resumes from the journal; a file that changed meanwhile is refused")
    func journal() throws {
        for isChanged in [false, true] {
            let before = Stage()
            before.put(self.size)
            let journal = MemoryJournal()
            try before.upload { request in
                request.way = .by(.tus)
                request.journal = journal
            }
            try self.created(before).pull(1 << 20)
            // The process is gone here.
            let stage = Stage()
            stage.put(self.size, modified: isChanged ? 6 : 5)
            let id = try stage.upload { request in
                request.way = .automatic
                request.journal = journal
            }
            let head = try stage.exchange()
            if isChanged {
                #expect(stage.failure(id)?.code == .fileIO)
                #expect(stage.failure(id)?.message.contains("changed") == true)
                // The server's bytes are abandoned, and the next run restarts.
                #expect(head.request.method == "DELETE" && head["Tus-Resumable"] == "1.0.0")
                #expect(journal.record.withLock { $0 } == nil)
                continue
            }
            #expect(head.request.method == "HEAD")
            head.respond(200, ["Upload-Offset": "1048576"], framing: .none)
            head.end()
            let patch = try stage.exchange()
            #expect(patch.pull() == Array(self.bytes[(1 << 20)...]))
            self.expectWhole(stage, id, patch)
        }
    }

    @Test(
        "a file that changes while it is sent: what the server has is deleted, and the next upload restarts",
        arguments: [false, true]
    )
    func changed(isComplete: Bool) throws {
        let stage = Stage()
        stage.put(self.size)
        let journal = MemoryJournal()
        let change: (inout UploadRequest) -> Void = { request in
            request.way = .by(.tus)
            request.journal = journal
        }
        let id = try stage.upload(.file("f"), change)
        let patch = try self.created(stage)
        patch.pull(isComplete ? .max : 1 << 20)
        stage.put(self.size, changed: 1)
        if isComplete {
            patch.respond(204, ["Upload-Offset": "\(self.size)"], framing: .none)
            patch.end()
        } else {
            patch.pull()
            patch.fail(TransportError(.content, "failed"))
        }
        #expect(stage.failure(id)?.code == .fileIO && stage.failure(id)?.message.contains("changed") == true)
        let termination = try stage.exchange()
        #expect(termination.request.method == "DELETE" && termination.request.url.path == "/r/1")
        #expect(journal.record.withLock { $0 } == nil)
        termination.respond(204, framing: .none)
        if !termination.hasEnded { termination.end() }
        let second = try stage.upload(.file("f"), change)
        let whole = try self.created(stage)
        #expect(whole["Upload-Offset"] == "0" && whole.pull() == self.bytes)
        self.expectWhole(stage, second, whole)
    }

    @Test("the queue drains when abandoned uploads are deleted at their server, or it does not respond for 10 s")
    func draining() async throws {
        for responds in [true, false] {
            let stage = Stage()
            stage.put(self.size)
            let id = try stage.upload { $0.way = .by(.tus) }
            try self.created(stage).pull(1 << 20)
            stage.engine.cancel(id)
            stage.engine.close()
            #expect(stage.end(id) == "cancelled")
            let isDrained = Mutex(false)
            async let drained: Void = {
                await stage.engine.waitUntilDrained()
                isDrained.withLock { $0 = true }
            }()
            let termination = try stage.exchange()
            #expect(termination.request.method == "DELETE" && !isDrained.withLock { $0 })
            if responds {
                termination.respond(204, framing: .none)
                if !termination.hasEnded { termination.end() }
            } else {
                let start = stage.clock.now
                while !termination.isCancelled { stage.clock.advanceToNext() }
                #expect(stage.clock.now - start == 10_000_000_000)
            }
            await drained
        }
    }

    @Test("a record without change times, of an earlier version, is resumed and gets them")
    func earlierRecord() throws {
        let stage = Stage()
        stage.put(self.size, changed: 8)
        let journal = MemoryJournal()
        var record = UploadRecord(
            speaks: .tus,
            endpoint: Stage.uploadURL,
            resource: "http://host/r/1",
            length: self.size,
            files: [FileIdentity(size: self.size, modified: 5, changed: nil, device: 1, inode: 1)]
        )
        try journal.write(record)
        let id = try stage.upload { request in
            request.way = .by(.tus)
            request.journal = journal
        }
        record.files[0].changed = 8
        #expect(journal.record.withLock { $0 } == record)
        let head = try stage.exchange()
        #expect(head.request.method == "HEAD")
        head.respond(200, ["Upload-Offset": "1048576"], framing: .none)
        head.end()
        let patch = try stage.exchange()
        #expect(patch.pull() == Array(self.bytes[(1 << 20)...]))
        self.expectWhole(stage, id, patch)
    }

    @Test("an upload paused by tus resumes at the server's offset; cancelled, it is deleted there (termination)")
    func pausing() throws {
        let stage = Stage()
        stage.put(self.size)
        let id = try stage.upload { $0.way = .by(.tus) }
        try self.created(stage).pull(1 << 20)
        stage.engine.pause(id)
        stage.engine.resume(id)
        let head = try stage.exchange()
        #expect(head.request.method == "HEAD")
        stage.engine.cancel(id)
        #expect(stage.end(id) == "cancelled")
        let farewell = try stage.exchange()
        #expect(farewell.request.method == "DELETE" && farewell.request.url.path == "/r/1")
    }

    @Test("cancelled but kept, it is not deleted")
    func keeping() throws {
        let stage = Stage()
        stage.put(self.size)
        let id = try stage.upload { $0.way = .by(.tus) }
        try self.created(stage).pull(1 << 20)
        stage.engine.cancel(id, keeping: true)
        #expect(stage.end(id) == "cancelled" && stage.open.isEmpty)
    }

    @Test("each part goes with its digest (checksum)")
    func checksums() throws {
        let stage = Stage()
        stage.put(20 << 20)
        let id = try stage.upload { request in
            request.way = .by(.tus)
            request.checksum = .sha256
        }
        let question = try stage.exchange()
        #expect(question.request.method == "OPTIONS")
        question.respond(
            204,
            [
                "Tus-Resumable": "1.0.0", "Tus-Version": "1.0.0", "Tus-Extension": "creation,checksum",
                "Tus-Checksum-Algorithm": "sha256",
            ],
            framing: .none
        )
        question.end()
        let post = try stage.exchange()
        post.respond(201, ["Location": "/r/1", "Content-Length": "0"])
        post.end()
        var offset: Int64 = 0
        while stage.end(id) == nil {
            let patch = try stage.exchange()
            let part = patch.pull()
            let digest = Base64.encode(MemoryStore.toyDigest(.sha256, part))
            #expect(patch["Upload-Checksum"] == "sha256 \(digest)")
            offset += Int64(part.count)
            patch.respond(204, ["Upload-Offset": "\(offset)"], framing: .none)
            patch.end()
        }
        #expect(stage.end(id) == "finished" && offset == 20 << 20)
    }

    @Test("by the draft a broken POST continues, once the server has reported its resource (104)")
    func draft() throws {
        for tells in [true, false] {
            let stage = Stage()
            stage.put(self.size)
            let id = try stage.upload { request in
                request.method = "POST"
                request.way = .by(.ietf6)
            }
            let first = try stage.exchange()
            #expect(first["Upload-Complete"] == "?1" && first["Content-Type"] == "application/octet-stream")
            if tells { first.interim(104, ["Location": "http://host/r/9"]) }
            first.pull(2 << 20)
            first.fail(TransportError(.reset, "reset"))
            guard tells else {
                // Nobody knows what became of it.
                #expect(stage.end(id) == "failed")
                continue
            }
            stage.clock.advanceToNext()
            while stage.open.isEmpty { stage.clock.advanceToNext() }
            let head = try stage.exchange()
            #expect(head.request.method == "HEAD" && head.request.url.path == "/r/9")
            head.respond(204, ["Upload-Offset": "1000000", "Upload-Complete": "?0"], framing: .none)
            head.end()
            let patch = try stage.exchange()
            #expect(patch["Content-Type"] == "application/partial-upload" && patch["Upload-Complete"] == "?1")
            #expect(patch.pull() == Array(self.bytes[1_000_000...]))
            patch.respond(201)
            patch.end()
            #expect(stage.end(id) == "finished")
        }
    }

    @Test("a server's protocol for resuming is requested only for large content")
    func automatic() throws {
        for size in [1 << 20, (1 << 20) - 1] as [Int64] {
            let stage = Stage()
            stage.put(size)
            try stage.upload { $0.way = .automatic }
            #expect(try stage.exchange().request.method == (size < 1 << 20 ? "PUT" : "OPTIONS"))
        }
    }

    @Test("an unencrypted resource of an encrypted upload is refused")
    func downgrade() throws {
        let stage = Stage()
        stage.put(self.size)
        let id = try stage.upload(to: "https://host/f") { $0.way = .by(.tus) }
        let post = try stage.exchange()
        post.respond(201, ["Location": "http://host/r/1", "Content-Length": "0"])
        post.end()
        #expect(stage.failure(id)?.code == .redirects)
    }

    @Test("progress counts what is there, what was sent, and what the server acknowledged")
    func progress() throws {
        let stage = Stage()
        stage.put(self.size)
        let id = try stage.upload { request in
            request.way = .by(.tus)
            request.record = UploadRecord(
                speaks: .tus,
                endpoint: Stage.uploadURL,
                resource: "http://host/r/1",
                length: 3 << 20,
                files: [FileIdentity(size: 3 << 20, modified: 5, changed: 0, device: 1, inode: 1)]
            )
        }
        let head = try stage.exchange()
        head.respond(200, ["Upload-Offset": "1000000"], framing: .none)
        head.end()
        let sent = Int64(try stage.exchange().pull(1 << 20).count)
        stage.clock.advance(by: .milliseconds(400))
        let last = stage.recorder.events(of: id)
            .compactMap { event -> TransferEvent.Progress? in
                if case .progress(let progress) = event.kind { progress } else { nil }
            }
            .last
        #expect(last?.bytes == 1_000_000 + sent && last?.sent == sent && last?.acknowledged == 1_000_000)
        #expect(last?.total == self.size)
    }
}
