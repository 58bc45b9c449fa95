// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting
import Worlds

/// A sync that fails once: the kernel has dropped what was written, and the next sync succeeds without it (fsync(2)).
@Suite("After a failed sync of the journal")
struct FailedSyncTests {
    private static let target = FileTarget(directory: "/data", name: "f")

    private static func write(_ file: any PartialFile, _ range: ByteRange) throws {
        let extent = try #require(file.beginExtent(at: range.lowerBound))
        let bytes = [UInt8](repeating: 7, count: range.count)
        try bytes.withUnsafeBytes { try file.write($0, extent: extent) }
        file.endExtent(extent)
    }

    /// A partial file with durable facts, and later ones whose sync has failed.
    private static func failed(on disk: SimulatedDisk) throws -> any PartialFile {
        let facts = ResourceFacts(url: "http://a.test/f", length: 3000, entityTag: "\"1\"")
        let file = try DiskStore().createPartial(self.target, facts: facts)
        try file.checkpoint()
        var later = file.facts
        later.entityTag = "\"later\""
        try file.update(facts: later)
        // After the one of the data.
        var syncs = 0
        disk.onCall = { call in
            if call.name == "fdatasync" { syncs += 1 }
            return syncs == 2 ? .error(EIO) : .none
        }
        let error = #expect(throws: StorageError.self) { try file.checkpoint() }
        #expect(error?.message.hasPrefix("cannot sync the journal of '/data/f.part'") == true)
        disk.onCall = nil
        return file
    }

    @Test("nothing is made durable by the same process")
    func remembered() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        try FileCalls.simulating(disk) {
            let file = try Self.failed(on: disk)
            try Self.write(file, 0..<1000)
            #expect(throws: StorageError.self) { try file.checkpoint() }
        }
    }

    @Test("or after a write that has destroyed facts, nothing is made durable")
    func destroyed() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        try FileCalls.simulating(disk) {
            let facts = ResourceFacts(url: "http://a.test/f", length: 3000, entityTag: "\"1\"")
            let file = try DiskStore().createPartial(Self.target, facts: facts)
            try file.checkpoint()
            var later = file.facts
            later.entityTag = "\"later\""
            try file.update(facts: later)
            try Self.write(file, 0..<1000)
            disk.onCall = { $0.name == "pwrite" && $0.count > 32 ? .short(20, then: ENOSPC) : .none }
            var last = later
            last.entityTag = "\"last\""
            #expect(throws: StorageError.self) { try file.update(facts: last) }
            disk.onCall = nil
            #expect(throws: StorageError.self) { try file.checkpoint() }
            file.keep()
            disk.process = 2
            let next = try DiskStore().openPartial(Self.target)
            #expect(next.facts == facts)
            #expect(next.initialExtents == [])
        }
    }

    @Test("the next process makes the facts durable before its bytes", arguments: 0..<40)
    func renewed(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
        disk.order = .independent
        disk.process = 1
        try FileCalls.simulating(disk) {
            try Self.failed(on: disk).keep()
            disk.process = 2
            let file = try DiskStore().openPartial(Self.target)
            #expect(file.facts.entityTag == "\"later\"")
            try Self.write(file, 0..<1000)
            try file.checkpoint()
            disk.losePower()
            disk.process = 3
            let next = try DiskStore().openPartial(Self.target)
            #expect(next.facts.entityTag == "\"later\"")
            #expect(next.initialExtents == [0..<1000])
        }
    }
}
