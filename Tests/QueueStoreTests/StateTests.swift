// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import QueueStore

@Suite struct StateTests {
    @Test func anEndStoresWhatIsKnownAndComesOnce() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1, 2]))
        let failure = TransferRecord.Failure(
            code: 3,
            reason: "not-found",
            message: "404",
            remedy: "look",
            status: 404
        )
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.setProgress([
                (gid(1), 7, 9, "/data/1"), (gid(99), 1, nil, nil), (gid(2), 5, nil, "/data/2"),
            ])
            try w.end([
                StoredEnd(id: gid(1), state: .failed, path: nil, bytes: 8, total: 10, failure: failure, at: 2000.5),
                StoredEnd(id: gid(99), state: .finished, path: nil, bytes: 0, total: nil, at: 1),
            ])
            // Late reports of one that has ended.
            try w.end([StoredEnd(id: gid(1), state: .finished, path: "/x", bytes: 1, total: 1, at: 3000)])
            try w.setProgress([(gid(1), 1, 1, "/y")])
        }
        let found = try await scratch.store.read { (r) throws(QueueStoreError) in
            [try r.transfer(gid(1)), try r.transfer(gid(2))]
        }
        var first = transfer(1)
        first.state = .failed
        first.bytes = 8
        first.total = 10
        first.path = "/data/1"
        first.failure = failure
        first.ended = 2000.5
        var second = transfer(2)
        second.bytes = 5
        second.path = "/data/2"
        #expect(found == [first, second])
    }

    @Test("an end whose standing is outdated, or of another row, changes the right row")
    func standings() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...6))
        let known = try await scratch.store.read { (r) throws(QueueStoreError) in
            Dictionary(uniqueKeysWithValues: try r.nextToRun(session: nil, limit: 9).map { ($0.id, $0.standing) })
        }
        let before = try await scratch.store.write { (w) throws(QueueStoreError) in
            _ = try w.move(gid(2), to: 4)
            try w.setURLs(["http://other.example/"], of: gid(3))
            try w.setState(.paused, of: [gid(4)])
            try w.end([StoredEnd(id: gid(5), state: .removed, path: nil, bytes: 0, total: nil, at: 1)])
            let rows: [(id: UInt64, row: UInt64)] = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 1)]
            return try w.end(
                rows.map { id, row in
                    var end = StoredEnd(id: gid(id), state: .finished, path: "/\(id)", bytes: 1, total: 1, at: 2)
                    end.standing = known[gid(row)]
                    return end
                }
            )
        }
        #expect(before == [.waiting, .waiting, .waiting, .paused, nil, .waiting])
        #expect(try await scratch.ids([.finished]) == [1, 2, 3, 4, 6].map { gid($0) })
        #expect(try await scratch.ids([.waiting, .paused, .active]) == [])
        let paths = try await scratch.store.read { (r) throws(QueueStoreError) in
            try r.transfers(in: [.finished], session: nil, offset: 0, limit: 9, fromEnd: false).map(\.path)
        }
        #expect(paths == ["/1", "/2", "/3", "/4", "/6"])
        await scratch.store.close()
    }

    @Test("an end after all were paused or removed finds the meaning of its row's code")
    func standingsOfAll() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...3))
        let ends = try await scratch.store.read { (r) throws(QueueStoreError) in
            try r.nextToRun(session: nil, limit: 9)
                .map { next in
                    var end = StoredEnd(id: next.id, state: .finished, path: nil, bytes: 1, total: 1, at: 2)
                    end.standing = next.standing
                    return end
                }
        }
        let (paused, removed) = try await scratch.store.write { (w) throws(QueueStoreError) in
            _ = try w.setState(.paused, from: .waiting, session: nil)
            let paused = try w.end([ends[0]])
            _ = try w.removeAll(session: nil, at: 3, keeping: 9, deletesPartial: false)
            return (paused, try w.end([ends[1], ends[2]]))
        }
        #expect(paused == [.paused])
        #expect(removed == [nil, nil])
        #expect(try await scratch.ids([.finished]) == [gid(1)])
        await scratch.store.close()
    }

    @Test("a failure keeps its attempts until the transfer is retried")
    func attempts() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        var attempt = TransferDetails.Attempt(started: 5, url: "http://h/\u{1B}<b>")
        (attempt.ended, attempt.status, attempt.bytes, attempt.outcome) = (6.5, 500, 7, "retrying")
        (attempt.message, attempt.nextTry) = ("the server responded with 500", 8)
        let failure = TransferRecord.Failure(code: 1, message: "m")
        var end = StoredEnd(id: gid(1), state: .failed, path: nil, bytes: 8, total: 10, failure: failure, at: 9)
        end.attempts = [attempt, TransferDetails.Attempt(started: 8, url: "http://h/")]
        let stored = end
        _ = try await scratch.store.write { (w) throws(QueueStoreError) in try w.end([stored]) }
        let failed = try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(gid(1)) }
        #expect(failed?.attempts == stored.attempts && failed?.failure == failure)
        try await scratch.store.write { (w) throws(QueueStoreError) in try w.retry([gid(1)]) }
        let again = try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(gid(1)) }
        #expect(again?.attempts.isEmpty == true && again?.failure == nil)
    }

    @Test func aRetryIsAtTheEndWithItsBytes() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...4))
        try await scratch.end(gid(1), .failed)
        try await scratch.end(gid(2), .removed)
        try await scratch.end(gid(3), .finished)
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.retry([gid(1), gid(3)]) }
                == .wrongState(gid(3), .finished)
        )
        try await scratch.store.write { (w) throws(QueueStoreError) in try w.retry([gid(2), gid(1), gid(2)]) }
        #expect(try await scratch.ids([.waiting]) == [4, 2, 1].map { gid($0) })
        let found = try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(gid(1)) }
        #expect(found?.bytes == 1 && found?.ended == nil && found?.state == .waiting)
        try await scratch.expectExactTally()
    }

    @Test func whatCannotBeDoneIsNamedAndChangesNothing() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1, 2]))
        try await scratch.end(gid(2))
        let refused = QueueStoreError.Code.wrongState(gid(2), .finished)
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.setState(.paused, of: [gid(1), gid(2)]) }
                == refused
        )
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.setPriority(3, of: [gid(1), gid(2)]) } == refused
        )
        #expect(await scratch.code { (w) throws(QueueStoreError) in _ = try w.move(gid(2), to: 0) } == refused)
        #expect(await scratch.code { (w) throws(QueueStoreError) in try w.setURLs([], of: gid(2)) } == refused)
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in
                try w.setOptions(TransferOptions(), directory: "/", of: gid(2))
            } == refused
        )
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.forget([gid(2), gid(1)]) }
                == .wrongState(gid(1), .waiting)
        )
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.setState(.finished, of: [gid(1)]) }
                == .wrongState(gid(1), .waiting)
        )
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.setState(.paused, of: [gid(1), gid(9)]) }
                == .notFound(gid(9))
        )
        let found = try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(gid(1)) }
        #expect(found == transfer(1))
    }

    @Test func propertiesOfAFailedOneCanBeReplaced() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1]))
        try await scratch.end(gid(1), .failed)
        let options = TransferOptions(["out": ["name"]])
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.setURLs(["http://a.example/", "http://b.example/"], of: gid(1))
            try w.setOptions(options, directory: "/other", of: gid(1))
        }
        let found = try await scratch.store.read { (r) throws(QueueStoreError) in try r.transfer(gid(1)) }
        #expect(found?.urls == ["http://a.example/", "http://b.example/"])
        #expect(found?.options == options)
        #expect(found?.directory == "/other")
    }

    @Test func theHistoryIsTrimmedByCountAndByAge() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...10) + transfers([20], session: "s"))
        // The clock went back once: what ended before that keeps its place until it is old, too.
        for (index, time) in [100.0, 900, 300, 400, 500, 600, 700, 800].enumerated() {
            try await scratch.end(gid(UInt64(index + 1)), at: time)
        }
        try await scratch.end(gid(20), at: 1)
        func trim(_ count: Int, _ time: Double, most: Int = 1000) async throws -> [TransferRecord.State: Int] {
            try await scratch.store.write { (w) throws(QueueStoreError) in
                try w.trimHistory(count: count, before: time, most: most)
            }
        }
        #expect(try await trim(100, 0) == [:])
        #expect(try await trim(100, 400) == [.finished: 1])
        #expect(try await trim(100, 950, most: 2) == [.finished: 2])
        #expect(try await scratch.ids([.finished]) == [4, 5, 6, 7, 8].map { gid($0) })
        #expect(try await trim(2, 0, most: 1) == [.finished: 1])
        #expect(try await trim(4, 500) == [:])
        #expect(try await trim(3, 700) == [.finished: 2])
        #expect(try await scratch.ids([.finished]) == [7, 8].map { gid($0) })
        #expect(try await trim(-1, 0) == [.finished: 2])
        #expect(try await scratch.ids([.waiting, .finished], session: nil) == [9, 10, 20].map { gid($0) })
        try await scratch.expectExactTally()
    }

    @Test func allEndedOfAQueueAreForgotten() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...3) + transfers(11...13, session: "s"))
        for id in [1, 2, 11] as [UInt64] { try await scratch.end(gid(id)) }
        func forget(_ session: String?) async throws -> [TransferRecord.State: Int] {
            try await scratch.store.write { (w) throws(QueueStoreError) in try w.forgetEnded(session: session) }
        }
        #expect(try await forget("s") == [.finished: 1])
        #expect(try await forget("none") == [:])
        #expect(try await scratch.ids(session: nil) == [3, 12, 13, 1, 2].map { gid($0) })
        #expect(try await forget(nil) == [.finished: 2])
        try await scratch.expectExactTally()
    }

    @Test func settingsAreReplacedAndRemoved() async throws {
        let scratch = try ScratchStore()
        func value(_ name: String) async throws -> String? {
            try await scratch.store.read { (r) throws(QueueStoreError) in try r.setting(name) }
        }
        for text in ["{}", "[1]"] {
            try await scratch.store.write { (w) throws(QueueStoreError) in try w.setSetting("a", text) }
            #expect(try await value("a") == text)
        }
        try await scratch.store.write { (w) throws(QueueStoreError) in try w.setSetting("a", nil) }
        #expect(try await value("a") == nil)
    }
}
