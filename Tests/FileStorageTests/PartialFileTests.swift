// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferTesting
import TransferCore
import TransferEngine

@testable import FileStorage
@testable import Files

@Suite struct PartialFileTests {
    let directory: TemporaryDirectory
    let store = DiskStore(bootID: firstBoot)

    init() throws { self.directory = try TemporaryDirectory() }

    @Test func afterACrashOfTheProcessEveryWrittenByteIsBelieved() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put(pattern(1000), at: 0, ending: false)
        try file.put(pattern(500, from: 5000), at: 5000, ending: false)
        file.crash()
        guard case .ours(let facts, let written) = try self.store.survey(target).partial else {
            Issue.record("not ours")
            return
        }
        #expect(facts == someFacts)
        #expect(written == 1500)
        #expect(try self.store.extents(target) == [0..<1000, 5000..<5500])
    }

    @Test("A journal that another program truncates does not end the process, nor the transfer")
    func aTruncatedJournalIsWrittenAgain() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        let extent = try #require(file.beginExtent(at: 0))
        try pattern(1000).withUnsafeBytes { try file.write($0, extent: extent) }
        #expect(truncate(self.directory.path("f.part.journal"), 0) == 0)
        try pattern(1000, from: 1000).withUnsafeBytes { try file.write($0, extent: extent) }
        var facts = someFacts
        facts.finalURL = "http://example.org/c"
        try file.update(facts: facts)
        try file.checkpoint()
        file.endExtent(extent)
        _ = try file.commit(as: target, length: 2000, CommitOptions())
        #expect(self.directory.contents("f") == pattern(2000))
        #expect(self.directory.entries() == ["f"])
    }

    @Test("A truncated journal claims no unwritten byte")
    func aTruncatedJournalNeverLeads() throws {
        let layout = JournalLayout(factsSize: someFacts.encoded().count)
        let facts = layout.factsOffset(0)
        var refused = 0
        for length in [0, 8, 40, 4095, 4096, 4104, 4112, 4128, 4160, facts, facts + 100, layout.size - 1, layout.size] {
            let target = self.directory.target("f\(length)")
            let file = try self.store.createPartial(target, facts: someFacts)
            try file.put(pattern(1000), at: 0, ending: false)
            #expect(truncate(self.directory.path("f\(length).part.journal"), off_t(length)) == 0)
            try file.put(pattern(500, from: 5000), at: 5000, ending: false)
            try file.update(facts: ResourceFacts(url: "http://example.org/other"))
            try file.checkpoint()
            file.crash()
            do {
                let extents = try self.store.extents(target)
                #expect(extents.allSatisfy { $0 == 0..<1000 || $0 == 5000..<5500 }, "\(length): \(extents)")
            } catch let error as StorageError {
                refused += 1
                #expect(error.code == .badJournal, "\(length): \(error)")
            }
        }
        #expect(refused > 5)
    }

    @Test func repeatedBytesAreComparedInPieces() throws {
        let file = try self.store.createPartial(self.directory.target("f"), facts: someFacts)
        try file.put(pattern(200_000), at: 0, ending: false)
        func holds(_ bytes: [UInt8], at offset: Int64) throws -> Bool {
            try bytes.withUnsafeBytes { try file.holds($0, at: offset) }
        }
        #expect(try holds(pattern(200_000), at: 0))
        #expect(try holds(pattern(100_000, from: 70_001), at: 70_001))
        #expect(try !holds(pattern(100, from: 1), at: 0))
        for changed in [0, 65_535, 65_536, 199_999] {
            var bytes = pattern(200_000)
            bytes[changed] ^= 1
            #expect(try !holds(bytes, at: 0))
        }
        // Bytes after the end differ.
        #expect(try !holds(pattern(200_001), at: 0))
        file.discard()
    }

    @Test func differencesAreRecordedInTheOpenJournal() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put(pattern(1000), at: 0, ending: false)
        var facts = someFacts
        facts.recordDifference(from: facts.url)
        try file.update(facts: facts)
        file.crash()
        #expect(try self.store.openPartial(target).facts.isContradicted)
    }

    @Test func underAnotherBootOnlySyncedBytesAreBelieved() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        let extent = try #require(file.beginExtent(at: 0))
        try pattern(1000).withUnsafeBytes { try file.write($0, extent: extent) }
        try file.checkpoint()
        try pattern(1000, from: 1000).withUnsafeBytes { try file.write($0, extent: extent) }
        file.crash()
        #expect(try DiskStore(bootID: secondBoot).extents(target) == [0..<1000])
        // The second boot has rewritten the marks.
        #expect(try DiskStore(bootID: secondBoot).extents(target) == [0..<1000])
    }

    @Test func afterASyncThatFailedOnlyWhatWasDurableIsBelieved() throws {
        let target = self.directory.target("f")
        let file = try #require(try self.store.createPartial(target, facts: someFacts) as? DiskPartialFile)
        let extent = try #require(file.beginExtent(at: 0))
        try pattern(1000).withUnsafeBytes { try file.write($0, extent: extent) }
        try file.checkpoint()
        try pattern(1000, from: 1000).withUnsafeBytes { try file.write($0, extent: extent) }
        #expect(failure { try file.syncData { ENOSPC } }?.code == .noSpace)
        // The kernel says it once; the next sync would succeed.
        #expect(failure { try file.checkpoint() }?.code == .inputOutput)
        #expect(failure { _ = try file.commit(as: target, length: 2000, CommitOptions()) } != nil)
        file.keep()
        #expect(try self.store.extents(target) == [0..<1000])
        #expect(self.directory.entries() == ["f.part", "f.part.journal"])
    }

    @Test func aFileShorterThanItsJournalIsTrusted() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put(pattern(1000), at: 0)
        file.keep()
        #expect(truncate(self.directory.path("f.part"), 300) == 0)
        #expect(try self.store.extents(target) == [0..<300])
    }

    @Test func twoHoldersNeverShareOnePartialFile() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        let other = DiskStore(bootID: firstBoot)
        guard case .busy(let facts) = try other.survey(target).partial else {
            Issue.record("not busy")
            return
        }
        #expect(facts == someFacts)
        #expect(failure { _ = try other.openPartial(target) }?.code == .inUse)
        #expect(failure { _ = try other.createPartial(target, facts: someFacts) }?.code == .inUse)
        #expect(failure { try other.discardPartial(target) } == nil)
        file.keep()
        try other.openPartial(target).keep()
    }

    @Test("a journal that another process has created since the last listing is found after the failed creation")
    func createdSinceTheListing() throws {
        let target = self.directory.target("f")
        let other = DiskStore(bootID: firstBoot)
        guard case .none = try other.survey(target).partial else {
            Issue.record("not free")
            return
        }
        let file = try self.store.createPartial(target, facts: someFacts)
        defer { file.keep() }
        #expect(failure { _ = try other.createPartial(target, facts: someFacts) }?.code == .exists)
        guard case .busy = try other.survey(target).partial else {
            Issue.record("not busy")
            return
        }
    }

    @Test func whatNoJournalVouchesForIsLeftAlone() throws {
        let target = self.directory.target("f")
        try self.directory.write([1, 2, 3], to: "f.part")
        guard case .foreign = try self.store.survey(target).partial else {
            Issue.record("not foreign")
            return
        }
        #expect(failure { _ = try self.store.createPartial(target, facts: someFacts) }?.code == .exists)
        try self.store.discardPartial(target)
        #expect(self.directory.contents("f.part") == [1, 2, 3])
        #expect(self.directory.entries() == ["f.part"])
    }

    @Test func aDamagedJournalVouchesForNothing() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put(pattern(10), at: 0)
        file.keep()
        var journal = try #require(self.directory.contents("f.part.journal"))
        journal[3] ^= 1
        try self.directory.write(journal, to: "f.part.journal")
        guard case .foreign = try self.store.survey(target).partial else {
            Issue.record("not foreign")
            return
        }
        #expect(failure { _ = try self.store.openPartial(target) }?.code == .badJournal)
        #expect(self.directory.contents("f.part") == pattern(10))
    }

    @Test func aFileThatCannotBeExaminedIsAnErrorAndNoFact() throws {
        // A closed descriptor: fstat(2) and pread(2) fail, as they can for a journal that is in order.
        let closed = FileDescriptor(-1)
        let status = failure { _ = try closed.requiredStatus(of: "f.part.journal") }
        let journal = failure { _ = try DiskStore.readJournal(closed, "f.part.journal") }
        #expect(status?.errno == EBADF && journal?.errno == EBADF)
        for number in [EMFILE, ENFILE, ENOMEM] {
            let error = StorageError(errno: number, otherwise: .cannotOpen, "cannot examine", "f")
            #expect(TransferFailure(error).isShortage)
        }
    }

    @Test func aSymbolicLinkIsNeverFollowed() throws {
        try self.directory.write([7], to: "precious")
        let target = self.directory.target("f")
        #expect(symlink(self.directory.path("precious"), self.directory.path("f.part")) == 0)
        guard case .foreign = try self.store.survey(target).partial else {
            Issue.record("not foreign")
            return
        }
        #expect(failure { _ = try self.store.createPartial(target, facts: someFacts) }?.code == .exists)
        let other = self.directory.target("g")
        #expect(symlink(self.directory.path("precious"), self.directory.path("g.part.journal")) == 0)
        // Another store: this one may believe its listing of the directory for a moment.
        guard case .foreign = try DiskStore().survey(other).partial else {
            Issue.record("not foreign")
            return
        }
        #expect(failure { _ = try self.store.createPartial(other, facts: someFacts) } != nil)
        let file = try self.store.createPartial(self.directory.target("h"), facts: someFacts)
        file.crash()
        #expect(unlink(self.directory.path("h.part")) == 0)
        #expect(symlink(self.directory.path("precious"), self.directory.path("h.part")) == 0)
        #expect(failure { _ = try self.store.openPartial(self.directory.target("h")) } != nil)
        #expect(self.directory.contents("precious") == [7])
    }

    @Test func aJournalAloneIsOursAndEmpty() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put(pattern(10), at: 0)
        file.crash()
        #expect(unlink(self.directory.path("f.part")) == 0)
        guard case .ours(_, 0) = try self.store.survey(target).partial else {
            Issue.record("not ours and empty")
            return
        }
        let again = try self.store.createPartial(target, facts: someFacts)
        #expect(again.initialExtents.isEmpty)
        again.discard()
        #expect(self.directory.entries().isEmpty)
    }

    @Test func beginningAnewEmptiesWhatWasOurs() throws {
        let target = self.directory.target("f")
        try self.store.createPartial(target, facts: someFacts).keep()
        var facts = someFacts
        facts.url = "http://example.org/" + String(repeating: "long", count: 3000)
        let file = try self.store.createPartial(target, facts: facts)
        #expect(file.initialExtents.isEmpty)
        file.keep()
        guard case .ours(facts, 0) = try self.store.survey(target).partial else {
            Issue.record("not ours")
            return
        }
    }

    @Test func factsCanBeReplaced() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        var facts = someFacts
        for length: Int64 in 1...3 {
            facts.length = length
            try file.update(facts: facts)
        }
        file.crash()
        guard case .ours(facts, _) = try self.store.survey(target).partial else {
            Issue.record("other facts")
            return
        }
    }

    @Test func anExistingFileIsCopiedAndKeepsItsName() throws {
        try self.directory.write(pattern(100), to: "f")
        let target = self.directory.target("f")
        let file = try self.store.copyExisting(target, unchangedSince: self.identity(target), facts: someFacts)
        #expect(file.initialExtents == [0..<100])
        #expect(self.directory.entries() == ["f", "f.part", "f.part.journal"])
        #expect(self.directory.contents("f.part") == pattern(100))
        file.crash()
        #expect(try DiskStore(bootID: secondBoot).extents(target) == [0..<100])
        #expect(self.directory.contents("f") == pattern(100))
    }

    @Test("A file that is rewritten or replaced after it was examined is not copied", arguments: [false, true])
    func refusesToCopyChangedFile(isReplaced: Bool) throws {
        try self.directory.write(pattern(100), to: "f")
        let target = self.directory.target("f")
        var identity = try self.identity(target)
        // The change may come within one tick of the file system's clock.
        identity.changed = identity.changed.map { $0 - 1 }
        if isReplaced {
            FileMover.remove(target.path)
            try self.directory.write(pattern(100), to: "f")
        }
        let error = failure { _ = try self.store.copyExisting(target, unchangedSince: identity, facts: someFacts) }
        #expect(error?.code == .exists)
        #expect(self.directory.entries() == ["f"])
    }

    private func identity(_ target: FileTarget) throws -> FileIdentity {
        try #require(try self.store.survey(target).existing?.file)
    }

    @Test func aPartialFileMovesOverAnOlderOne() throws {
        let (old, new) = (self.directory.target("f"), self.directory.target("f.new"))
        let older = try self.store.createPartial(old, facts: someFacts)
        try older.put(pattern(10), at: 0)
        older.keep()
        let newer = try self.store.createPartial(new, facts: someFacts)
        try newer.put(pattern(5, from: 3), at: 0)
        newer.keep()
        try self.store.movePartial(new, to: old)
        #expect(self.directory.entries() == ["f.part", "f.part.journal"])
        #expect(self.directory.contents("f.part") == pattern(5, from: 3))
        #expect(try self.store.extents(old) == [0..<5])
    }

    @Test func aPartialFileThatAnotherProcessWritesIsNotMoved() throws {
        let (old, new) = (self.directory.target("f"), self.directory.target("f.new"))
        let older = try self.store.createPartial(old, facts: someFacts)
        try older.put(pattern(10), at: 0)
        older.keep()
        let other = try DiskStore().createPartial(new, facts: someFacts)
        try other.put(pattern(20), at: 0)
        #expect(failure { try self.store.movePartial(new, to: old) }?.code == .inUse)
        #expect(try self.store.extents(old) == [0..<10])
        #expect(try other.commit(as: new, length: 20, CommitOptions()) == nil)
        #expect(self.directory.contents("f.new") == pattern(20))
    }

    @Test func aMoveThatAKillInterruptedIsRepeated() throws {
        let (old, new) = (self.directory.target("f"), self.directory.target("f.new"))
        let older = try self.store.createPartial(old, facts: someFacts)
        try older.put(pattern(10), at: 0)
        older.keep()
        let newer = try self.store.createPartial(new, facts: someFacts)
        try newer.put(pattern(20), at: 0)
        newer.keep()
        // The older data was deleted; its journal is replaced, so that it is found until then.
        FileMover.remove(self.directory.target("f.part").path)
        #expect(try self.store.extents(old) == [])
        try self.store.movePartial(new, to: old)
        #expect(self.directory.entries() == ["f.part", "f.part.journal"])
        #expect(try self.store.extents(old) == [0..<20])
    }

    @Test func whatIsSetAsideIsNeitherLostNorGoneOnWith() throws {
        try self.directory.write(pattern(100), to: "f")
        try self.directory.write([1], to: "f.martlet-bad")
        let target = self.directory.target("f")
        let file = try self.store.copyExisting(target, unchangedSince: self.identity(target), facts: someFacts)
        FileMover.remove(target.path)
        #expect(file.setAside()?.hasSuffix("f.martlet-bad.1") == true)
        #expect(self.directory.entries() == ["f.martlet-bad", "f.martlet-bad.1"])
        #expect(self.directory.contents("f.martlet-bad.1") == pattern(100))
    }

    @Test func anAdjacentExtentContinuesTheSlot() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        for index in 0..<1000 { try file.put(pattern(10, from: index * 10), at: Int64(index * 10)) }
        for index in 0..<255 { try file.put([1], at: Int64(100_000 + index * 2)) }
        #expect(file.beginExtent(at: 500_000) == nil)
        #expect(file.beginExtent(at: 10_000) != nil)
        file.discard()
    }

    @Test("the reserve of a file that is kept is released, before, between and behind its extents, and it resumes")
    func reserve() throws {
        let target = self.directory.target("f")
        let length: Int64 = 64 << 20
        func allocated() -> Int64 {
            var status = stat()
            return stat(self.directory.path("f.part"), &status) == 0 ? Int64(status.st_blocks) * 512 : -1
        }
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.preallocate(length: length)
        // Not every file system reserves.
        let hasReserve = allocated() >= length
        try file.put(pattern(100_000, from: 8 << 20), at: 8 << 20)
        try file.put(pattern(100_000, from: 32 << 20), at: 32 << 20)
        file.releaseReserve()
        file.keep()
        #expect(allocated() < 1 << 20)
        let resumed = try self.store.openPartial(target)
        let extents: [ByteRange] = [8_388_608..<8_488_608, 33_554_432..<33_654_432]
        #expect(resumed.initialExtents == extents)
        #expect(try resumed.read(8 << 20..<(8 << 20) + 100_000) == pattern(100_000, from: 8 << 20))
        #expect(try resumed.read(32 << 20..<(32 << 20) + 100_000) == pattern(100_000, from: 32 << 20))
        try resumed.preallocate(length: length)
        #expect(!hasReserve || allocated() >= length)
        resumed.keep()
        // As the engine does for a transfer that is removed while it does not run.
        self.store.releaseReserve(of: target)
        #expect(allocated() < 1 << 20)
        #expect(try self.store.extents(target).count == 2)
    }

    @Test func exabyteLengthsNeverTrapAndAreRefused() throws {
        let file = try self.store.createPartial(self.directory.target("f"), facts: someFacts)
        for length in [Int64.max, Int64.max - 1, 1 << 60] {
            #expect(failure { try file.preallocate(length: length) }?.code == .noSpace)
        }
        #expect(failure { try file.preallocate(length: -5) } == nil)
        #expect(file.beginExtent(at: .max) == nil)
        #expect(file.beginExtent(at: -1) == nil)
        file.discard()
    }

    @Test func extentsAgreeWithANaiveModelAcrossCrashesAndPowerCuts() throws {
        var random = SeededGenerator(seed: 42)
        let target = self.directory.target("f")
        let size = 400
        var written = [Bool](repeating: false, count: size)
        var durable = written
        var boot = firstBoot
        var file = try self.store.createPartial(target, facts: someFacts)
        var open: [(extent: Int, offset: Int)] = []
        for _ in 0..<3000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<4:
                let offset = Int.random(in: 0..<size, using: &random)
                if let extent = file.beginExtent(at: Int64(offset)) { open.append((extent, offset)) }
            case 4..<14 where !open.isEmpty:
                let index = Int.random(in: 0..<open.count, using: &random)
                let count = min(Int.random(in: 1..<12, using: &random), size - open[index].offset)
                try pattern(count, from: open[index].offset)
                    .withUnsafeBytes {
                        try file.write($0, extent: open[index].extent)
                    }
                for byte in 0..<count { written[open[index].offset + byte] = true }
                open[index].offset += count
            case 14..<17 where !open.isEmpty:
                file.endExtent(open.remove(at: Int.random(in: 0..<open.count, using: &random)).extent)
            case 17:
                try file.checkpoint()
                durable = written
            case 18..<20:
                guard Int.random(in: 0..<6, using: &random) == 0 else { continue }
                file.crash()
                open = []
                if Bool.random(using: &random) {
                    boot.low += 1
                    written = durable
                }
                file = try DiskStore(bootID: boot).openPartial(target)
                var model = [Bool](repeating: false, count: size)
                for range in file.initialExtents { for byte in range { model[Int(byte)] = true } }
                try #require(model == written)
                for range in file.initialExtents {
                    try #require(try file.read(range) == pattern(range.count, from: Int(range.lowerBound)))
                }
            default: continue
            }
        }
        file.discard()
    }
}
