// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting
import Worlds

/// The order in which a store makes changes durable, on a simulated disk.
@Suite("The order of a store's changes")
struct StoreOrderTests {
    private static let facts = ResourceFacts(url: "http://a.test/f", length: 3000, entityTag: "\"1\"")

    private static func write(_ file: any PartialFile, _ range: ByteRange) throws {
        let extent = try #require(file.beginExtent(at: range.lowerBound))
        let bytes = [UInt8](repeating: 7, count: range.count)
        try bytes.withUnsafeBytes { try file.write($0, extent: extent) }
        file.endExtent(extent)
    }

    @Test("After a loss of power, durable bytes have the facts under which they were written", arguments: [1, 2, 3])
    func factsBeforeMarks(changes: Int) throws {
        for seed in UInt64(0)..<40 {
            // The loss of power comes before each call of the checkpoint in turn.
            for call in 0..<8 {
                let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
                disk.order = .independent
                disk.process = 1
                let target = FileTarget(directory: "/data", name: "f")
                try FileCalls.simulating(disk) {
                    let file = try DiskStore().createPartial(target, facts: Self.facts)
                    try file.checkpoint()
                    for number in 1...changes {
                        var facts = file.facts
                        facts.entityTag = "\"later \(number)\""
                        try file.update(facts: facts)
                    }
                    try Self.write(file, 0..<1000)
                    var calls = 0
                    disk.onCall = { _ in
                        calls += 1
                        return calls > call ? .killBefore : .none
                    }
                    try? file.checkpoint()
                    disk.onCall = nil
                    disk.losePower()
                    disk.process = 2
                    let next = try DiskStore().openPartial(target)
                    let isLater = next.facts.entityTag == "\"later \(changes)\""
                    #expect(next.initialExtents == [] || isLater, "seed \(seed), call \(call)")
                }
            }
        }
    }

    @Test("A file gets no name if the directories above it cannot be made durable", arguments: [false, true])
    func parentsBeforeName(isSmall: Bool) throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        try FileCalls.simulating(disk) {
            let target = FileTarget(directory: "/data/new", name: "f")
            let store = DiskStore()
            let options = CommitOptions(durability: .synced)
            let small = isSmall ? try store.createSmall(target) : nil
            let partial = isSmall ? nil : try store.createPartial(target, facts: Self.facts)
            if let partial { try Self.write(partial, 0..<3000) }
            func commit() throws {
                _ = try small?.commit(as: target, options)
                _ = try partial?.commit(as: target, length: 3000, options)
            }
            disk.onCall = { $0.name == "openat" && $0.path == "/data" ? .error(EMFILE) : .none }
            let error = #expect(throws: StorageError.self) { try commit() }
            #expect(error?.message.hasPrefix("cannot open the directory '/data'") == true)
            #expect(!disk.exists("/data/new/f"))
            disk.onCall = nil
            try commit()
            #expect(disk.exists("/data/new/f"))
        }
    }
}
