import Testing
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

    @Test func everyCutIsNoticed() {
        let (_, bytes) = JournalFormat.encodeNew(facts: someFacts, bootID: firstBoot, state: .active)
        for count in stride(from: 0, to: bytes.count, by: 97) {
            #expect(throws: JournalDamage.self) { try JournalFormat.decode(Array(bytes[..<count])) }
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
