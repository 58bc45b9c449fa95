// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage
@testable import Files

@Suite("A partial file and a journal that belong together")
struct PartialPairingTests {
    let directory: TemporaryDirectory
    let store = DiskStore(bootID: firstBoot)

    init() throws { self.directory = try TemporaryDirectory() }

    private func leavePartial(_ name: String) throws {
        let file = try self.store.createPartial(self.directory.target(name), facts: someFacts)
        try file.put(pattern(1000), at: 0)
        file.keep()
    }

    /// Rewrites both files as a program does that downloads them: without attributes, and with other inodes.
    private func copy(_ name: String, as other: String, _ change: (inout [UInt8]) -> Void = { _ in }) throws {
        var journal = try #require(self.directory.contents(name + ".part.journal"))
        change(&journal)
        try self.directory.write(try #require(self.directory.contents(name + ".part")), to: other + ".part")
        try self.directory.write(journal, to: other + ".part.journal")
    }

    /// Makes a journal one that a build without numbers wrote.
    private static func removeNumber(_ journal: inout [UInt8]) {
        journal.replaceSubrange(80..<112, with: [UInt8](repeating: 0, count: 32))
    }

    private func state(_ name: String, _ store: DiskStore? = nil) throws -> String {
        switch try (store ?? DiskStore(bootID: firstBoot)).survey(self.directory.target(name)).partial {
        case .none: "none"
        case .ours(_, let written): "ours \(written)"
        case .committed: "committed"
        case .busy: "busy"
        case .unpaired: "unpaired"
        case .foreign: "foreign"
        }
    }

    @Test("the pair that a run left is continued, by this boot and the next, and after it was renamed")
    func continued() throws {
        try self.leavePartial("f")
        #expect(try self.state("f") == "ours 1000")
        #expect(try self.state("f", DiskStore(bootID: secondBoot)) == "ours 1000")
        try self.store.movePartial(self.directory.target("f"), to: self.directory.target("g"))
        #expect(try self.store.extents(self.directory.target("g")) == [0..<1000])
    }

    @Test("two files that a server sent are neither continued nor deleted")
    func sent() throws {
        try self.leavePartial("f")
        try self.copy("f", as: "victim")
        let target = self.directory.target("victim")
        #expect(try self.state("victim") == "unpaired")
        #expect(failure { _ = try self.store.openPartial(target) }?.code == .badJournal)
        #expect(failure { _ = try self.store.createPartial(target, facts: someFacts) }?.code == .exists)
        try self.store.discardPartial(target)
        #expect(self.directory.contents("victim.part") == pattern(1000))
        #expect(self.directory.contents("victim.part.journal") != nil)
    }

    @Test("a journal without a number is believed only under the boot that wrote it, then gets one")
    func earlier() throws {
        try self.leavePartial("f")
        try self.copy("f", as: "g", Self.removeNumber)
        #expect(try self.state("g", DiskStore(bootID: secondBoot)) == "unpaired")
        #expect(try self.state("g", DiskStore(bootID: .unknown)) == "unpaired")
        #expect(try self.state("g") == "ours 1000")
        try self.store.openPartial(self.directory.target("g")).keep()
        #expect(try self.state("g", DiskStore(bootID: secondBoot)) == "ours 1000")
        try self.copy("g", as: "h")
        #expect(try self.state("h") == "unpaired")
    }

    @Test("without extended attributes the inode counts")
    func inode() throws {
        try self.leavePartial("f")
        let path = self.directory.path("f.part")
        let data = FileDescriptor(open(path, O_RDWR | O_CLOEXEC))
        let status = try #require(data.status())
        var pairing = PartialPairing.random()
        #expect(try !pairing.matches(data, status, path: path))
        _ = KernelCalls.removeAttribute(data.raw, PartialPairing.attribute)
        pairing.inode = UInt64(status.st_ino)
        #expect(try pairing.matches(data, status, path: path))
        pairing.inode = UInt64(status.st_ino) + 1
        #expect(try !pairing.matches(data, status, path: path))
        let (_, bytes) = JournalFormat.encodeNew(facts: someFacts, bootID: firstBoot, state: .active, pairing: pairing)
        #expect(try JournalFormat.decode(bytes).pairing == pairing)
    }

    @Test("a claimed file stays unpaired, and is set aside, not deleted")
    func claimed() throws {
        try self.leavePartial("f")
        try self.copy("f", as: "victim")
        let target = self.directory.target("victim")
        let file = try self.store.openPartial(target, claiming: true)
        #expect(file.initialExtents == [0..<1000])
        file.keep()
        #expect(try self.state("victim") == "unpaired")
        try self.store.openPartial(target, claiming: true).discard()
        #expect(self.directory.contents("victim.martlet-bad") == pattern(1000))
    }

    @Test("a finished file has no number")
    func finished() throws {
        let target = self.directory.target("f")
        let file = try self.store.createPartial(target, facts: someFacts)
        try file.put(pattern(1000), at: 0)
        _ = try file.commit(as: target, length: 1000, CommitOptions())
        let data = FileDescriptor(open(self.directory.path("f"), O_RDONLY | O_CLOEXEC))
        #expect(KernelCalls.attribute(of: data.raw, PartialPairing.attribute) == nil)
    }

    @Test("the name of another file's partial file or journal is not free")
    func owner() throws {
        try self.leavePartial("f")
        for name in ["f.part", "f.part.journal"] {
            let survey = try DiskStore(bootID: firstBoot).survey(self.directory.target(name))
            #expect(survey.owner == self.directory.path("f"))
        }
        try self.directory.write([1], to: "g.part")
        #expect(try self.store.survey(self.directory.target("g.part")).owner == nil)
        #expect(try self.store.survey(self.directory.target("h.part")).owner == nil)
    }
}
