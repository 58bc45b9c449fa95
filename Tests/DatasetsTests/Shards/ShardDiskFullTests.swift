// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

/// A tmpfs of 8 MiB; needs root and a kernel that lets it mount one.
private final class SmallDisk {
    let directory: TemporaryDirectory

    init?() {
        guard let directory = try? TemporaryDirectory(), MemoryFilesystem.mount(directory.path, size: "8m")
        else { return nil }
        self.directory = directory
    }

    deinit { MemoryFilesystem.unmount(self.directory.path) }

    static let note: Comment = "skipped: needs root and mount(2) for a small tmpfs"
}

@Suite(.enabled(if: SmallDisk() != nil, SmallDisk.note))
struct ShardDiskFullTests {
    /// Small samples fail when the buffer is written, large ones in the middle.
    @Test(arguments: [Int64(12_000), 700_000, 1_500_000])
    func aFullDiskHoldsTheSampleAndTheShardContinues(_ size: Int64) throws {
        let disk = try #require(SmallDisk())
        try disk.directory.write([UInt8](repeating: 1, count: 4 << 20), to: "filler")
        let ledger = ShardLedger()
        let limits = ShardLimits(bytes: 3 << 20, samples: 1000)
        let writer = try ShardWriter(
            directory: disk.directory.path,
            limits: limits,
            owner: .init(path: "/nonexistent/report", id: "1", shards: [])
        ) {
            (shard) throws(StorageError) in try ledger.add(shard)
        }
        let content = TestPattern().bytes(0..<size)
        var failures = 0
        var row: Int64 = 0
        // More than fits beside the filler, less than without it.
        while row * size < 6 << 20 {
            let sample = DatasetSample(
                row: DatasetRow(number: row, url: "http://h/\(row)"),
                content: .bytes(content),
                mediaType: "image/jpeg"
            )
            do throws(StorageError) {
                _ = try writer.append(sample)
                row += 1
            } catch {
                #expect(error.code == .noSpace)
                failures += 1
                #expect(failures < 3)
                // The same call fails again while the disk is full.
                if failures == 2 { unlink(disk.directory.path("filler")) }
            }
        }
        try writer.finish()
        #expect(failures == 2)
        #expect(ledger.shards.flatMap(\.rows) == Array(0..<row))
        for shard in ledger.shards {
            let members = try PlainTar.members(of: disk.directory.read(shard.name))
            #expect(members.count == 2 * shard.rows.count)
            for member in members where member.name.hasSuffix(".jpg") { #expect(member.content == content) }
        }
    }
}
