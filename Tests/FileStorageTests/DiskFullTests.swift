// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage
@testable import Files

/// Uses a tmpfs of 256 KiB; needs root and a kernel that lets it mount one.
private final class TinyDisk {
    let directory: TemporaryDirectory

    init?() {
        guard let directory = try? TemporaryDirectory(), MemoryFilesystem.mount(directory.path, size: "256k")
        else { return nil }
        self.directory = directory
    }

    deinit { MemoryFilesystem.unmount(self.directory.path) }

    /// Fills the disk up to its last page.
    func fill() {
        let raw = open(self.directory.path("filler"), O_WRONLY | O_CREAT, 0o644)
        let file = FileDescriptor(raw)
        var offset: Int64 = 0
        let page = [UInt8](repeating: 1, count: 4096)
        while page.withUnsafeBytes({ file.write($0, at: offset) }) == 0 { offset += 4096 }
    }

    static let note: Comment = "skipped: needs root and mount(2) for a small tmpfs"
}

@Suite(.enabled(if: TinyDisk() != nil, TinyDisk.note))
struct DiskFullTests {
    let store = DiskStore(bootID: firstBoot)

    @Test func aFullDiskFailsTheWriteAndKeepsWhatWasWritten() throws {
        let disk = try #require(TinyDisk())
        let target = disk.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        #expect(failure { try file.preallocate(length: 1 << 20) }?.code == .noSpace)
        let extent = try #require(file.beginExtent(at: 0))
        let chunk = pattern(16 << 10)
        var written: Int64 = 0
        let error = failure {
            while true {
                try chunk.withUnsafeBytes { try file.write($0, extent: extent) }
                written += Int64(chunk.count)
            }
        }
        #expect(error?.code == .noSpace)
        #expect(written > 0)
        file.endExtent(extent)
        // The journal's pages were allocated before: marks can be stored on a full disk.
        try? file.checkpoint()
        var facts = someFacts
        facts.length = 77
        try file.update(facts: facts)
        file.crash()
        #expect(try self.store.extents(target) == [0..<written])
        self.store.directories.forget(target.directory)
    }

    @Test func aFullDiskRefusesTheJournalWithoutLeavingAnything() throws {
        let disk = try #require(TinyDisk())
        disk.fill()
        let error = failure { _ = try self.store.createPartial(disk.directory.target("f"), facts: someFacts) }
        #expect(error?.code == .noSpace)
        #expect(disk.directory.entries() == ["filler"])
        self.store.directories.forget(disk.directory.path)
    }

    @Test func aFullDiskKeepsTheOldFileOfAReplacement() throws {
        let disk = try #require(TinyDisk())
        try AtomicFile.replace(disk.directory.path("jar"), with: [1, 2, 3])
        disk.fill()
        let error = failure { try AtomicFile.replace(disk.directory.path("jar"), with: pattern(10_000)) }
        #expect(error?.code == .noSpace)
        #expect(try disk.directory.read("jar") == [1, 2, 3])
        #expect(disk.directory.entries() == ["filler", "jar"])
    }

    @Test func aFullDiskFailsASmallFile() throws {
        let disk = try #require(TinyDisk())
        disk.fill()
        let file = try self.store.createSmall(disk.directory.target("s"))
        #expect(failure { try file.put(pattern(10_000)) }?.code == .noSpace)
        file.discard()
        #expect(disk.directory.entries() == ["filler"])
    }
}
