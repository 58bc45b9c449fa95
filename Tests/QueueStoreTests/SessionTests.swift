// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import QueueStore

@Suite struct SessionTests {
    private func append(_ scratch: ScratchStore, _ session: String, _ id: UInt64) async throws -> Int64 {
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.appendEvent(session: session, transfer: gid(id), json: #"{"id":\#(id)}"#)
        }
    }

    private func session(_ scratch: ScratchStore, _ name: String) async throws -> StoredSession? {
        try await scratch.store.read { (r) throws(QueueStoreError) in try r.session(name) }
    }

    private func events(_ scratch: ScratchStore, _ name: String, after number: Int64) async throws -> [Int64] {
        try await scratch.store.read { (r) throws(QueueStoreError) in
            try r.events(of: name, after: number, limit: 100).map(\.number)
        }
    }

    @Test func numbersGoOnWhateverWasForgotten() async throws {
        let scratch = try ScratchStore()
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.saveSession("a", configuration: #"{"x":1}"#)
        }
        try await scratch.add(transfers([1, 2], session: "a"))
        for expected in 1...3 as ClosedRange<Int64> { #expect(try await self.append(scratch, "a", 1) == expected) }
        #expect(try await self.append(scratch, "b", 7) == 1)
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in
                _ = try w.appendEvent(session: "a", transfer: gid(1), json: "{}")
                throw QueueStoreError(.ambiguous, "")
            } == .ambiguous
        )
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.acknowledge(session: "a", upTo: 99)
            try w.saveSession("a", configuration: "{}")
        }
        #expect(try await self.events(scratch, "a", after: 0) == [])
        #expect(try await self.events(scratch, "b", after: 0) == [1])
        await scratch.store.close()

        let again = try QueueStore(path: scratch.path)
        let next = try await again.write { (w) throws(QueueStoreError) in
            try w.appendEvent(session: "a", transfer: gid(2), json: "{}")
        }
        #expect(next == 4)
        let stored = try await again.read { (r) throws(QueueStoreError) in try r.sessions() }
        #expect(
            stored == [
                StoredSession(identifier: "a", configuration: "{}", acknowledged: 3, last: 4),
                StoredSession(identifier: "b", configuration: "{}", acknowledged: 0, last: 1),
            ]
        )
        await again.close()
    }

    @Test func acknowledgingForgetsEndedOnesThatHaveNoEventLeft() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers(1...3, session: "a") + transfers([9], session: "b") + transfers([8]))
        for id in [1, 2, 9, 8] as [UInt64] { try await scratch.end(gid(id)) }
        _ = try await self.append(scratch, "a", 1)
        _ = try await self.append(scratch, "a", 3)
        _ = try await self.append(scratch, "a", 2)
        _ = try await self.append(scratch, "a", 1)
        try await scratch.store.write { (w) throws(QueueStoreError) in try w.acknowledge(session: "a", upTo: 3) }
        #expect(try await self.events(scratch, "a", after: 0) == [4])
        #expect(try await scratch.ids(session: .some("a")) == [gid(3), gid(1)])
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.acknowledge(session: "a", upTo: 4)
            // One that is late changes nothing.
            try w.acknowledge(session: "a", upTo: 2)
            try w.acknowledge(session: "none", upTo: 2)
        }
        #expect(try await scratch.ids(session: nil) == [3, 9, 8].map { gid($0) })
        #expect(try await self.session(scratch, "a")?.acknowledged == 4)
        try await scratch.expectExactTally()
    }

    @Test func eventsComeInOrderByPages() async throws {
        let scratch = try ScratchStore()
        for _ in 0..<5 { _ = try await self.append(scratch, "a", 1) }
        let page = try await scratch.store.read { (r) throws(QueueStoreError) in
            try r.events(of: "a", after: 1, limit: 2)
        }
        #expect(page.map(\.number) == [2, 3])
        #expect(page.first == StoredEvent(number: 2, transfer: gid(1), json: #"{"id":1}"#))
    }

    @Test func aSessionIsRemovedOnceNothingIsUnfinished() async throws {
        let scratch = try ScratchStore()
        try await scratch.add(transfers([1, 2], session: "a"))
        try await scratch.end(gid(1))
        _ = try await self.append(scratch, "a", 1)
        #expect(
            await scratch.code { (w) throws(QueueStoreError) in try w.removeSession("a") }
                == .wrongState(gid(2), .waiting)
        )
        try await scratch.end(gid(2))
        try await scratch.store.write { (w) throws(QueueStoreError) in
            try w.removeSession("a")
            try w.removeSession("a")
        }
        #expect(try await self.session(scratch, "a") == nil)
        #expect(try await scratch.ids(session: nil) == [])
        #expect(try await self.append(scratch, "a", 1) == 1)
        #expect(try await scratch.ids(session: .some("a")) == [])
        try await scratch.expectExactTally()
    }
}
