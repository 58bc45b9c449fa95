// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import QueueStore

/// The queue as anyone would write it, with orders for all of it.
private struct NaiveStore {
    struct Entry {
        var id: GID
        var session: String?
        var state: TransferRecord.State
        var priority = 0
        var host: String
    }

    var line: [Entry] = []
    var ended: [Entry] = []

    func waiting(_ session: String?) -> [Entry] {
        self.line.filter { $0.session == session && $0.state == .waiting }
    }

    /// Those that are next, by a look at each.
    func next(_ query: TurnQuery) -> [GID] {
        var room = query.room
        var found: [GID] = []
        let order = self.waiting(query.session).enumerated()
            .sorted { ($1.element.priority, $0.offset) < ($0.element.priority, $1.offset) }
        for (_, entry) in order where found.count < query.limit && !query.excluded.contains(entry.id) {
            let host = HostKey(["http://\(entry.host)/"])
            let left = room[host] ?? query.usualRoom ?? .max
            guard left > 0 else { continue }
            room[host] = left - 1
            found.append(entry.id)
        }
        return found
    }

    var counts: [CountKey: Int] {
        var counts: [CountKey: Int] = [:]
        for entry in self.line + self.ended {
            counts[CountKey(session: entry.session, state: entry.state), default: 0] += 1
        }
        return counts
    }
}

@Suite struct StateWalkTests {
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func aWalkWithKillsAgreesWithArrays(seed: UInt64) async throws {
        var walk = Walk(numbers: SeededNumbers(state: seed))
        var scratch = try ScratchStore()
        scratch.handleRemoved()
        for step in 0..<160 {
            let before = walk
            walk = try await scratch.store.write { (writer) throws(QueueStoreError) in
                var walk = before
                try walk.step(writer)
                return walk
            }
            let now = walk
            walk = try await scratch.store.read { (reader) throws(QueueStoreError) in
                var walk = now
                try walk.compare(reader)
                return walk
            }
            if step % 4 == 3 {
                // Between any two steps, with or without what was to be done in the background.
                let copy = try scratch.killed()
                await scratch.store.close()
                scratch = try ScratchStore(directory: copy)
                if Bool.random(using: &walk.numbers) { scratch.handleRemoved() }
            }
        }
        scratch.handleRemoved()
        await scratch.store.finishChores()
        try await scratch.expectExactTally()
        let model = walk.model
        try await scratch.store.read { (reader) throws(QueueStoreError) in
            let rows = try reader.connection.integer("SELECT count(*) FROM transfers")
            #expect(rows == Int64(model.line.count + model.ended.count))
            let left = try reader.connection.integer(
                "SELECT (SELECT count(*) FROM forgotten) + (SELECT count(*) FROM removals)"
            )
            #expect(left == 0)
        }
        await scratch.store.close()
    }
}

private struct Walk: Sendable {
    var numbers: SeededNumbers
    var model = NaiveStore()
    var last: UInt64 = 0
    /// What searches for the next transfers have found, often long ago.
    var standings: [GID: Standing] = [:]

    mutating func step(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let session: String? = Int.random(in: 0..<3, using: &self.numbers) > 0 ? nil : "s"
        switch Int.random(in: 0..<20, using: &self.numbers) {
        case 0...4: try self.add(session, writer)
        case 5, 6: try self.setAll(.paused, .waiting, session, writer)
        case 7, 8: try self.setAll(.waiting, .paused, session, writer)
        case 9...12: try self.setSome(writer)
        case 13: try self.move(session, writer)
        case 14, 15: try self.end(writer)
        case 16: try self.retry(writer)
        case 17: try self.forgetSome(writer)
        case 18: try self.removeAll(session, writer)
        default:
            let forgotten = try writer.forgetEnded(session: session)
            #expect(forgotten.values.reduce(0, +) == self.model.ended.count { $0.session == session })
            self.model.ended.removeAll { $0.session == session }
        }
    }

    private mutating func some<T>(_ all: [T], oneIn count: Int) -> [T] {
        all.filter { _ in Int.random(in: 0..<count, using: &self.numbers) == 0 }
    }

    private mutating func add(_ session: String?, _ writer: borrowing QueueWriter) throws(QueueStoreError) {
        var added: [StoredTransfer] = []
        for _ in 0..<Int.random(in: 1...30, using: &self.numbers) {
            self.last += 1
            // Some that were there before: their rows may be there still.
            let isOld = Int.random(in: 0..<10, using: &self.numbers) == 0
            let number = isOld ? UInt64.random(in: 1...self.last, using: &self.numbers) : self.last
            var one = transfer(number &* 0x9E37_79B9_7F4A_7C15, session: session)
            guard !added.contains(where: { $0.id == one.id }) else { continue }
            let host = "h\(Int.random(in: 0..<6, using: &self.numbers)).example"
            one.urls = ["http://\(host)/\(self.last)"]
            one.state = Int.random(in: 0..<4, using: &self.numbers) == 0 ? .paused : .waiting
            one.priority = Int.random(in: -1...1, using: &self.numbers)
            one.path = Bool.random(using: &self.numbers) ? "/data/\(self.last)" : nil
            if (self.model.line + self.model.ended).contains(where: { $0.id == one.id }) {
                var code: QueueStoreError.Code?
                do throws(QueueStoreError) { try writer.add([one], at: nil) } catch { code = error.code }
                #expect(code == .duplicate(one.id))
            } else {
                added.append(one)
            }
        }
        try writer.add(added, at: nil)
        self.model.line += added.map {
            .init(
                id: $0.id,
                session: session,
                state: $0.state,
                priority: $0.priority,
                host: String($0.urls[0].split(separator: "/")[1])
            )
        }
    }

    private mutating func setAll(
        _ state: TransferRecord.State,
        _ from: TransferRecord.State,
        _ session: String?,
        _ writer: borrowing QueueWriter
    ) throws(QueueStoreError) {
        let count = try writer.setState(state, from: from, session: session)
        var expected = 0
        for index in self.model.line.indices
        where self.model.line[index].session == session && self.model.line[index].state == from {
            self.model.line[index].state = state
            expected += 1
        }
        #expect(count == expected)
    }

    private mutating func setSome(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let chosen = self.some(Array(self.model.line.indices), oneIn: 9)
        let ids = chosen.map { self.model.line[$0].id }
        switch Int.random(in: 0..<3, using: &self.numbers) {
        case 0:
            let priority = Int.random(in: -2...2, using: &self.numbers)
            try writer.setPriority(priority, of: ids)
            for index in chosen { self.model.line[index].priority = priority }
        case 1:
            for index in chosen {
                let host = "h\(Int.random(in: 0..<6, using: &self.numbers)).example"
                try writer.setURLs(["http://\(host)/new"], of: self.model.line[index].id)
                self.model.line[index].host = host
            }
        default:
            let state: TransferRecord.State = Bool.random(using: &self.numbers) ? .paused : .waiting
            try writer.setState(state, of: ids)
            for index in chosen { self.model.line[index].state = state }
        }
    }

    private mutating func move(_ session: String?, _ writer: borrowing QueueWriter) throws(QueueStoreError) {
        var line = self.model.line.filter { $0.session == session }
        let other = self.model.line.filter { $0.session != session }
        for _ in 0..<5 where !line.isEmpty {
            let entry = line.remove(at: Int.random(in: 0..<line.count, using: &self.numbers))
            let place = Int.random(in: 0...line.count, using: &self.numbers)
            line.insert(entry, at: place)
            #expect(try writer.move(entry.id, to: place) == place)
        }
        self.model.line = line + other
    }

    private mutating func end(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let chosen = Set(self.some(self.model.line.map(\.id), oneIn: 6))
        var ends: [StoredEnd] = []
        for var entry in self.model.line where chosen.contains(entry.id) {
            entry.state = [.finished, .failed, .removed].randomElement(using: &self.numbers) ?? .finished
            var end = StoredEnd(id: entry.id, state: entry.state, path: nil, bytes: 0, total: nil, at: 5)
            end.standing = self.standings[entry.id]
            ends.append(end)
            self.model.ended.append(entry)
        }
        try writer.end(ends)
        self.model.line.removeAll { chosen.contains($0.id) }
    }

    private mutating func retry(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let chosen = self.some(self.model.ended.filter { $0.state != .finished }, oneIn: 5)
        try writer.retry(chosen.map(\.id))
        for var entry in chosen {
            self.model.ended.removeAll { $0.id == entry.id }
            entry.state = .waiting
            self.model.line.append(entry)
        }
    }

    private mutating func forgetSome(_ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let chosen = Set(self.some(self.model.ended.map(\.id), oneIn: 5))
        try writer.forget(Array(chosen))
        self.model.ended.removeAll { chosen.contains($0.id) }
    }

    private mutating func removeAll(_ session: String?, _ writer: borrowing QueueWriter) throws(QueueStoreError) {
        let line = self.model.line.filter { $0.session == session }
        let (removed, kept) = try writer.removeAll(session: session, at: 7, keeping: .max, deletesPartial: true)
        #expect(removed == line.count && kept == line.count)
        self.model.line.removeAll { $0.session == session }
        self.model.ended += line.map {
            var entry = $0
            entry.state = .removed
            return entry
        }
    }

    mutating func compare(_ reader: borrowing QueueReader) throws(QueueStoreError) {
        try reader.expectExactTally()
        #expect(try reader.counts() == self.model.counts)
        for entry in self.some(self.model.line + self.model.ended, oneIn: 8) {
            #expect(try reader.transfer(entry.id)?.state == entry.state)
        }
        for session in [nil, "s"] as [String?] {
            let line = self.model.line.filter { $0.session == session }
            for states in [[.waiting], [.paused], [.waiting, .paused]] as [Set<TransferRecord.State>] {
                let page = try reader.transfers(
                    in: states,
                    session: .some(session),
                    offset: 0,
                    limit: .max,
                    fromEnd: false
                )
                #expect(page.map(\.id) == line.filter { states.contains($0.state) }.map(\.id))
                #expect(page.allSatisfy { one in line.first { $0.id == one.id }?.state == one.state })
            }
            if let (place, entry) = line.enumerated().randomElement(using: &self.numbers) {
                #expect(try reader.place(of: entry.id) == place)
            }
            try self.compareTurns(session, reader)
        }
        try self.comparePages(reader)
    }

    private mutating func compareTurns(_ session: String?, _ reader: borrowing QueueReader) throws(QueueStoreError) {
        var query = TurnQuery(session: session, limit: Int.random(in: 1...60, using: &self.numbers))
        query.excluded = Set(self.some(self.model.line.map(\.id), oneIn: 3))
        for host in 0..<6 where Bool.random(using: &self.numbers) {
            query.room[HostKey(["http://h\(host).example/"])] = Int.random(in: 0...3, using: &self.numbers)
        }
        if Bool.random(using: &self.numbers) { query.usualRoom = Int.random(in: 0...9, using: &self.numbers) }
        query.known = Set(self.some(self.model.line.map(\.id), oneIn: 2))
        let found = try reader.nextToRun(query)
        #expect(found.map(\.id) == self.model.next(query))
        for next in found {
            #expect((next.transfer == nil) == query.known.contains(next.id))
            if let transfer = next.transfer {
                #expect(try reader.transfer(next.id) == transfer)
                #expect(next.host == transfer.host)
            }
            self.standings[next.id] = next.standing
        }
        let all = TurnQuery(session: session, limit: 40)
        #expect(try reader.nextToRun(session: session, limit: 40).map(\.id) == self.model.next(all))
    }

    private mutating func comparePages(_ reader: borrowing QueueReader) throws(QueueStoreError) {
        let states = Set(TransferRecord.State.allCases.filter { _ in Bool.random(using: &self.numbers) })
        var found: [GID] = []
        var number: Int64? = 0
        while let behind = number {
            let page = try reader.transfers(behind: behind, in: states, session: nil, limit: 7)
            found += page.transfers.map(\.id)
            number = page.next
        }
        let expected = (self.model.line + self.model.ended).filter { states.contains($0.state) }.map(\.id)
        #expect(found.count == expected.count && Set(found) == Set(expected))
    }
}
