// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage

@Suite struct JournalFormatTests {
    private let slots = [
        SlotRecord(index: 0, start: 0, written: 100, durable: 50),
        SlotRecord(index: 7, start: 200, written: JournalMark.maximum, durable: 200),
    ]

    @Test func decodingGivesWhatWasEncoded() throws {
        let (layout, bytes) = JournalFormat.encodeNew(
            facts: someFacts,
            bootID: firstBoot,
            state: .active,
            slots: self.slots
        )
        #expect(bytes.count == layout.size)
        let contents = try JournalFormat.decode(bytes)
        #expect(contents.facts == someFacts)
        #expect(contents.bootID == firstBoot)
        #expect(contents.state == .active)
        #expect(contents.slots == self.slots)
        #expect(contents.layout == layout)
    }

    @Test func everyDamagedByteIsNoticedOrHarmless() throws {
        let (_, bytes) = JournalFormat.encodeNew(
            facts: someFacts,
            bootID: firstBoot,
            state: .active,
            slots: self.slots
        )
        for offset in bytes.indices {
            var damaged = bytes
            damaged[offset] ^= UInt8(truncatingIfNeeded: offset % 255 + 1)
            guard let contents = try? JournalFormat.decode(damaged) else { continue }
            #expect(contents.facts == someFacts, "offset \(offset)")
            #expect(contents.slots.allSatisfy { self.slots.contains($0) }, "offset \(offset)")
            #expect(contents.commit == nil, "offset \(offset)")
        }
    }

    /// A journal of version 1 as builds before November 2026 wrote it; the rest of its 20,480 bytes are zeros.
    private static let earlier: [(offset: Int, hex: String)] = [
        (
            0,
            "4d52544c544a4e3101000000000100000010000000000000d833957000000000a14cb96a6aa003582aa30da42657b18f"
                + "0200000000004a2e"
        ), (4102, "41a4400d03000000259a400d030000007430010000000000b6c2"),
        (
            12288,
            "5866f25ca80000000100000000000000c0c62d000000000027000000687474703a2f2f3132372e302e302e313a313839"
                + "39392f6469722f66696c652e62696e3f783d3123000000687474703a2f2f3132372e302e302e313a31383939392f6469"
                + "722f66696c652e62696e04000000227631221d0000005475652c203031204a756c20323032352031303a30303a303020"
                + "474d541d0000005361742c203231204e6f7620323032362031323a30303a303020474d54ffffffff"
        ),
    ]

    @Test func journalsOfEarlierBuildsAreStillRead() throws {
        var bytes = [UInt8](repeating: 0, count: 20_480)
        for (offset, hex) in Self.earlier {
            let part = try #require(Hexadecimal.decode(hex.utf8))
            bytes.replaceSubrange(offset..<offset + part.count, with: part)
        }
        let contents = try JournalFormat.decode(bytes)
        #expect(contents.state == .active)
        #expect(contents.slots == [SlotRecord(index: 0, start: 0, written: 200_000, durable: 200_000)])
        #expect(
            contents.facts
                == ResourceFacts(
                    url: "http://127.0.0.1:18999/dir/file.bin?x=1",
                    finalURL: "http://127.0.0.1:18999/dir/file.bin",
                    length: 3_000_000,
                    entityTag: "\"v1\"",
                    lastModified: "Tue, 01 Jul 2025 10:00:00 GMT",
                    date: "Sat, 21 Nov 2026 12:00:00 GMT"
                )
        )
    }

    @Test func whatIsKnownOfTheVersionSurvives() throws {
        var facts = someFacts
        facts.received = 1_795_000_000
        facts.mediaType = "application/zip"
        facts.representationDigest = "sha-256=:AAAA:"
        facts.consistency = .overlap
        facts.isUnreliable = true
        facts.formerVersions = ["\"a\"", "\"b\""]
        let (_, bytes) = JournalFormat.encodeNew(facts: facts, bootID: firstBoot, state: .active)
        #expect(try JournalFormat.decode(bytes).facts == facts)
    }

    @Test func differencesSurvive() throws {
        for isUnreliable in [false, true] {
            var facts = someFacts
            facts.isUnreliable = isUnreliable
            facts.isContradicted = true
            facts.differing = ["http://b/f", "http://c/f"]
            let (_, bytes) = JournalFormat.encodeNew(facts: facts, bootID: firstBoot, state: .active)
            #expect(try JournalFormat.decode(bytes).facts == facts)
        }
    }

    @Test func factsWithoutDifferencesAreRead() throws {
        // A build of November 2026 ends after the former versions; its byte before them is 0 or 1.
        var facts = someFacts
        facts.isUnreliable = true
        facts.formerVersions = ["\"a\""]
        let bytes = facts.encoded().dropLast(4)
        #expect(ResourceFacts(encoded: bytes) == facts)
    }

    @Test func differingURLsThatDoNotFitContradictTheBytes() throws {
        var facts = someFacts
        facts.differing = (0..<8).map { "http://\($0)/" + String(repeating: "u", count: 20_000) }
        let (_, bytes) = JournalFormat.encodeNew(facts: facts, bootID: firstBoot, state: .active)
        let decoded = try JournalFormat.decode(bytes).facts
        #expect(decoded.isContradicted)
        #expect(decoded.url == facts.url)
    }

    @Test func everyCutIsNoticed() {
        let (_, bytes) = JournalFormat.encodeNew(facts: someFacts, bootID: firstBoot, state: .active)
        for count in stride(from: 0, to: bytes.count, by: 97) {
            #expect(throws: SyntaxError.self) { try JournalFormat.decode(Array(bytes[..<count])) }
        }
    }

    @Test func factsThatAreTooLongLoseTheirValidatorsNotTheirMeaning() throws {
        var facts = someFacts
        facts.entityTag = String(repeating: "e", count: 100_000)
        let (_, bytes) = JournalFormat.encodeNew(facts: facts, bootID: firstBoot, state: .active)
        let decoded = try JournalFormat.decode(bytes).facts
        #expect(decoded.url == facts.url)
        #expect(decoded.entityTag == nil)
        facts.url = String(repeating: "u", count: 100_000)
        facts.contentEncoding = String(repeating: "c", count: 100_000)
        let shortened =
            try JournalFormat.decode(
                JournalFormat.encodeNew(facts: facts, bootID: firstBoot, state: .active).bytes
            )
            .facts
        #expect(shortened.url != facts.url)
        #expect(shortened.contentEncoding != nil)
    }

    @Test func aBootIDIsReadFromTheKernelsForm() {
        let id = BootID(text: Array("00000000-0000-0001-0000-0000000000ff\n".utf8))
        #expect(id == BootID(low: 1, high: 255))
        #expect(BootID(text: Array("short".utf8)) == nil)
    }
}
