// SPDX-License-Identifier: Apache-2.0
import Control
import QueueStore
import Testing
import TransferTesting

@testable import Daemon

@Suite("Searches and orders", .timeLimit(.minutes(1)))
struct CoreSearchTests {
    private func names(_ harness: CoreHarness, _ change: (inout ListQuery) -> Void) async throws -> [String] {
        var query = ListQuery()
        change(&query)
        return try await harness.core.list(query)
            .map { record in
                let name = record.options[.out] ?? record.urls.first ?? ""
                return String(name[(name.lastIndex(of: "/").map { name.index(after: $0) } ?? name.startIndex)...])
            }
    }

    @Test("All words must be in the name or a URL; the special characters of patterns are ordinary ones")
    func words() async throws {
        let harness = try await CoreHarness()
        try await harness.add("http://h.example/dir/Alpha.iso", isPaused: true)
        try await harness.add("http://h.example/100%_b", isPaused: true)
        try await harness.add("http://other.example/1000xb", ["out": "alphabet soup!"], isPaused: true)
        #expect(try await self.names(harness) { $0.words = ["ALPHA"] } == ["Alpha.iso", "alphabet soup!"])
        #expect(try await self.names(harness) { $0.words = ["alpha", "other"] } == ["alphabet soup!"])
        #expect(try await self.names(harness) { $0.words = ["0%_b"] } == ["100%_b"])
        #expect(try await self.names(harness) { $0.words = ["soup!"] } == ["alphabet soup!"])
        #expect(try await self.names(harness) { $0.words = ["' OR 1=1 --"] } == [])
        var query = ListQuery()
        query.words = ["example"]
        #expect(try await harness.core.counts(of: query).paused == 3)
        query.words = ["h.example"]
        #expect(try await harness.core.counts(of: query).paused == 2)
        await harness.stop()
    }

    @Test("Transfers whose identifiers begin with digits are listed by state, over all pages")
    func beginnings() async throws {
        let harness = try await CoreHarness()
        try await harness.add("http://h/a", isPaused: true)
        let first = try #require(try await harness.core.list(ListQuery()).first?.id)
        var query = ListQuery()
        query.prefix = String(first.description.prefix(15))
        #expect(try await harness.core.list(query).map(\.id) == [first])
        query.states = [.finished]
        #expect(try await harness.core.list(query).isEmpty)
        query.states = [.paused]
        #expect(try await harness.core.list(query).map(\.id) == [first])
        query.session = .some("other")
        #expect(try await harness.core.list(query).isEmpty)
        query.session = nil
        query.limit = 0
        #expect(try await harness.core.list(query).isEmpty)
        await harness.stop()
    }

    @Test("Lists are ordered by time, name and size, in both directions and by pages")
    func orders() async throws {
        let harness = try await CoreHarness()
        try await harness.add("http://h/x/b?q=/a/z", isPaused: true)
        try await harness.add("http://h/C", isPaused: true)
        try await harness.add("http://h/z", ["out": "a"], isPaused: true, at: 0)
        #expect(try await self.names(harness) { $0.order = .added } == ["z", "C", "a"])
        #expect(try await self.names(harness) { $0.order = .name } == ["a", "z", "C"])
        #expect(
            try await self.names(harness) {
                $0.order = .name
                $0.offset = -1
                $0.limit = 2
            } == ["C", "z"]
        )
        #expect(
            try await self.names(harness) {
                $0.order = .added
                $0.offset = 1
                $0.limit = 1
            } == ["C"]
        )
        // With words in the order of the queue, which is not that of the additions.
        #expect(try await self.names(harness) { $0.words = ["http"] } == ["a", "z", "C"])
        #expect(try await self.names(harness) { $0.order = .size }.count == 3)
        await harness.stop()
    }

    @Test("Lists are ordered by progress, host and state; what is unknown is last, in both directions")
    func columns() async throws {
        let harness = try await CoreHarness()
        let ids = try await [
            harness.add("http://c.example/1", isPaused: true), harness.add("http://A.example/2", isPaused: true),
            harness.add("http://b.example/3", isPaused: true),
        ]
        let (half, quarter) = ((ids[2], Int64(50)), (ids[0], Int64(25)))
        try await harness.core.change { (writer) throws(QueueStoreError) in
            try writer.setProgress([half, quarter].map { (id: $0.0, bytes: $0.1, total: 100, path: nil) })
        }
        func order(_ order: TransferOrder, isBackward: Bool = false) async throws -> [String] {
            try await self.names(harness) {
                $0.order = order
                $0.offset = isBackward ? -1 : 0
            }
        }
        #expect(try await order(.host) == ["2", "3", "1"])
        #expect(try await order(.progress) == ["1", "3", "2"])
        #expect(try await order(.progress, isBackward: true) == ["3", "1", "2"])
        try await harness.core.perform(.remove(deletesPartial: false), on: .ids([ids[1]]))
        #expect(try await order(.state) == ["1", "3", "2"])
        #expect(try await order(.state, isBackward: true) == ["2", "3", "1"])
        await harness.stop()
    }

    @Test("Values of started transfers order a list; those without one are last, in both directions")
    func started() async throws {
        let harness = try await CoreHarness()
        var ids: [GID] = []
        for name in 1...3 { ids.append(try await harness.add("http://h.example/\(name)", isPaused: true)) }
        let values = [ids[2]: Int64(7), ids[0]: Int64(9)]
        func order(isBackward: Bool) async throws -> [GID] {
            try await harness.core.read { (reader) throws(QueueStoreError) in
                try reader.transfers(
                    matching: TransferFilter(states: [.paused], session: nil),
                    order: .rate,
                    started: values,
                    offset: 0,
                    limit: 9,
                    isBackward: isBackward
                )
                .map(\.id)
            }
        }
        #expect(try await order(isBackward: false) == [ids[2], ids[0], ids[1]])
        #expect(try await order(isBackward: true) == [ids[0], ids[2], ids[1]])
        #expect(try await self.names(harness) { $0.order = .left }.count == 3)
        await harness.stop()
    }

    @Test("A running transfer counts as active in a search, not as waiting, and sessions are separate")
    func states() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let harness = try await CoreHarness()
        let running = try await harness.add(server.text("runs"))
        try await harness.add(server.text("waits"))
        try await harness.add(server.text("stops"), isPaused: true)
        try await harness.events.wait("started")
        var query = ListQuery()
        query.words = [server.text("").replacing("http://", with: "")]
        let counts = try await harness.core.counts(of: query)
        #expect(counts.active == 1 && counts.waiting == 1 && counts.paused == 1)
        query.states = [.active]
        #expect(try await harness.core.list(query).map(\.id) == [running])
        query.states = [.waiting]
        #expect(try await harness.core.list(query).map(\.urls) == [[server.text("waits")]])
        query.states = [.active, .paused]
        #expect(try await harness.core.list(query).count == 2)
        query.states = [.active, .waiting]
        #expect(try await harness.core.list(query).count == 2)
        var keyed = ListQuery(states: [.active])
        keyed.after = 0
        #expect(try await harness.core.list(keyed).map(\.id) == [running])
        keyed.after = try await harness.core.list(keyed).last?.key
        #expect(keyed.after != nil)
        #expect(try await harness.core.list(keyed).isEmpty)
        keyed.after = 0
        keyed.states = [.waiting]
        #expect(try await harness.core.list(keyed).map(\.urls) == [[server.text("waits")]])
        query.states = []
        query.session = .some("nobody's")
        #expect(try await harness.core.list(query).isEmpty)
        query.session = .some(nil)
        #expect(try await harness.core.list(query).count == 3)
        gate.open()
        try await harness.events.wait("finished")
        await harness.stop()
    }

    @Test("An enumeration by key returns each transfer once while the queue changes; pages by offset miss some")
    func enumeration() async throws {
        let harness = try await CoreHarness()
        for number in 1...40 { try await harness.add("http://h/\(number)", isPaused: true) }
        let all = Set(try await harness.core.list(ListQuery()).map(\.id))
        #expect(all.count == 40)
        var query = ListQuery(limit: 7)
        query.after = 0
        var (found, removed): ([GID], Int) = ([], 0)
        while true {
            let page = try await harness.core.list(query)
            guard let last = page.last?.key else { break }
            #expect(page.allSatisfy { $0.key != nil })
            found += page.map(\.id)
            query.after = last
            // Those that were read move to the history, and another one to the front.
            let read = page.prefix(3).map(\.id)
            removed += try await harness.core.perform(.remove(deletesPartial: false), on: .ids(read))
            if let other = all.subtracting(found).first { _ = try await harness.core.move(other, by: 0, from: .start) }
            // An endless supply of new transfers would be an endless enumeration.
            if found.count <= 21 { try await harness.add("http://h/new", isPaused: true) }
        }
        #expect(found.count == Set(found).count)
        #expect(Set(found).isSuperset(of: all))
        query.after = 0
        query.states = [.removed]
        query.limit = 1000
        #expect(try await harness.core.list(query).count == removed)
        query.states = [.active]
        #expect(try await harness.core.list(query).isEmpty)
        query.after = .max
        query.states = []
        #expect(try await harness.core.list(query).isEmpty)
        query.after = .min
        #expect(try await harness.core.list(query).count == found.count)
        await harness.stop()
    }
}
