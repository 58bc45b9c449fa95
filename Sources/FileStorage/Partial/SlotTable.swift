// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TransferCore
import TransferEngine

/// Maps the extents of a partial file to the slots of its journal.
///
/// The `written` position of a slot is advanced without a lock by the only event loop that writes the extent; opening,
/// ending, merging and checkpoints take the lock. A crash between any two stores is harmless, because the content is
/// the union of the slots: a slot is stored by one call, and a merge extends the left slot before it frees the right one.
///
/// `@unchecked Sendable`: every property is a constant, and the elements of `positions` are atomic. They exist until the
/// last reference is released.
/// Bounds: `positions` has `count` elements; indices are those of `slots`, which has as many, or were checked by
/// `position(of:)` or by the caller of `advance`.
final class SlotTable: @unchecked Sendable {
    private struct Slot {
        var isUsed = false
        var isActive = false
        var start: Int64 = 0
        var durable: Int64 = 0
        /// Counts the uses of the slot, so that a checkpoint does not change a later extent.
        var use = 0
    }

    /// A position at the time of a snapshot.
    struct Snapshot {
        fileprivate var slot: Int
        fileprivate var use: Int
        fileprivate var written: Int64
    }

    private let journal: JournalFile
    private let slots: Mutex<[Slot]>
    /// Copies of the `written` marks in memory.
    private let positions: UnsafeMutablePointer<Atomic<Int64>>
    private let count: Int

    /// - Parameters:
    ///   - journal: The journal that stores the marks.
    ///   - records: The trusted records; all other slots are freed.
    init(_ journal: JournalFile, records: [SlotRecord]) {
        self.journal = journal
        self.count = journal.layout.slotCount
        self.positions = .allocate(capacity: self.count)
        for index in 0..<self.count { (self.positions + index).initialize(to: Atomic(0)) }
        var slots = [Slot](repeating: Slot(), count: self.count)
        for record in records where record.index < self.count {
            slots[record.index] = Slot(isUsed: true, start: record.start, durable: record.durable)
            self.positions[record.index].store(record.written, ordering: .relaxed)
        }
        self.slots = Mutex(slots)
    }

    deinit {
        self.positions.deinitialize(count: self.count)
        self.positions.deallocate()
    }

    /// Stores the trusted records after opening, and frees all other slots; returns 0 or the error number.
    func rewrite(_ records: [SlotRecord]) -> Int32 {
        let number = self.journal.store(slots: records)
        if number == 0 { self.slots.withLock { self.merge(&$0) } }
        return number
    }

    /// Opens an extent at `offset`; returns `nil` if no slot is free or the offset cannot be stored.
    func begin(at offset: Int64) -> Int? {
        guard offset >= 0, offset <= JournalMark.maximum else { return nil }
        return self.slots.withLock { slots -> Int? in
            let continued = slots.indices.first { index in
                slots[index].isUsed && !slots[index].isActive && self.position(index) == offset
            }
            if let continued {
                slots[continued].isActive = true
                return continued
            }
            guard let index = self.freeSlot(&slots) else { return nil }
            // A slot that still has the marks of an earlier extent must not be advanced.
            let record = SlotRecord(index: index, start: offset, written: offset, durable: offset)
            guard self.journal.store(record) == 0 else { return nil }
            self.positions[index].store(offset, ordering: .relaxed)
            slots[index] = Slot(
                isUsed: true,
                isActive: true,
                start: offset,
                durable: offset,
                use: slots[index].use &+ 1
            )
            return index
        }
    }

    /// The offset of the next byte of an extent; `nil` if the slot does not exist.
    func position(of extent: Int) -> Int64? {
        (0..<self.count).contains(extent) ? self.position(extent) : nil
    }

    /// Advances an extent's `written` mark; returns 0 or the error number.
    ///
    /// - Precondition: The caller is the only writer of the extent.
    @inline(__always)
    func advance(_ extent: Int, to position: Int64) -> Int32 {
        let result = self.journal.store(position, .written, slot: extent)
        if result == 0 { self.positions[extent].store(position, ordering: .releasing) }
        return result
    }

    /// Ends an extent and merges slots.
    func end(_ extent: Int) {
        guard (0..<self.count).contains(extent) else { return }
        self.slots.withLock { slots in
            slots[extent].isActive = false
            if slots[extent].isUsed, self.position(extent) == slots[extent].start {
                self.release(extent, &slots)
            }
            self.merge(&slots)
        }
    }

    /// The current positions; a data sync that starts after this call makes them durable.
    func snapshot() -> [Snapshot] {
        self.slots.withLock { slots in
            slots.indices.filter { slots[$0].isUsed }
                .map { index in
                    Snapshot(slot: index, use: slots[index].use, written: self.position(index))
                }
        }
    }

    /// Stores the durable marks of a snapshot, after the data sync; returns 0 or the error number of one that was not
    /// stored.
    func markDurable(_ snapshots: [Snapshot]) -> Int32 {
        self.slots.withLock { slots in
            var failure: Int32 = 0
            for snapshot in snapshots {
                let slot = slots[snapshot.slot]
                guard slot.isUsed, slot.use == snapshot.use, snapshot.written > slot.durable else { continue }
                let number = self.journal.store(snapshot.written, .durable, slot: snapshot.slot)
                if number == 0 { slots[snapshot.slot].durable = snapshot.written } else { failure = number }
            }
            self.merge(&slots)
            return failure
        }
    }

    /// The extents that were written: ascending, disjoint, not adjacent.
    func extents() -> [ByteRange] {
        self.slots.withLock { slots in
            Self.union(slots.indices.filter { slots[$0].isUsed }.map { slots[$0].start..<self.position($0) })
        }
    }

    /// The union of ranges: ascending, disjoint, not adjacent, none empty.
    static func union(_ ranges: [ByteRange]) -> [ByteRange] {
        var result: [ByteRange] = []
        for range in ranges.filter({ !$0.isEmpty }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }

    private func position(_ index: Int) -> Int64 { self.positions[index].load(ordering: .acquiring) }

    private func release(_ index: Int, _ slots: inout [Slot]) {
        self.journal.free(slot: index)
        slots[index].isUsed = false
    }

    private func freeSlot(_ slots: inout [Slot]) -> Int? {
        if let free = slots.firstIndex(where: { !$0.isUsed }) { return free }
        self.merge(&slots)
        return slots.firstIndex { !$0.isUsed }
    }

    /// Merges overlapping or adjacent inactive slots, unless that would lose a durable mark.
    private func merge(_ slots: inout [Slot]) {
        let quiet = slots.indices.filter { slots[$0].isUsed && !slots[$0].isActive }
            .sorted { slots[$0].start < slots[$1].start }
        guard var left = quiet.first else { return }
        for right in quiet.dropFirst() {
            let joins = slots[right].start <= self.position(left)
            let leftCovers = slots[left].durable >= slots[right].start
            guard joins, leftCovers || slots[right].durable <= max(slots[right].start, slots[left].durable) else {
                left = right
                continue
            }
            let written = max(self.position(left), self.position(right))
            if written > self.position(left), self.advance(left, to: written) != 0 {
                // The journal does not have the bytes of the right one in the left one: it keeps both.
                left = right
                continue
            }
            if leftCovers, slots[right].durable > slots[left].durable {
                guard self.journal.store(slots[right].durable, .durable, slot: left) == 0 else {
                    left = right
                    continue
                }
                slots[left].durable = slots[right].durable
            }
            self.release(right, &slots)
        }
    }
}
