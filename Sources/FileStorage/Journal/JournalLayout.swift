/// Where things lie in a journal file.
///
/// All numbers are little-endian.
///
///     0      magic (8), version (4), slot count (4), capacity of a facts block (8), CRC-32C of these (8)
///     32     boot id (16)
///     48     state, as a mark
///     56     a commit's length (8), inode (8), CRC-32C of both (8)
///     4096   slots of 32 bytes: start, written, durable, flags, each a mark
///     then   two facts blocks; the intact one with the larger sequence number counts
struct JournalLayout: Equatable {
    /// How many slots there are.
    var slotCount: Int
    /// The size of each facts block in bytes, a multiple of a page.
    var factsCapacity: Int

    static let magic: UInt64 = 0x314E_4A54_4C54_524D  // "MRTLTJN1"
    static let version: UInt32 = 1
    static let page = 4096
    static let slotSize = 32
    static let defaultSlotCount = 256
    /// Facts beyond this are shortened.
    static let largestFactsCapacity = 64 << 10
    /// No intact journal is larger.
    static let largestSize = 1 << 20

    static let bootIDOffset = 32
    static let stateOffset = 48
    static let commitOffset = 56

    /// The layout for facts that take `factsSize` bytes, with room for them to grow.
    init(factsSize: Int, slotCount: Int = Self.defaultSlotCount) {
        let wanted = (min(factsSize, Self.largestFactsCapacity) + 1024 + Self.page - 1) / Self.page * Self.page
        self.factsCapacity = min(max(wanted, Self.page), Self.largestFactsCapacity)
        self.slotCount = slotCount
    }

    /// The layout that a header names, or `nil` where it cannot be.
    init?(slotCount: Int, factsCapacity: Int) {
        guard (1...4096).contains(slotCount), slotCount % (Self.page / Self.slotSize) == 0,
            (Self.page...Self.largestFactsCapacity).contains(factsCapacity), factsCapacity % Self.page == 0
        else { return nil }
        self.slotCount = slotCount
        self.factsCapacity = factsCapacity
    }

    /// The size of the whole file.
    var size: Int { Self.page + self.slotCount * Self.slotSize + 2 * self.factsCapacity }

    /// Where a field of a slot lies.
    func offset(of field: SlotField, slot: Int) -> Int {
        Self.page + slot * Self.slotSize + field.rawValue * 8
    }

    /// Where a facts block (0 or 1) lies.
    func factsOffset(_ block: Int) -> Int {
        Self.page + self.slotCount * Self.slotSize + block * self.factsCapacity
    }
}

/// The fields of a slot, in their order.
enum SlotField: Int, CaseIterable {
    /// The offset of the first byte.
    case start
    /// The offset after the last byte that the kernel took.
    case written
    /// The offset after the last byte that was synced.
    case durable
    /// 1 while the slot says anything, 0 while it is free.
    case flags

    /// The salt of this field's mark.
    func salt(slot: Int) -> UInt16 { UInt16(truncatingIfNeeded: slot * 4 + self.rawValue + 1) }
}

/// What a journal says about its partial file as a whole.
enum JournalState: Int64 {
    /// The journal exists; the partial file was not made yet.
    case begun = 1
    /// Bytes are being received.
    case active = 2
    /// All bytes were received and verified; the file is getting its final name.
    case committing = 3

    static let salt: UInt16 = 0xA5A5
}
