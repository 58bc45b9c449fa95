// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import TransferCore
import TransferTesting

@testable import MartletSystemTransport

@Suite("Random histories of a background session")
struct LedgerWalkTests {
    /// The world around a ledger, with lists instead of rules: what the system runs, what is on the shelf, who waits.
    private struct Surroundings {
        struct Job {
            var key: BackgroundKey
            var isCancelled = false
            /// Whether it has ended already, so that the system does not list it, and only its end is reported.
            var isUnlisted = false
        }

        var ledger = BackgroundLedger(unclaimedLimit: 1000)
        var isListed = false
        var jobs: [Int: Job] = [:]
        var shelf: [Int: BackgroundKey] = [:]
        var resumable: [Int: BackgroundKey] = [:]
        /// The exchanges that have no end yet, and what they have.
        var open: [Int: BackgroundKey] = [:]
        var owners: [Int: Int] = [:]
        var delivering: [Int: Int] = [:]
        var next = 1
        var seed: UInt64

        mutating func number() -> Int {
            self.next += 1
            return self.next
        }

        mutating func perform(_ actions: [BackgroundLedger.Action]) {
            for action in actions {
                switch action {
                case .begin(let exchange, let key, let resume):
                    self.attach(before: exchange)
                    #expect(self.isListed && self.open[exchange] == key, "seed \(self.seed): begins for \(exchange)")
                    #expect(
                        !self.jobs.contains {
                            $0.value.key == key && !$0.value.isUnlisted && self.owners[$0.key] == nil
                        },
                        "seed \(self.seed): a task is made although one is there"
                    )
                    #expect(
                        !self.shelf.contains { $0.value == key && !self.delivering.values.contains($0.key) },
                        "seed \(self.seed): a task is made although its response is there"
                    )
                    if let resume { #expect(self.resumable.removeValue(forKey: resume) == key, "seed \(self.seed)") }
                    let task = self.number()
                    self.jobs[task] = Job(key: key)
                    self.owners[task] = exchange
                    self.ledger.began(exchange, key, task)
                case .cancel(let task): self.jobs[task]?.isCancelled = true
                case .deliver(let file, let exchange):
                    #expect(self.shelf[file] == self.open[exchange], "seed \(self.seed): another response")
                    #expect(!self.delivering.values.contains(file), "seed \(self.seed): a response for two")
                    #expect(self.delivering[exchange] == nil, "seed \(self.seed): two responses for one")
                    self.delivering[exchange] = file
                    for (task, owner) in self.owners where owner == exchange { self.owners[task] = nil }
                case .fail(let exchange, _):
                    #expect(self.open.removeValue(forKey: exchange) != nil, "seed \(self.seed): a second end")
                case .discard(let file):
                    let isDelivered = self.delivering.values.contains(file)
                    #expect(!isDelivered, "seed \(self.seed): a response is discarded while it is delivered")
                    let known = self.shelf.removeValue(forKey: file) ?? self.resumable.removeValue(forKey: file)
                    #expect(known != nil, "seed \(self.seed): discards what is not there")
                case .callWakeHandlers: break
                }
            }
            self.attach(before: .max)
        }

        /// Exchanges for which the ledger did nothing have a task that was there: the oldest that is not ending.
        private mutating func attach(before limit: Int) {
            guard self.isListed else { return }
            let owners = Set(self.owners.values)
            for (exchange, key) in self.open.sorted(by: { $0.key < $1.key })
            where exchange < limit && !owners.contains(exchange) && self.delivering[exchange] == nil {
                let free = self.jobs
                    .filter { $0.value.key == key && !$0.value.isUnlisted && self.owners[$0.key] == nil }
                    .sorted { $0.key < $1.key }
                let task = free.first { !$0.value.isCancelled } ?? free.first
                #expect(task != nil, "seed \(self.seed): exchange \(exchange) has nothing to wait for")
                if let task { self.owners[task.key] = exchange }
            }
        }

        mutating func finish(_ task: Int) {
            guard let job = self.jobs.removeValue(forKey: task) else { return }
            self.owners[task] = nil
            let file = self.number()
            self.shelf[file] = job.key
            self.perform(
                self.ledger.finished(task, job.key, file, ShelvedFacts(status: 200, length: 9, strongTag: nil, time: 0))
            )
        }

        mutating func fail(_ task: Int, leaving: Bool) {
            guard let job = self.jobs.removeValue(forKey: task) else { return }
            self.owners[task] = nil
            let file = leaving ? self.number() : nil
            if let file { self.resumable[file] = job.key }
            if job.isCancelled {
                self.perform(self.ledger.wasCancelled(task, resume: file))
            } else {
                let failure = BackgroundFailure(TransportError(.broken, "lost"))
                self.perform(self.ledger.failed(task, job.key, failure, resume: file))
            }
        }

        /// The program was killed and runs again: the tasks and the shelf are still there.
        mutating func relaunch() {
            (self.open, self.owners, self.delivering, self.isListed) = ([:], [:], [:], false)
            self.jobs = self.jobs.mapValues { Job(key: $0.key) }
            let facts = ShelvedFacts(status: 200, length: 9, strongTag: nil, time: 0)
            self.ledger = BackgroundLedger(
                stored: self.shelf.mapValues { ($0, facts) },
                resumable: self.resumable,
                unclaimedLimit: 1000
            )
        }

        mutating func list(_ random: inout SeededGenerator) {
            guard !self.isListed else { return }
            self.isListed = true
            for task in self.jobs.keys.sorted() where Int.random(in: 0..<4, using: &random) == 0 {
                self.jobs[task]?.isUnlisted = true
            }
            self.perform(self.ledger.restored(self.jobs.filter { !$0.value.isUnlisted }.map { ($0.key, $0.value.key) }))
        }

        mutating func leave(_ exchange: Int, _ isCancelled: Bool) {
            self.open[exchange] = nil
            self.delivering[exchange] = nil
            for (task, owner) in self.owners where owner == exchange { self.owners[task] = nil }
            self.perform(isCancelled ? self.ledger.cancelled(exchange) : self.ledger.abandoned(exchange))
        }

        mutating func consume(_ exchange: Int) {
            guard self.delivering.removeValue(forKey: exchange) != nil else { return }
            self.open[exchange] = nil
            self.perform(self.ledger.consumed(exchange))
        }
    }

    @Test("every request gets one end, no response is lost, and nothing is fetched twice") func walks() {
        let keys = ["a", "b", "c"].map { LedgerTests.key($0) }
        for seed in 0..<3000 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var world = Surroundings(seed: seed)
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                let exchange = world.open.keys.sorted().randomElement(using: &random)
                let task = world.jobs.keys.sorted().randomElement(using: &random)
                switch Int.random(in: 0..<14, using: &random) {
                case 0...4:
                    let number = world.number()
                    let key = keys[Int.random(in: 0..<keys.count, using: &random)]
                    world.open[number] = key
                    world.perform(world.ledger.requested(number, key))
                case 5: if let exchange { world.leave(exchange, true) }
                case 6: if let exchange { world.leave(exchange, false) }
                case 7, 8: if let task { world.finish(task) }
                case 9, 10: if let task { world.fail(task, leaving: Bool.random(using: &random)) }
                case 11: if let exchange { world.consume(exchange) }
                case 12 where Int.random(in: 0..<4, using: &random) == 0: world.relaunch()
                default: world.list(&random)
                }
            }
            world.list(&random)
            // Each task ends, also those that follow.
            while let task = world.jobs.keys.min() {
                if world.jobs[task]?.isCancelled == true { world.fail(task, leaving: true) } else { world.finish(task) }
            }
            let waiting = world.open.keys.filter { world.delivering[$0] == nil }
            #expect(waiting.isEmpty, "seed \(seed): \(waiting.count) exchanges wait for ever")
            for exchange in world.open.keys.sorted() { world.consume(exchange) }
            #expect(world.open.isEmpty && world.delivering.isEmpty, "seed \(seed)")
        }
    }
}
