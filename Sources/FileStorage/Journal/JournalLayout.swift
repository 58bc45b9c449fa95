// SPDX-License-Identifier: Apache-2.0
/// The layout of a journal file.
///
/// All numbers are little-endian.
///
///     0      magic (8), version (4), slot count (4), capacity of a facts block (8), CRC-32C of these (8)
///     32     boot id (16)
///     48     state, as a mark
///     56     commit record: length (8), inode (8), CRC-32C of both (8)
///     80     number shared with the data file (8), CRC-32C of it (8)
///     96     inode of the data file (8), CRC-32C of the number and the inode (8)
///     4096   slots of 32 bytes: start, written, durable, flags, each a mark
///     then   two facts blocks; of the intact ones, the one with the larger sequence number is valid
struct JournalLayout: Equatable {
    var slotCount: Int
    /// The size of each facts block in bytes, a multiple of a page.
    var factsCapacity: Int

    static let magic: UInt64 = 0x314E_4A54_4C54_524D  // "MRTLTJN1"
    static let version: UInt32 = 1
    static let page = 4096
    static let slotSize = 32
    static let defaultSlotCount = 256
    /// The maximum capacity for facts; longer facts are shortened.
    static let largestFactsCapacity = 64 << 10
    /// The maximum size of a valid journal.
    static let largestSize = 1 << 20

    static let bootIDOffset = 32
    static let stateOffset = 48
    static let commitOffset = 56
    static let pairingOffset = 80

    /// Creates the layout for facts of `factsSize` bytes, with room for them to grow.
    init(factsSize: Int, slotCount: Int = Self.defaultSlotCount) {
        let wanted = (min(factsSize, Self.largestFactsCapacity) + 1024 + Self.page - 1) / Self.page * Self.page
        self.factsCapacity = min(max(wanted, Self.page), Self.largestFactsCapacity)
        self.slotCount = slotCount
    }

    /// Creates the layout given by a header; `nil` if the values are invalid.
    init?(slotCount: Int, factsCapacity: Int) {
        guard (1...4096).contains(slotCount), slotCount % (Self.page / Self.slotSize) == 0,
            (Self.page...Self.largestFactsCapacity).contains(factsCapacity), factsCapacity % Self.page == 0
        else { return nil }
        self.slotCount = slotCount
        self.factsCapacity = factsCapacity
    }

    /// The size of the file in bytes.
    var size: Int { Self.page + self.slotCount * Self.slotSize + 2 * self.factsCapacity }

    func offset(of field: SlotField, slot: Int) -> Int {
        Self.page + slot * Self.slotSize + field.rawValue * 8
    }

    /// The offset of a facts block (0 or 1).
    func factsOffset(_ block: Int) -> Int {
        Self.page + self.slotCount * Self.slotSize + block * self.factsCapacity
    }
}

/// The fields of a slot, in the order of their offsets.
enum SlotField: Int, CaseIterable {
    /// The offset of the first byte.
    case start
    /// The offset after the last byte that was written to the kernel.
    case written
    /// The offset after the last byte that was synced.
    case durable
    /// 1 while the slot is in use, 0 while it is free.
    case flags

    /// The salt of this field's mark.
    func salt(slot: Int) -> UInt16 { UInt16(truncatingIfNeeded: slot * 4 + self.rawValue + 1) }
}

/// The state of the partial file.
enum JournalState: Int64 {
    /// The journal exists; the partial file has not been created yet.
    case begun = 1
    /// Bytes are being received.
    case active = 2
    /// All bytes were received and verified; the file is being renamed to its final name.
    case committing = 3

    static let salt: UInt16 = 0xA5A5
}
