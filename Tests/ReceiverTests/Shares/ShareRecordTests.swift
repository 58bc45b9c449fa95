// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Receiver

/// Downloads by a link, with crashes in between.
@Suite("A link that is restored from its record")
struct ShareRecordTests {
    private static let length: Int64 = 4 << 20
    private static let piece: Int64 = 256 << 10

    /// A share and its record on disk, which lags behind.
    private struct Bench {
        let downloads: Int
        var share: Share
        /// The state on disk.
        var disk = Share(expires: nil, downloads: nil)
        /// The bytes that really were sent, by the number of the claim.
        var sent: [Share.ClaimID: Int64] = [:]
        var total: Int64 = 0
        var writes = 0
        var now: Int64 = 0
        var tickets = 0

        init(downloads: Int) {
            self.downloads = downloads
            self.share = Share(expires: nil, downloads: downloads)
        }

        mutating func write() {
            guard let changes = self.share.takeChanges() else { return }
            #expect(self.disk.apply(.object(changes)) == true)
            self.writes += 1
        }

        /// Everything outside the disk is lost.
        mutating func crash() {
            var restored = Share(expires: nil, downloads: self.downloads)
            #expect(restored.apply(.object(self.disk.record)) == true)
            for (id, claim) in self.share.claims {
                guard let real = self.sent[id], real > 0 else { continue }
                #expect((restored.claims[id]?.sent ?? .max) >= real, "claim \(id) of \(claim.address)")
            }
            #expect(restored.claims.count + restored.finished <= self.downloads)
            restored.restarted(length: ShareRecordTests.length, now: self.now)
            self.share = restored
        }

        mutating func request(_ count: Int64, _ client: Share.Client) -> Share.ClaimID? {
            self.tickets += 1
            let verdict = self.share.requested(
                count,
                of: ShareRecordTests.length,
                by: client,
                offering: "t\(self.tickets)",
                now: self.now
            )
            guard case .claim(let id) = verdict else { return nil }
            if self.share.lease(id, ahead: count, of: ShareRecordTests.length) { self.write() }
            return id
        }

        /// Sends a piece; false if it may not be sent.
        mutating func send(_ count: Int64, ahead: Int64, on id: Share.ClaimID) -> Bool {
            guard self.share.take(count, of: ShareRecordTests.length, for: id) else { return false }
            if self.share.lease(id, ahead: ahead, of: ShareRecordTests.length) { self.write() }
            self.sent[id, default: 0] += count
            self.total += count
            return true
        }
    }

    @Test("never sends more than an uninterrupted share, whenever it crashes", arguments: 0..<60)
    func walks(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let downloads = Int.random(in: 1...4, using: &random)
        var bench = Bench(downloads: downloads)
        var running: [(id: Share.ClaimID, left: Int64)] = []
        for _ in 0..<2000 {
            bench.now += Int64.random(in: 0...3, using: &random) * Int64.random(in: 0...30, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<5:
                bench.crash()
                running = []
            case 5..<30:
                let count = Int64.random(in: 1...Self.length, using: &random)
                let number = Int.random(in: 0...6, using: &random)
                let ticket = bench.share.claims.randomElement(using: &random)?.value.ticket
                let client = Share.Client(ticket: Bool.random(using: &random) ? ticket : nil, address: "\(number)")
                if let id = bench.request(count, client) { running.append((id, count)) }
            case 30..<45 where !running.isEmpty:
                let index = Int.random(in: 0..<running.count, using: &random)
                bench.share.ended(running[index].id, unsent: 0, now: bench.now)
                running.remove(at: index)
            case 45..<50: bench.write()
            default:
                guard !running.isEmpty else { continue }
                let index = Int.random(in: 0..<running.count, using: &random)
                let count = min(Self.piece, running[index].left)
                guard count > 0 else { continue }
                if bench.send(count, ahead: running[index].left - count, on: running[index].id) {
                    running[index].left -= count
                }
            }
        }
        // The bound of decision 0018: one and a half copies for a claim, and half of one for those that were given away.
        #expect(bench.total <= 2 * Int64(downloads) * Self.length)
    }

    @Test("lets a client finish its download in spite of crashes", arguments: 0..<40)
    func promised(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var bench = Bench(downloads: 1)
        var got: Int64 = 0
        var ticket: String?
        var crashes = 0
        while got < Self.length {
            let client = Share.Client(ticket: ticket, address: "a")
            let claim = bench.request(Self.length - got, client)
            let id = try #require(claim)
            ticket = bench.share.ticket(id)
            let end =
                crashes < 3 ? Int64.random(in: got...Self.length, using: &random) : Self.length
            while got < end {
                let count = min(Self.piece, Self.length - got)
                #expect(bench.send(count, ahead: Self.length - got - count, on: id) == true)
                got += count
            }
            if got < Self.length {
                bench.crash()
                crashes += 1
            } else {
                bench.share.ended(id, unsent: 0, now: 0)
            }
        }
        #expect(bench.sent.count == 1)
        // A sync for each sixteenth at most, and not for each chunk.
        #expect(bench.writes <= 17 + 2 * crashes)
    }

    @Test("is stored before the first byte, and returns its unused bytes later")
    func order() throws {
        var bench = Bench(downloads: 2)
        let client = Share.Client(ticket: nil, address: "a")
        let claim = bench.request(100, client)
        let id = try #require(claim)
        // Small ranges of a large file are stored in steps.
        #expect(bench.disk.claims[id]?.sent == Self.length / 16)
        #expect(bench.send(100, ahead: 0, on: id) == true)
        #expect(bench.writes == 1)
        bench.share.ended(id, unsent: 60, now: 0)
        bench.share.settle()
        bench.write()
        #expect(bench.disk.claims[id]?.sent == 40)
    }

    @Test("is stored about as often for many small ranges as for a whole file")
    func ranges() throws {
        var bench = Bench(downloads: 1)
        for _ in 0..<1000 {
            let claim = bench.request(4096, Share.Client(ticket: nil, address: "a"))
            let id = try #require(claim)
            #expect(bench.send(4096, ahead: 0, on: id) == true)
            bench.share.ended(id, unsent: 0, now: 0)
            bench.write()
        }
        #expect(bench.writes <= 20)
        bench.crash()
        // The loss by rounding is less than the half that is permitted in addition.
        let claim = bench.request(96 * 1024 + Self.length / 4, Share.Client(ticket: nil, address: "a"))
        #expect(claim == 1)
    }

    @Test("is not restored from an unknown record")
    func malformed() throws {
        var share = Share(expires: nil, downloads: 1)
        for text in ["{}", "[]", "{\"claims\":[{}],\"gone\":[],\"next\":1,\"finished\":0,\"spilled\":0}"] {
            let json = try JSON(parsing: Array(text.utf8))
            #expect(share.apply(json) == false)
        }
        #expect(share.claims.isEmpty)
    }
}
