// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Files
import Platform
import Testing
import TransferTesting
import Worlds

@Suite("A simulated disk")
struct SimulatedDiskTests {
    /// What the file system of the temporary directory supports.
    private static func features(_ directory: TemporaryDirectory) throws -> DiskFeatures {
        var features = DiskFeatures()
        try directory.write([1], to: "probe")
        let file = FileCalls.open(directory.path("probe"), O_RDWR)
        let folder = FileCalls.open(directory.path, O_RDONLY | O_DIRECTORY)
        defer {
            FileCalls.close(file)
            FileCalls.close(folder)
            FileCalls.unlink(directory.path("probe"))
        }
        features.attributes = KernelCalls.setAttribute(file, "user.test.0", [1]) == 0
        features.allocation = KernelCalls.allocateKeepingSize(file, length: 4096) == 0
        let unnamed = KernelCalls.openUnnamed(in: folder, O_RDWR, mode: 0o600)
        features.unnamedFiles = unnamed >= 0
        if unnamed >= 0 { FileCalls.close(unnamed) }
        return features
    }

    @Test("It returns what the file system returns", arguments: 0..<4)
    func agreesWithFileSystem(part: Int) throws {
        let directory = try TemporaryDirectory()
        let features = try Self.features(directory)
        for seed in UInt64(part) * 75..<UInt64(part) * 75 + 75 {
            let root = directory.path("\(seed)")
            FileCalls.mkdir(root, 0o755)
            FileCalls.mkdir(root + "/d", 0o755)
            for (name, destination) in [("l", "a"), ("m", "missing"), ("k", "d")] {
                #expect(symlink(destination, root + "/" + name) == 0)
            }
            var real = DiskSequence(seed: seed, root: root)
            real.run(150)
            let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
            disk.features = features
            disk.makeDirectories("/tmp/w/d")
            for (name, destination) in [("l", "a"), ("m", "missing"), ("k", "d")] {
                disk.putLink("/tmp/w/" + name, to: destination)
            }
            var simulated = DiskSequence(seed: seed, root: "/tmp/w")
            let tree = FileCalls.simulating(disk) {
                simulated.run(150)
                return DiskSequence.tree("/tmp/w")
            }
            for (index, (left, right)) in zip(real.results, simulated.results).enumerated() where left != right {
                Issue.record("seed \(seed), call \(index): really \(left), simulated \(right)")
                return
            }
            #expect(DiskSequence.tree(root) == tree, "seed \(seed)")
            #expect(disk.openDescriptors(of: 0) == 0)
        }
    }
}

/// What survives a loss of power.
@Suite("A simulated disk that loses power")
struct PowerLossTests {
    private static func disk(_ seed: UInt64, _ order: DiskMetadataOrder) -> SimulatedDisk {
        let disk = SimulatedDisk(seed: seed) { 1_795_000_000_000_000_000 }
        disk.order = order
        disk.makeDirectories("/d")
        disk.process = 1
        return disk
    }

    private static func write(_ path: String, _ bytes: [UInt8], syncing: Bool) -> Int32 {
        let file = FileCalls.open(path, O_RDWR | O_CREAT, 0o644)
        #expect(FileCalls.pwrite(file, bytes, bytes.count, 0) == bytes.count)
        if syncing { #expect(FileCalls.fsync(file) == 0) }
        return file
    }

    private static func syncDirectory() {
        let directory = FileCalls.open("/d", O_RDONLY | O_DIRECTORY)
        #expect(FileCalls.fsync(directory) == 0)
        FileCalls.close(directory)
    }

    @Test("Synced bytes under a synced name survive", arguments: [DiskMetadataOrder.journaled, .independent])
    func syncedBytesSurvive(order: DiskMetadataOrder) {
        let bytes = [UInt8](repeating: 7, count: 30_000)
        for seed in UInt64(0)..<100 {
            let disk = Self.disk(seed, order)
            let boot = disk.contents("/proc/sys/kernel/random/boot_id")
            FileCalls.simulating(disk) {
                let file = Self.write("/d/a", bytes, syncing: true)
                Self.syncDirectory()
                // What is written later may be there or not.
                _ = FileCalls.pwrite(file, [UInt8](repeating: 9, count: 4), 4, 40_000)
            }
            disk.losePower()
            #expect(disk.contents("/d/a").map { Array($0.prefix(30_000)) } == bytes, "seed \(seed)")
            #expect(disk.contents("/proc/sys/kernel/random/boot_id") != boot)
            #expect(disk.openDescriptors(of: 1) == 0)
        }
    }

    @Test("What was not synced survives in some worlds, in parts in some, and in some not at all")
    func unsyncedBytesAreUncertain() {
        let bytes = [UInt8](repeating: 7, count: 30_000)
        var outcomes: Set<String> = []
        for seed in UInt64(0)..<200 {
            let disk = Self.disk(seed, .journaled)
            FileCalls.simulating(disk) { _ = Self.write("/d/a", bytes, syncing: false) }
            disk.losePower()
            guard let found = disk.contents("/d/a") else {
                outcomes.insert("no name")
                continue
            }
            outcomes.insert(found == bytes ? "complete" : found.isEmpty ? "empty" : "parts")
            #expect(found.allSatisfy { $0 == 7 || $0 == 0 })
        }
        #expect(outcomes == ["no name", "complete", "empty", "parts"])
    }

    @Test("A rename is atomic: one of the two contents has the name")
    func renamesAreAtomic() {
        for seed in UInt64(0)..<200 {
            let disk = Self.disk(seed, seed % 2 == 0 ? .journaled : .independent)
            FileCalls.simulating(disk) {
                FileCalls.close(Self.write("/d/a", [1], syncing: true))
                Self.syncDirectory()
                FileCalls.close(Self.write("/d/b", [2], syncing: true))
                #expect(FileCalls.rename("/d/b", "/d/a") == 0)
            }
            disk.losePower()
            #expect(disk.contents("/d/a") == [1] || disk.contents("/d/a") == [2], "seed \(seed)")
        }
    }

    @Test("A failed sync loses the bytes although the next one succeeds")
    func failedSyncsLoseBytes() {
        let disk = Self.disk(1, .journaled)
        FileCalls.simulating(disk) {
            let file = Self.write("/d/a", [1, 2, 3], syncing: true)
            Self.syncDirectory()
            _ = FileCalls.pwrite(file, [4, 5, 6] as [UInt8], 3, 0)
            disk.onCall = { $0.name == "fsync" ? .error(EIO) : .none }
            #expect(FileCalls.fsync(file) == -1 && errno == EIO)
            disk.onCall = nil
            #expect(FileCalls.fsync(file) == 0)
        }
        disk.losePower()
        #expect(disk.contents("/d/a") == [1, 2, 3])
    }

    @Test("A killed process has neither descriptors nor locks, and changes nothing any more")
    func killedProcessesChangeNothing() {
        let disk = Self.disk(1, .journaled)
        FileCalls.simulating(disk) {
            let file = Self.write("/d/a", [1], syncing: false)
            #expect(FileLock.lock(file) == 0)
            #expect(disk.locks(of: 1) == 1 && disk.openDescriptors(of: 1) == 1)
            disk.onCall = { $0.name == "unlinkat" ? .killBefore : .none }
            #expect(FileCalls.unlink("/d/a") == -1 && errno == EIO)
            #expect(FileCalls.pwrite(file, [2] as [UInt8], 1, 0) == -1)
            #expect(FileCalls.unlink("/d/a") == -1)
            #expect(disk.locks(of: 1) == 0 && disk.openDescriptors(of: 1) == 0)
            disk.process = 2
            let other = FileCalls.open("/d/a", O_RDWR)
            #expect(FileLock.lock(other) == 0)
        }
        #expect(disk.contents("/d/a") == [1])
    }

    @Test("A full disk writes what fits, and a limit of descriptors is kept")
    func limitsAreKept() {
        let disk = Self.disk(1, .journaled)
        disk.capacity = disk.used + 8192
        FileCalls.simulating(disk) {
            let file = FileCalls.open("/d/a", O_RDWR | O_CREAT, 0o644)
            let bytes = [UInt8](repeating: 1, count: 10_000)
            #expect(FileCalls.pwrite(file, bytes, 10_000, 0) == 8192)
            #expect(FileCalls.pwrite(file, bytes, 10_000, 8192) == -1 && errno == ENOSPC)
            disk.descriptorLimit = 1
            #expect(FileCalls.open("/d/a", O_RDONLY) == -1 && errno == EMFILE)
            disk.isReadOnly = true
            #expect(FileCalls.pwrite(file, bytes, 1, 0) == -1 && errno == EROFS)
        }
    }
}
