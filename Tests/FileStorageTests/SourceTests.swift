// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage
@testable import Files

@Suite("Files that are sent and moved")
struct SourceTests {
    @Test(
        "what cannot be sent is refused with what to do",
        arguments: [
            ("missing", "check its name"), ("bad\u{FFFD}", "UTF-8"), ("circle", "circle"), (".", "regular file"),
            ("fifo", "regular file"),
        ] + Self.generated
    )
    func refused(name: String, hint: String) throws {
        let directory = try TemporaryDirectory()
        try directory.link("circle", to: "circle")
        #expect(mkfifo(directory.path("fifo"), 0o600) == 0)
        let path = name.hasPrefix("/") ? name : directory.path(name)
        let error = failure { _ = try DiskStore().openSource(path) }
        #expect(error?.code == .cannotOpen && error?.message.contains(hint) == true, "\(String(describing: error))")
    }

    /// A file without a size, on a system that has /proc.
    private static let generated =
        access("/proc/self/status", R_OK) == 0 ? [("/proc/self/status", "generates it")] : []

    @Test("an empty file is one")
    func empty() throws {
        let directory = try TemporaryDirectory()
        try directory.write([], to: "f")
        #expect(try DiskStore().openSource(directory.path("f")).identity().size == 0)
    }

    @Test("a file rewritten with its modification time restored has another change time, and nothing else differs")
    func changeTime() throws {
        let directory = try TemporaryDirectory()
        try directory.write(pattern(1000), to: "f", modified: 1_500_000_000)
        let file = try DiskStore().openSource(directory.path("f"))
        let before = try file.identity()
        var after = before
        let end = ContinuousClock.now + .seconds(20)
        // On some kernels the change time advances in steps of several milliseconds.
        while after == before, ContinuousClock.now < end {
            try directory.write(pattern(1000).reversed(), to: "f", modified: 1_500_000_000)
            after = try file.identity()
        }
        #expect(!after.matches(before) && after.changed != before.changed)
        after.changed = nil
        #expect(after.matches(before))
    }

    @Test("opening and reading a file to send changes nothing of it")
    func reading() throws {
        let directory = try TemporaryDirectory()
        try directory.write(pattern(1000), to: "f")
        let file = try DiskStore().openSource(directory.path("f"))
        let before = try file.identity()
        var bytes = [UInt8](repeating: 0, count: 1000)
        let count = try bytes.withUnsafeMutableBytes { buffer throws(StorageError) in
            try file.read(into: buffer, at: 0)
        }
        #expect(count == 1000)
        let again = try DiskStore().openSource(directory.path("f")).identity()
        #expect(before.changed != nil && again == before)
    }

    @Test("a copy for another directory has a name only when it is whole")
    func copy() throws {
        let directory = try TemporaryDirectory()
        try directory.write(pattern(3_000_000), to: "f")
        let handle = try #require(try DirectoryHandle.open(directory.path, creating: false))
        let name = try FileMover.bring("f", of: handle, to: handle)
        #expect(directory.contents(name) == pattern(3_000_000) && directory.contents("f") == pattern(3_000_000))
        #expect(directory.entries() == [name, "f"].sorted())
        #expect(failure { _ = try FileMover.bring("none", of: handle, to: handle) }?.code == .cannotOpen)
        #expect(directory.entries().count == 2)
    }
}

@Suite struct UploadJournalTests {
    @Test func whatIsOldGoesWithWhatKillsLeft() throws {
        let directory = try TemporaryDirectory()
        for name in ["a.upload", "new.upload", ".martlet-abcd1234", ".martlet-new01234", "other"] {
            try directory.write([1], to: name, modified: name.contains("new") ? nil : 1000)
        }
        DiskUploadJournal.removeOld(in: directory.path, olderThan: 3600)
        #expect(directory.entries() == [".martlet-new01234", "new.upload", "other"])
    }
}
