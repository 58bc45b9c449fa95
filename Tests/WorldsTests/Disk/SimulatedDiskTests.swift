// SPDX-License-Identifier: Apache-2.0
import FileStorage
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
