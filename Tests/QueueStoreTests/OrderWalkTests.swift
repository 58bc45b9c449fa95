// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import QueueStore

/// The queue as anyone would write it: two lines and a history, in arrays.
private struct NaiveQueue {
    struct Entry {
        var id: GID
        var session: String?
        var state: TransferRecord.State
        var priority = 0
    }

    var line: [Entry] = []
    var history: [Entry] = []

    func line(_ session: String?) -> [Entry] { self.line.filter { $0.session == session } }

    mutating func add(_ entries: [Entry], at place: Int?, _ session: String?) {
        var line = self.line(session)
        line.insert(contentsOf: entries, at: min(place ?? line.count, line.count))
        self.replace(line, session)
    }

    mutating func replace(_ line: [Entry], _ session: String?) {
        let other = self.line.filter { $0.session != session }
        self.line = session == nil ? line + other : other + line
    }

    func page(_ states: Set<TransferRecord.State>, _ session: String??, _ fromEnd: Bool) -> [GID] {
        let all = (self.line + self.history)
            .filter { states.contains($0.state) && (session == nil || $0.session == session ?? nil) }.map(\.id)
        return fromEnd ? all.reversed() : all
    }
}

@Suite struct OrderWalkTests {
    @Test(arguments: [1, 2, 3] as [UInt64])
    func aWalkAgreesWithArrays(seed: UInt64) async throws {
        let scratch = try ScratchStore()
        try await scratch.store.write { (writer) throws(QueueStoreError) in
            var walk = Walk(numbers: SeededNumbers(state: seed))
            try walk.add(1500, at: nil, nil, writer)
            for step in 0..<150 {
                try walk.step(writer)
                if step % 10 == 0 { try walk.compareAll(writer) }
                try walk.comparePage(writer)
            }
            try walk.compareAll(writer)
        }
        try await scratch.expectExactTally()
    }
}

private struct Walk {
    var numbers: SeededNumbers
    var model = NaiveQueue()
    var last: UInt64 = 0

    mutating func step(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let session: String? = Bool.random(using: &self.numbers) ? nil : "s"
        let line = self.model.line(session)
        switch Int.random(in: 0..<10, using: &self.numbers) {
        case 0: try self.add(Int.random(in: 1...40, using: &self.numbers), at: nil, session, writer)
        // Always the same place, so that gaps are used up.
        case 1, 2: try self.add(Int.random(in: 1...250, using: &self.numbers), at: 7, session, writer)
        case 3: try self.add(1, at: Int.random(in: 0...line.count, using: &self.numbers), session, writer)
        case 4, 5: try self.move(line, session, writer)
        case 6: try self.change(line, session, writer)
        case 7, 8: try self.end(line, session, writer)
        default: try self.forgetOrRetry(writer)
        }
    }

    mutating func add(
        _ count: Int,
        at place: Int?,
        _ session: String?,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        var added: [StoredTransfer] = []
        for _ in 0..<count {
            self.last += 1
            added.append(transfer(self.last &* 0x9E37_79B9_7F4A_7C15, session: session))
        }
        try writer.add(added, at: place)
        self.model.add(added.map { .init(id: $0.id, session: session, state: .waiting) }, at: place, session)
    }

    mutating func move(
        _ line: [NaiveQueue.Entry],
        _ session: String?,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        var line = line
        guard !line.isEmpty else { return }
        for _ in 0..<20 {
            let from = Int.random(in: 0..<line.count, using: &self.numbers)
            let wanted = Int.random(in: -2...12, using: &self.numbers)
            let entry = line.remove(at: from)
            let place = min(max(0, wanted), line.count)
            line.insert(entry, at: place)
            #expect(try writer.move(entry.id, to: wanted) == place)
        }
        self.model.replace(line, session)
    }

    mutating func change(
        _ line: [NaiveQueue.Entry],
        _ session: String?,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        var line = line
        let state: TransferRecord.State = Bool.random(using: &self.numbers) ? .paused : .waiting
        if Int.random(in: 0..<8, using: &self.numbers) == 0 {
            let from: TransferRecord.State = state == .paused ? .waiting : .paused
            let changed = try writer.setState(state, from: from, session: session)
            #expect(changed == line.count { $0.state == from })
            for index in line.indices { line[index].state = state }
        } else {
            let priority = Int.random(in: -2...2, using: &self.numbers)
            let chosen = line.indices.filter { _ in Int.random(in: 0..<9, using: &self.numbers) == 0 }
            for index in chosen {
                line[index].state = state
                line[index].priority = priority
            }
            try writer.setState(state, of: chosen.map { line[$0].id })
            try writer.setPriority(priority, of: chosen.map { line[$0].id })
        }
        self.model.replace(line, session)
    }

    mutating func end(
        _ line: [NaiveQueue.Entry],
        _ session: String?,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        var left: [NaiveQueue.Entry] = []
        var ends: [StoredEnd] = []
        for var entry in line {
            guard Int.random(in: 0..<6, using: &self.numbers) == 0 else {
                left.append(entry)
                continue
            }
            entry.state = [.finished, .failed, .removed].randomElement(using: &self.numbers) ?? .finished
            ends.append(StoredEnd(id: entry.id, state: entry.state, path: nil, bytes: 0, total: nil, at: 5))
            self.model.history.append(entry)
        }
        try writer.end(ends)
        self.model.replace(left, session)
    }

    mutating func forgetOrRetry(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let history = self.model.history
        let chosen = history.filter { _ in Int.random(in: 0..<10, using: &self.numbers) == 0 }
        let ids = Set(chosen.map(\.id))
        switch Int.random(in: 0..<3, using: &self.numbers) {
        case 0:
            try writer.forget(chosen.map(\.id))
            self.model.history.removeAll { ids.contains($0.id) }
        case 1:
            let again = chosen.filter { $0.state != .finished }
            try writer.retry(again.map(\.id))
            self.model.history.removeAll { ids.contains($0.id) && $0.state != .finished }
            for entry in again {
                var entry = entry
                entry.state = .waiting
                self.model.add([entry], at: nil, entry.session)
            }
        default:
            let shared = history.count { $0.session == nil && $0.state != .failed }
            let kept = Int.random(in: shared / 2...(shared + 10), using: &self.numbers)
            var excess = max(0, shared - kept)
            let forgotten = try writer.trimHistory(count: kept, before: 0, most: 1000)
            #expect(forgotten.values.reduce(0, +) == excess)
            self.model.history.removeAll {
                guard $0.session == nil, $0.state != .failed, excess > 0 else { return false }
                excess -= 1
                return true
            }
        }
    }

    mutating func comparePage(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let states = Set(TransferRecord.State.allCases.filter { _ in Bool.random(using: &self.numbers) })
        let session: String?? = [nil, .some(nil), .some("s")].randomElement(using: &self.numbers) ?? nil
        let fromEnd = Bool.random(using: &self.numbers)
        let expected = self.model.page(states, session, fromEnd)
        let offset = Int.random(in: 0...(expected.count + 3), using: &self.numbers)
        let limit = Int.random(in: 0...50, using: &self.numbers)
        let page = try writer.reader.transfers(
            in: states,
            session: session,
            offset: offset,
            limit: limit,
            fromEnd: fromEnd
        )
        #expect(page.map(\.id) == Array(expected.dropFirst(offset).prefix(limit)))
        let unfinished = Set(self.model.line.map(\.id))
        let placed = expected.enumerated().filter { unfinished.contains($0.element) }
        let places = try writer.reader.places(
            of: placed.map(\.element) + self.model.history.map(\.id),
            in: states,
            session: session,
            fromEnd: fromEnd
        )
        #expect(places == placed.map(\.offset))
    }

    mutating func compareAll(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        try writer.reader.expectExactTally()
        let everything = try writer.reader.transfers(
            in: Set(TransferRecord.State.allCases),
            session: nil,
            offset: 0,
            limit: .max,
            fromEnd: false
        )
        #expect(everything.map(\.id) == self.model.page(Set(TransferRecord.State.allCases), nil, false))
        for session in [nil, "s"] as [String?] {
            let line = self.model.line(session)
            if let (place, entry) = line.enumerated().randomElement(using: &self.numbers) {
                #expect(try writer.reader.place(of: entry.id) == place)
            }
            let next = line.enumerated().filter { $0.element.state == .waiting }
                .sorted { ($1.element.priority, $0.offset) < ($0.element.priority, $1.offset) }
            let found = try writer.reader.nextToRun(session: session, limit: 30)
            #expect(found.map(\.id) == next.prefix(30).map(\.element.id))
        }
        var counts: [CountKey: Int] = [:]
        for entry in self.model.line + self.model.history {
            counts[CountKey(session: entry.session, state: entry.state), default: 0] += 1
        }
        #expect(try writer.reader.counts() == counts)
    }
}
