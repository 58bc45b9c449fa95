// SPDX-License-Identifier: Apache-2.0
import Files
import TransferCore
import TransferEngine

/// The identity of a kernel's boot: unsynced data is trusted only under the boot that wrote it.
struct BootID: Equatable, Sendable {
    var low: UInt64
    var high: UInt64

    /// An unknown boot; it must not be matched with any boot, including itself (see ``isKnown``).
    static let unknown = BootID(low: 0, high: 0)

    /// Whether the boot is known.
    var isKnown: Bool { self != Self.unknown }
}

/// A decoded slot: the bytes `start..<written` were written, `start..<durable` even survive a power failure.
struct SlotRecord: Equatable {
    var index: Int
    var start: Int64
    var written: Int64
    var durable: Int64
}

/// The decoded contents of a journal.
struct JournalContents: Equatable {
    var layout: JournalLayout
    var bootID: BootID
    var state: JournalState
    /// The length and inode of the file being committed; `nil` if there is none or the checksum is wrong.
    var commit: CommitRecord?
    /// The proof that the data file belongs to the journal; `nil` in journals of builds before November 2026.
    var pairing: PartialPairing?
    var facts: ResourceFacts
    /// The valid facts block (0 or 1) and its sequence number.
    var factsBlock: Int
    var factsSequence: UInt64
    var slots: [SlotRecord]

    /// The file of a commit that has started.
    struct CommitRecord: Equatable {
        var length: Int64
        var inode: UInt64
    }
}

enum JournalFormat {
    static func encodeNew(
        facts: ResourceFacts,
        bootID: BootID,
        state: JournalState,
        pairing: PartialPairing? = nil,
        slots: [SlotRecord] = []
    ) -> (layout: JournalLayout, bytes: [UInt8]) {
        let layout = JournalLayout(factsSize: facts.encoded().count)
        var bytes = [UInt8](repeating: 0, count: layout.size)
        bytes.store(JournalLayout.magic, at: 0)
        bytes.store(JournalLayout.version, at: 8)
        bytes.store(UInt32(layout.slotCount), at: 12)
        bytes.store(UInt64(layout.factsCapacity), at: 16)
        bytes.store(UInt64(CRC32C.checksum(bytes[0..<24])), at: 24)
        bytes.store(bootID.low, at: JournalLayout.bootIDOffset)
        bytes.store(bootID.high, at: JournalLayout.bootIDOffset + 8)
        bytes.store(
            JournalMark.encode(state.rawValue, salt: JournalState.salt),
            at: JournalLayout.stateOffset
        )
        let words: [UInt64] = pairing.map { Self.encodePairing($0) } ?? []
        for (index, word) in words.enumerated() {
            bytes.store(word, at: JournalLayout.pairingOffset + index * 8)
        }
        let first = layout.offset(of: .start, slot: 0)
        let table = Self.encodeSlots(slots, layout)
        bytes.replaceSubrange(first..<(first + table.count), with: table)
        let block = Self.encodeFacts(facts, sequence: 1, capacity: layout.factsCapacity)
        bytes.replaceSubrange(layout.factsOffset(0)..<(layout.factsOffset(0) + block.count), with: block)
        return (layout, bytes)
    }

    /// Encodes all slots; those without a record are free.
    static func encodeSlots(_ records: [SlotRecord], _ layout: JournalLayout) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: layout.slotCount * JournalLayout.slotSize)
        for record in records where record.index < layout.slotCount {
            for (field, word) in Self.encodeSlot(record).enumerated() {
                bytes.store(word, at: record.index * JournalLayout.slotSize + field * 8)
            }
        }
        return bytes
    }

    /// Encodes a slot as words in the order of their offsets.
    static func encodeSlot(_ record: SlotRecord) -> [UInt64] {
        SlotField.allCases.map { JournalMark.encode(record[$0], salt: $0.salt(slot: record.index)) }
    }

    /// Encodes a facts block: CRC-32C of the rest, payload size, sequence number, payload.
    static func encodeFacts(_ facts: ResourceFacts, sequence: UInt64, capacity: Int) -> [UInt8] {
        let payload = facts.encoded(capacity: capacity - 16)
        var rest: [UInt8] = []
        rest.append(littleEndian: UInt32(truncatingIfNeeded: payload.count))
        rest.append(littleEndian: sequence)
        rest.append(contentsOf: payload)
        var block: [UInt8] = []
        block.append(littleEndian: CRC32C.checksum(rest))
        block.append(contentsOf: rest)
        return block
    }

    /// Encodes a commit record as words in the order of their offsets: length, inode and their checksum.
    static func encodeCommit(_ commit: JournalContents.CommitRecord) -> [UInt64] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: commit.length)
        bytes.append(littleEndian: commit.inode)
        return [UInt64(bitPattern: commit.length), commit.inode, UInt64(CRC32C.checksum(bytes))]
    }

    /// Encodes a pairing as words: number and its checksum; inode, and the checksum of both, or zeros.
    static func encodePairing(_ pairing: PartialPairing) -> [UInt64] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: pairing.number)
        let check = UInt64(CRC32C.checksum(bytes))
        guard let inode = pairing.inode else { return [pairing.number, check, 0, 0] }
        bytes.append(littleEndian: inode)
        return [pairing.number, check, inode, UInt64(CRC32C.checksum(bytes))]
    }

    private static func decodePairing(_ bytes: [UInt8]) -> PartialPairing? {
        let words = (0..<4).map { bytes.load(UInt64.self, at: JournalLayout.pairingOffset + $0 * 8) }
        let pairing = PartialPairing(number: words[0], inode: nil)
        guard Self.encodePairing(pairing)[1] == words[1] else { return nil }
        let full = PartialPairing(number: words[0], inode: words[2])
        return Self.encodePairing(full)[3] == words[3] ? full : pairing
    }

    /// Decodes a journal.
    ///
    /// Slots with damaged marks are omitted: their bytes are downloaded again.
    static func decode(_ bytes: [UInt8]) throws(SyntaxError) -> JournalContents {
        guard bytes.count >= JournalLayout.page, bytes.load(UInt64.self, at: 0) == JournalLayout.magic else {
            throw SyntaxError("it is not a martlet journal")
        }
        guard bytes.load(UInt64.self, at: 24) == UInt64(CRC32C.checksum(bytes[0..<24])) else {
            throw SyntaxError("its header is damaged")
        }
        guard bytes.load(UInt32.self, at: 8) == JournalLayout.version else {
            throw SyntaxError("it has an unsupported version")
        }
        guard
            let layout = JournalLayout(
                slotCount: Int(bytes.load(UInt32.self, at: 12)),
                factsCapacity: Int(clamping: bytes.load(UInt64.self, at: 16))
            ), bytes.count >= layout.size
        else { throw SyntaxError("it is truncated") }
        let stateWord = bytes.load(UInt64.self, at: JournalLayout.stateOffset)
        guard let state = JournalMark.decode(stateWord, salt: JournalState.salt).flatMap(JournalState.init) else {
            throw SyntaxError("its state is damaged")
        }
        let blocks = (0..<2).compactMap { Self.decodeFacts(bytes, layout, $0) }
        guard let newest = blocks.max(by: { $0.sequence < $1.sequence }) else {
            throw SyntaxError("its facts are damaged")
        }
        return JournalContents(
            layout: layout,
            bootID: BootID(
                low: bytes.load(UInt64.self, at: JournalLayout.bootIDOffset),
                high: bytes.load(UInt64.self, at: JournalLayout.bootIDOffset + 8)
            ),
            state: state,
            commit: Self.decodeCommit(bytes),
            pairing: Self.decodePairing(bytes),
            facts: newest.facts,
            factsBlock: newest.block,
            factsSequence: newest.sequence,
            slots: (0..<layout.slotCount).compactMap { Self.decodeSlot(bytes, layout, $0) }
        )
    }

    private static func decodeSlot(_ bytes: [UInt8], _ layout: JournalLayout, _ index: Int) -> SlotRecord? {
        func value(_ field: SlotField) -> Int64? {
            let word = bytes.load(UInt64.self, at: layout.offset(of: field, slot: index))
            return JournalMark.decode(word, salt: field.salt(slot: index))
        }
        guard value(.flags) == 1, let start = value(.start), let written = value(.written),
            let durable = value(.durable), start <= durable, durable <= written
        else { return nil }
        return SlotRecord(index: index, start: start, written: written, durable: durable)
    }

    private static func decodeFacts(
        _ bytes: [UInt8],
        _ layout: JournalLayout,
        _ block: Int
    ) -> (block: Int, sequence: UInt64, facts: ResourceFacts)? {
        let offset = layout.factsOffset(block)
        let count = Int(bytes.load(UInt32.self, at: offset + 4))
        guard count <= layout.factsCapacity - 16 else { return nil }
        let rest = bytes[(offset + 4)..<(offset + 16 + count)]
        guard bytes.load(UInt32.self, at: offset) == CRC32C.checksum(rest),
            let facts = ResourceFacts(encoded: rest.dropFirst(12))
        else { return nil }
        return (block, bytes.load(UInt64.self, at: offset + 8), facts)
    }

    private static func decodeCommit(_ bytes: [UInt8]) -> JournalContents.CommitRecord? {
        let offset = JournalLayout.commitOffset
        let record = JournalContents.CommitRecord(
            length: bytes.load(Int64.self, at: offset),
            inode: bytes.load(UInt64.self, at: offset + 8)
        )
        return Self.encodeCommit(record)[2] == bytes.load(UInt64.self, at: offset + 16) ? record : nil
    }
}

extension SlotRecord {
    /// The value of a field.
    subscript(_ field: SlotField) -> Int64 {
        switch field {
        case .start: self.start
        case .written: self.written
        case .durable: self.durable
        case .flags: 1
        }
    }
}
