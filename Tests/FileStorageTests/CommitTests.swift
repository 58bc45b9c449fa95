// SPDX-License-Identifier: Apache-2.0
import Crypto
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage
@testable import Files

@Suite struct CommitTests {
    let directory: TemporaryDirectory
    let store = DiskStore(bootID: firstBoot)
    private let bytes = pattern(3000)

    init() throws { self.directory = try TemporaryDirectory() }

    private func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    private func partial(_ name: String) throws -> any PartialFile {
        let file = try self.store.createPartial(self.directory.target(name), facts: someFacts)
        try file.put(self.bytes, at: 0)
        return file
    }

    @Test("a survey notices aria2's control file beside a file")
    func controlFileOfAria2() throws {
        try self.directory.write([1], to: "f")
        #expect(try self.store.survey(self.directory.target("f")).existing?.hasControlFile == false)
        try self.directory.write([1], to: "f.aria2")
        // A store that has listed the directory before knows its own changes only.
        #expect(try DiskStore().survey(self.directory.target("f")).existing?.hasControlFile == true)
    }

    @Test func aCommittedFileLeavesNothingBeside() throws {
        let file = try self.partial("f")
        let options = CommitOptions(
            modified: 1_000_000_000,
            recorded: RecordedVersion(entityTag: "\"a b\"", date: "Sat, 21 Nov 2026 14:00:00 GMT"),
            report: .sha256
        )
        let digest = try file.commit(as: self.directory.target("f"), length: 3000, options)
        #expect(digest == self.sha256(self.bytes))
        #expect(self.directory.entries() == ["f"])
        #expect(self.directory.contents("f") == self.bytes)
        let existing = try #require(try self.store.survey(self.directory.target("f")).existing)
        #expect(existing.modified == 1_000_000_000)
        #expect(existing.size == 3000)
        // Not every filesystem has extended attributes.
        #expect(existing.recorded == nil || existing.recorded?.entityTag == "\"a b\"")
        #expect(existing.recorded == nil || existing.recorded?.date == "Sat, 21 Nov 2026 14:00:00 GMT")
        #expect(existing.recorded?.lastModified == nil)
    }

    @Test func aTakenNameIsNeverOverwrittenAndTheFileStaysUsable() throws {
        try self.directory.write([9], to: "f")
        let file = try self.partial("f")
        let error = failure { _ = try file.commit(as: self.directory.target("f"), length: 3000, CommitOptions()) }
        #expect(error?.code == .exists)
        #expect(self.directory.contents("f") == [9])
        _ = try file.commit(as: self.directory.target("f.1"), length: 3000, CommitOptions())
        #expect(self.directory.contents("f.1") == self.bytes)
        #expect(self.directory.entries() == ["f", "f.1"])
    }

    @Test("a file that another process has stored since the last listing is found after the failed commit")
    func storedSinceTheListing() throws {
        let target = self.directory.target("f")
        #expect(try self.store.survey(target).existing == nil)
        let small = try self.store.createSmall(target)
        try [UInt8]([1, 2, 3]).withUnsafeBytes { try small.append($0) }
        try self.directory.write([9], to: "f")
        #expect(failure { _ = try small.commit(as: target, CommitOptions()) }?.code == .exists)
        #expect(try self.store.survey(target).existing?.size == 1)
        small.discard()
    }

    @Test func overwritingReplacesWhenAsked() throws {
        try self.directory.write([9], to: "f")
        let file = try self.partial("f")
        _ = try file.commit(as: self.directory.target("f"), length: 3000, CommitOptions(overwrite: true))
        #expect(self.directory.contents("f") == self.bytes)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func digestsAreTheSameInOrderAndReadBack(_ algorithm: DigestAlgorithm) throws {
        let inOrder = try self.store.createPartial(self.directory.target("a"), facts: someFacts)
        inOrder.digestWhileWriting([algorithm])
        try inOrder.put(self.bytes, at: 0)
        let mixed = try self.store.createPartial(self.directory.target("b"), facts: someFacts)
        mixed.digestWhileWriting([algorithm])
        try mixed.put([1, 2, 3], at: 0)
        try mixed.put(Array(self.bytes[1000...]), at: 1000)
        try mixed.put(Array(self.bytes[..<1000]), at: 0)
        let options = CommitOptions(report: algorithm)
        let first = try inOrder.commit(as: self.directory.target("a"), length: 3000, options)
        let second = try mixed.commit(as: self.directory.target("b"), length: 3000, options)
        #expect(first == second)
        #expect(try self.store.digestExisting(self.directory.target("a"), algorithm) == first)
        #expect(first?.count == algorithm.byteCount)
    }

    @Test func aWrongDigestNeverGetsTheName() throws {
        let wrong = ExpectedDigest(algorithm: .sha256, bytes: self.sha256([0]), source: "--checksum")
        for suffix in ["", ".1"] {
            let file = try self.partial("f")
            let options = CommitOptions(expected: [wrong])
            let error = failure { _ = try file.commit(as: self.directory.target("f"), length: 3000, options) }
            #expect(error?.code == .digestMismatch)
            #expect(error?.message.contains(Hexadecimal.encode(self.sha256(self.bytes))) == true)
            #expect(self.directory.contents("f.martlet-bad" + suffix) == self.bytes)
        }
        let file = try self.partial("f")
        let options = CommitOptions(expected: [wrong], keepBad: false)
        #expect(failure { _ = try file.commit(as: self.directory.target("f"), length: 3000, options) } != nil)
        #expect(self.directory.entries() == ["f.martlet-bad", "f.martlet-bad.1"])
    }

    @Test func aHoleIsNeverCommitted() throws {
        let file = try self.store.createPartial(self.directory.target("f"), facts: someFacts)
        try file.put([1], at: 0)
        try file.put([1], at: 2)
        #expect(failure { _ = try file.commit(as: self.directory.target("f"), length: 3, CommitOptions()) } != nil)
        #expect(!self.directory.entries().contains("f"))
        file.discard()
    }

    @Test func aCommitThatWasCutOffAfterTheRenameIsRecognised() throws {
        let target = self.directory.target("f")
        let file = try self.partial("f")
        let disk = try #require(file as? DiskPartialFile)
        let status = try #require(disk.data.status())
        disk.journal.store(.init(length: 3000, inode: UInt64(status.st_ino)))
        disk.journal.store(.committing)
        file.crash()
        guard case .ours(_, 3000) = try self.store.survey(target).partial else {
            Issue.record("before the rename it is a partial file like any other")
            return
        }
        #expect(rename(self.directory.path("f.part"), self.directory.path("f")) == 0)
        guard case .committed = try self.store.survey(target).partial else {
            Issue.record("not committed")
            return
        }
        try self.store.discardPartial(target)
        #expect(self.directory.entries() == ["f"])
    }

    @Test func aPartialFileThatWasWrittenSinceIsNotDiscarded() throws {
        let target = self.directory.target("f")
        let file = try self.partial("f")
        file.crash()
        try self.store.discardPartial(target, unlessWrittenSince: 1)
        #expect(self.directory.contains("f.part"))
        try self.store.discardPartial(target, unlessWrittenSince: 1e12)
        #expect(self.directory.entries() == [])
    }

    @Test(arguments: [true, false])
    func aSmallFileAppearsWholeOrNotAtAll(_ unnamed: Bool) throws {
        let store = DiskStore(bootID: firstBoot, unnamedFiles: unnamed)
        let target = FileTarget(directory: self.directory.path("deep/er"), name: "s")
        let file = try store.createSmall(target)
        try file.put([1, 2])
        try file.put([3])
        #expect(try store.survey(target).existing == nil)
        _ = try file.commit(as: target, CommitOptions(modified: 5))
        #expect(self.directory.contents("deep/er/s") == [1, 2, 3])
        let second = try store.createSmall(target)
        try second.put([4])
        #expect(failure { _ = try second.commit(as: target, CommitOptions()) }?.code == .exists)
        _ = try second.commit(as: self.directory.target("t"), CommitOptions(durability: .synced))
        #expect(self.directory.contents("t") == [4])
        let third = try store.createSmall(target)
        try third.put([5])
        _ = try third.commit(as: target, CommitOptions(overwrite: true))
        #expect(self.directory.contents("deep/er/s") == [5])
        try store.createSmall(self.directory.target("gone")).discard()
        _ = try store.createSmall(self.directory.target("dropped"))
        #expect(self.directory.entries() == ["deep", "t"])
    }

    @Test func aBadSmallFileIsSetAside() throws {
        let file = try self.store.createSmall(self.directory.target("s"))
        try file.put([1])
        let wrong = ExpectedDigest(algorithm: .md5, bytes: [0], source: "Repr-Digest")
        let options = CommitOptions(expected: [wrong])
        let error = failure { _ = try file.commit(as: self.directory.target("s"), options) }
        #expect(error?.code == .digestMismatch)
        #expect(self.directory.entries() == ["s.martlet-bad"])
    }

    @Test(arguments: [2, 40])
    func groupedFilesGetTheirNamesTogether(_ count: Int) throws {
        for index in 0..<count {
            let target = self.directory.target("g\(index)")
            let file = try self.store.createSmall(target)
            try file.put([UInt8(index)])
            _ = try file.commit(as: target, CommitOptions(durability: .grouped))
        }
        // Without unnamed files, they have hidden temporary names.
        let named = { self.directory.entries().filter { !DirectoryHandle.isTemporary($0) } }
        #expect(named().isEmpty)
        let late = try self.store.createSmall(self.directory.target("g0"))
        let taken = failure {
            _ = try late.commit(as: self.directory.target("g0"), CommitOptions(durability: .grouped))
        }
        #expect(taken?.code == .exists)
        try self.directory.write([99], to: "g1")
        // Another engine's call handles them, too, and leaves failures to their owner.
        #expect(self.store.flushGroup([]).isEmpty)
        let paths = (0..<count).map { self.directory.target("g\($0)").path }
        let errors = self.store.flushGroup(paths)
        #expect(errors.keys.sorted() == [paths[1]] && errors[paths[1]]?.code == .exists)
        #expect(errors[paths[1]]?.message.contains("g1") == true)
        #expect(named().count == count)
        #expect(self.directory.contents("g1") == [99])
        #expect(self.store.flushGroup(paths).isEmpty)
    }

    @Test func aFailureThatNobodyAskedAboutIsNotTheNextFiles() throws {
        let target = self.directory.target("g")
        func commit() throws {
            let file = try self.store.createSmall(target)
            try file.put([1])
            _ = try file.commit(as: target, CommitOptions(durability: .grouped))
        }
        try commit()
        try self.directory.write([99], to: "g")
        #expect(self.store.flushGroup([]).isEmpty)
        #expect(unlink(self.directory.path("g")) == 0)
        try commit()
        #expect(self.store.flushGroup([target.path]).isEmpty)
        #expect(self.directory.contents("g") == [1])
    }

    @Test func aDirectoryThatIsDeletedMeanwhileIsMadeAnew() throws {
        let target = FileTarget(directory: self.directory.path("d"), name: "f")
        try self.store.createPartial(target, facts: someFacts).discard()
        #expect(rmdir(self.directory.path("d")) == 0)
        let file = try self.store.createSmall(target)
        _ = try file.commit(as: target, CommitOptions())
        #expect(self.directory.contents("d/f") == [])
    }

    @Test func aDirectoryThatCannotBeMadeSaysSo() throws {
        try self.directory.write([], to: "plain")
        let target = FileTarget(directory: self.directory.path("plain/sub"), name: "f")
        #expect(failure { _ = try self.store.createSmall(target) }?.code == .cannotCreateDirectory)
    }

    @Test func theLongestNameHasRoomForItsJournal() throws {
        let target = self.directory.target(String(repeating: "n", count: 255))
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put([1], at: 0)
        _ = try file.commit(as: target, length: 1, CommitOptions())
        #expect(self.directory.entries() == [target.name])
    }
}
