// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting
import Worlds

/// The essential behaviour of a store, on the real file system and on a simulated disk.
@Suite("A store on a real and on a simulated disk")
struct StoreOnDisksTests {
    private static let facts = ResourceFacts(url: "http://a.test/f", length: 3000, entityTag: "\"1\"")

    /// Calls `body` with a directory and a function that replaces the process.
    private static func onDisk(
        _ isSimulated: Bool,
        _ body: (String, () -> Void) throws -> Void
    ) throws {
        guard isSimulated else {
            let directory = try TemporaryDirectory()
            return try withExtendedLifetime(directory) { try body(directory.path, {}) }
        }
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        try FileCalls.simulating(disk) {
            try body("/data") {
                disk.endProcess(disk.process)
                disk.process += 1
            }
        }
        disk.endProcess(disk.process)
        #expect(disk.names(inDirectory: "/data").allSatisfy { $0.hasPrefix("f") })
    }

    private static func write(_ file: any PartialFile, _ byte: UInt8, _ range: ByteRange) throws {
        let extent = try #require(file.beginExtent(at: range.lowerBound))
        let bytes = [UInt8](repeating: byte, count: range.count)
        try bytes.withUnsafeBytes { try file.write($0, extent: extent) }
        file.endExtent(extent)
    }

    @Test("A partial file is resumed by another process and finished", arguments: [false, true])
    func resumesAndCommits(isSimulated: Bool) throws {
        try Self.onDisk(isSimulated) { directory, endProcess in
            let target = FileTarget(directory: directory, name: "f")
            do {
                let file = try DiskStore().createPartial(target, facts: Self.facts)
                try Self.write(file, 7, 0..<1000)
                try Self.write(file, 8, 2000..<2500)
                endProcess()
            }
            let store = DiskStore()
            guard case .ours(let facts, written: 1500) = try store.survey(target).partial else {
                Issue.record("\(try store.survey(target).partial)")
                return
            }
            #expect(facts == Self.facts)
            let file = try store.openPartial(target)
            #expect(file.initialExtents == [0..<1000, 2000..<2500])
            #expect(try file.read(900..<1000) == [UInt8](repeating: 7, count: 100))
            try Self.write(file, 9, 1000..<2000)
            try Self.write(file, 9, 2500..<3000)
            _ = try file.commit(as: target, length: 3000, CommitOptions(durability: .synced))
            #expect(try store.readExisting(target, 2499..<2501) == [8, 9])
            #expect(try store.survey(target).existing?.size == 3000)
            guard case .none = try store.survey(target).partial else {
                Issue.record("a partial file is left")
                return
            }
        }
    }

    @Test("A name that is taken is not replaced, and small files get free names", arguments: [false, true])
    func keepsExistingFiles(isSimulated: Bool) throws {
        try Self.onDisk(isSimulated) { directory, _ in
            let store = DiskStore()
            let target = FileTarget(directory: directory, name: "f")
            let first = try store.createSmall(target)
            _ = try first.commit(as: target, CommitOptions(durability: .synced))
            let file = try store.createPartial(target, facts: Self.facts)
            try Self.write(file, 1, 0..<3000)
            #expect(throws: StorageError.self) {
                try file.commit(as: target, length: 3000, CommitOptions(durability: .synced))
            }
            #expect(try store.survey(target).existing?.size == 0)
            let other = FileTarget(directory: directory, name: "f2")
            _ = try file.commit(as: other, length: 3000, CommitOptions(durability: .grouped))
            #expect(try store.survey(other).existing?.size == 3000)
        }
    }

    @Test("After a loss of power, only synced bytes are believed")
    func believesSyncedBytes() throws {
        for seed in UInt64(0)..<50 {
            let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
            disk.process = 1
            let target = FileTarget(directory: "/data", name: "f")
            try FileCalls.simulating(disk) {
                let file = try DiskStore().createPartial(target, facts: Self.facts)
                try Self.write(file, 7, 0..<1000)
                try file.checkpoint()
                try Self.write(file, 8, 2000..<2500)
                disk.losePower()
                disk.process = 2
                #expect(try DiskStore().openPartial(target).initialExtents == [0..<1000], "seed \(seed)")
            }
        }
    }

    @Test("A file that another process has just named is there after a loss of power once it was made durable")
    func makesDurable() throws {
        for seed in UInt64(0)..<50 {
            let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
            disk.order = .independent
            disk.process = 1
            let target = FileTarget(directory: "/data", name: "f")
            try FileCalls.simulating(disk) {
                let other = FileTarget(directory: "/data", name: "g")
                try DiskStore().createPartial(other, facts: Self.facts).checkpoint()
                let file = FileCalls.open("/data/f", O_RDWR | O_CREAT, 0o644)
                #expect(FileCalls.pwrite(file, [1, 2, 3] as [UInt8], 3, 0) == 3)
                disk.endProcess(1)
                disk.process = 2
                try DiskStore().makeDurable(target)
                disk.losePower()
            }
            #expect(disk.contents("/data/f") == [1, 2, 3], "seed \(seed)")
        }
    }

    @Test("A journal that vouches for more than the file has does not come back after a loss of power")
    func forgetsLostBytes() throws {
        for seed in UInt64(0)..<100 {
            let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
            disk.order = .independent
            disk.process = 1
            let target = FileTarget(directory: "/data", name: "f")
            try FileCalls.simulating(disk) {
                let file = try DiskStore().createPartial(target, facts: Self.facts)
                try Self.write(file, 7, 0..<2000)
                try file.checkpoint()
                let data = FileCalls.open("/data/f.part", O_RDWR)
                #expect(FileCalls.ftruncate(data, 0) == 0 && FileCalls.fsync(data) == 0)
                disk.endProcess(1)
                disk.process = 2
                let next = try DiskStore().openPartial(target)
                #expect(next.initialExtents == [])
                try Self.write(next, 8, 0..<1000)
                disk.losePower()
                disk.process = 3
                #expect(try DiskStore().openPartial(target).initialExtents == [], "seed \(seed)")
            }
        }
    }

    @Test("A file that is not the journal's is refused, if a call that examines it fails too", arguments: 0...5)
    func refusesOtherFiles(failing: Int) throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        let target = FileTarget(directory: "/data", name: "f")
        try FileCalls.simulating(disk) {
            for name in ["f", "g"] {
                let other = FileTarget(directory: "/data", name: name)
                let file = try DiskStore().createPartial(other, facts: Self.facts)
                try Self.write(file, 7, 0..<1000)
                try file.checkpoint()
            }
            #expect(FileCalls.rename("/data/g.part", "/data/f.part") == 0)
            disk.endProcess(1)
            disk.process = 2
            var calls = 0
            disk.onCall = { call in
                guard call.name == "fstat", call.path == "f.part" else { return .none }
                calls += 1
                return calls == failing ? .error(EIO) : .none
            }
            #expect(throws: StorageError.self) { try DiskStore().openPartial(target) }
        }
    }

    @Test("Bytes whose sync failed are not believed by the next attempt, also if nothing could be recorded")
    func doubtsBytesOfUnrecordedLosses() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        let target = FileTarget(directory: "/data", name: "f")
        try FileCalls.simulating(disk) {
            let store = DiskStore()
            do {
                let file = try store.createPartial(target, facts: Self.facts)
                try Self.write(file, 7, 0..<1000)
                try file.checkpoint()
                try Self.write(file, 8, 1000..<2000)
                // The sync fails, and the file system becomes read-only.
                disk.onCall = { $0.name == "fdatasync" ? .error(EIO) : $0.changes ? .error(EROFS) : .none }
                #expect(throws: StorageError.self) { try file.checkpoint() }
                (file as any PartialFile).keep()
            }
            #expect(throws: StorageError.self) { try store.openPartial(target) }
            disk.onCall = nil
            guard case .ours(_, written: 1000) = try store.survey(target).partial else {
                Issue.record("\(try store.survey(target).partial)")
                return
            }
            let file = try store.openPartial(target)
            #expect(file.initialExtents == [0..<1000])
            try Self.write(file, 9, 1000..<1500)
            file.keep()
            #expect(try store.openPartial(target).initialExtents == [0..<1500])
        }
    }

    @Test("A directory that a failed attempt has created is synced with the first file in it")
    func syncsDirectoriesOfFailedAttempts() throws {
        for seed in UInt64(0)..<50 {
            let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
            disk.order = .independent
            disk.process = 1
            let target = FileTarget(directory: "/data/new/deep", name: "f")
            try FileCalls.simulating(disk) {
                let store = DiskStore()
                var opened = 0
                disk.onCall = { call in
                    guard call.name == "openat", call.path == target.directory else { return .none }
                    opened += 1
                    // Once it exists.
                    return opened == 2 ? .error(EMFILE) : .none
                }
                #expect(throws: StorageError.self) { try store.createSmall(target) }
                #expect(disk.exists(target.directory))
                disk.onCall = nil
                let file = try store.createSmall(target)
                _ = try file.commit(as: target, CommitOptions(durability: .synced))
                disk.losePower()
                #expect(disk.exists(target.path), "seed \(seed)")
            }
        }
    }

    @Test("Directories that a killed process has created are synced with the first file in them", arguments: [1, 2, 3])
    func syncsDirectoriesOfKilledProcesses(made: Int) throws {
        let components = ["/data", "new", "deep", "deeper"]
        for seed in UInt64(0)..<50 {
            let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
            disk.order = .independent
            disk.process = 1
            try FileCalls.simulating(disk) {
                let early = components.prefix(made + 1).joined(separator: "/")
                _ = try DiskStore().createSmall(FileTarget(directory: early, name: "f"))
                disk.endProcess(1)
                disk.process = 2
                let target = FileTarget(directory: components.joined(separator: "/"), name: "f")
                let file = try DiskStore().createSmall(target)
                _ = try file.commit(as: target, CommitOptions(durability: .synced))
                disk.losePower()
                #expect(disk.exists(target.path), "seed \(seed)")
            }
        }
    }

    @Test("Names are made durable once for all files of a directory")
    func syncsParentsOnce() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        try FileCalls.simulating(disk) {
            disk.makeDirectories("/data/old")
            var parents = 0
            disk.onCall = { call in
                if call.name == "fsync", call.path == "/data" { parents += 1 }
                return .none
            }
            let store = DiskStore()
            for name in ["f", "g", "h"] {
                let target = FileTarget(directory: "/data/old", name: name)
                _ = try store.createSmall(target).commit(as: target, CommitOptions(durability: .synced))
            }
            #expect(parents == 1)
        }
    }

    @Test("A journal with the temporary name that a killed process left is continued")
    func continuesJournalWithTemporaryName() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.features = .nfs
        disk.process = 1
        let target = FileTarget(directory: "/data", name: "f")
        try FileCalls.simulating(disk) {
            disk.onCall = { $0.name == "linkat" ? .killAfter : .none }
            _ = try? DiskStore().createPartial(target, facts: Self.facts)
            disk.endProcess(1)
            disk.onCall = nil
            disk.process = 2
            #expect(disk.names(inDirectory: "/data").count == 2)
            let store = DiskStore()
            guard case .ours(_, written: 0) = try store.survey(target).partial else {
                Issue.record("\(try store.survey(target).partial)")
                return
            }
            let file = try store.openPartial(target)
            try Self.write(file, 7, 0..<3000)
            #expect(disk.names(inDirectory: "/data").sorted() == ["f.part", "f.part.journal"])
            _ = try file.commit(as: target, length: 3000, CommitOptions())
            #expect(disk.names(inDirectory: "/data") == ["f"])
        }
    }

    @Test("A journal with another hard link is another program's")
    func refusesJournalWithOtherLinks() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        let target = FileTarget(directory: "/data", name: "f")
        try FileCalls.simulating(disk) {
            let file = try DiskStore().createPartial(target, facts: Self.facts)
            file.keep()
            let journal = target.path + ".part.journal"
            // A temporary name of another directory, then one in the same directory that is the third link.
            #expect(FileCalls.mkdir("/data/d", 0o700) == 0)
            for name in ["/data/d/.martlet-abcdefgh", "/data/.martlet-abcdefgh"] {
                #expect(FileCalls.linkat(AT_FDCWD, journal, AT_FDCWD, name, 0) == 0)
                let partial = try DiskStore().survey(target).partial
                guard case .foreign = partial else {
                    Issue.record("\(partial)")
                    return
                }
            }
        }
    }

    @Test("A directory whose name cannot be made durable fails the file")
    func reportsFailedSyncsOfParents() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.process = 1
        let target = FileTarget(directory: "/data/new", name: "f")
        try FileCalls.simulating(disk) {
            let store = DiskStore()
            disk.onCall = { $0.name == "fsync" && $0.path == "/data" ? .error(EIO) : .none }
            let file = try store.createSmall(target)
            let error = #expect(throws: StorageError.self) {
                try file.commit(as: target, CommitOptions(durability: .synced))
            }
            #expect(error?.message.hasPrefix("cannot sync the directory '/data'") == true)
        }
    }
}
