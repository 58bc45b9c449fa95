// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import FileStorage
@testable import Files

@Suite("Files with numbers at the ends of the integer types")
struct NumberRangeFileTests {
    private static let words = EdgeNumbers.integers.map { UInt64(truncatingIfNeeded: $0) }

    @Test("a journal with such a word at any place is refused, or has slots within its limits")
    func journals() throws {
        let slots = [SlotRecord(index: 1, start: 10, written: 100, durable: 50)]
        let (layout, bytes) = JournalFormat.encodeNew(
            facts: someFacts,
            bootID: firstBoot,
            state: .active,
            pairing: .random(),
            slots: slots
        )
        let slot = layout.offset(of: .start, slot: 1)
        let facts = layout.factsOffset(0)
        for offset in [
            0, 8, 12, 16, 24, 32, 48, 56, 64, 72, 80, 96, 104, slot, slot + 24, facts, facts + 4, facts + 16,
        ] {
            for word in Self.words {
                for isNarrow in [true, false] {
                    var changed = bytes
                    if isNarrow {
                        changed.store(UInt32(truncatingIfNeeded: word), at: offset)
                    } else {
                        changed.store(word, at: offset)
                    }
                    // The checksums are right, so that the numbers are used.
                    changed.store(UInt64(CRC32C.checksum(changed[0..<24])), at: 24)
                    let count = Int(changed.load(UInt32.self, at: facts + 4))
                    if count < layout.factsCapacity - 16 {
                        changed.store(CRC32C.checksum(changed[(facts + 4)..<(facts + 16 + count)]), at: facts)
                    }
                    guard let contents = try? JournalFormat.decode(changed) else { continue }
                    #expect(contents.slots.allSatisfy { $0.start <= $0.durable && $0.durable <= $0.written })
                }
            }
        }
    }

    @Test("marks are stored and read in every slot")
    func marks() {
        let (layout, bytes) = JournalFormat.encodeNew(facts: someFacts, bootID: firstBoot, state: .active)
        let store = DiskStore(bootID: firstBoot)
        for start in EdgeNumbers.signed {
            for written in EdgeNumbers.signed {
                var changed = bytes
                let record = SlotRecord(index: 3, start: start, written: written, durable: start)
                for (index, word) in JournalFormat.encodeSlot(record).enumerated() {
                    changed.store(word, at: layout.offset(of: .start, slot: 3) + index * 8)
                }
                guard let contents = try? JournalFormat.decode(changed) else { continue }
                for size in [0, 100, Int64.max] {
                    #expect(
                        store.believed(contents, size: size, in: "")
                            .allSatisfy { $0.start < $0.written && $0.written <= size }
                    )
                }
            }
        }
    }

    @Test("facts and stored responses are decoded or refused")
    func facts() throws {
        let encoded = someFacts.encoded()
        for offset in 0..<(encoded.count - 8) {
            for word in Self.words {
                var narrow = encoded
                narrow.store(UInt32(truncatingIfNeeded: word), at: offset)
                _ = ResourceFacts(encoded: narrow[...])
                var wide = encoded
                wide.store(word, at: offset)
                if let facts = ResourceFacts(encoded: wide[...]) { #expect((facts.length ?? 0) >= 0) }
            }
        }
        let key = CacheKey(try HTTPURL("http://h/"))
        var header = Array("MLTCACHE".utf8) + [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] + key.digest
        header += [UInt8](repeating: 0, count: 192 - header.count)
        header.store(UInt64(200), at: 152)
        for offset in [12, 16, 136, 144, 152] {
            for word in Self.words {
                var changed = header
                changed.store(word, at: offset)
                guard let decoded = CacheEntryFormat.Header(changed, key) else { continue }
                _ = decoded.response([])
            }
        }
    }
}
