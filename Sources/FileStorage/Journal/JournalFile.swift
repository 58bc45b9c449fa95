// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
internal import TransferCore
import TransferEngine

/// An open, locked journal that is updated in place by pwrite(2).
///
/// A completed call survives the death of the process. A record that must be changed at once is written by one call and
/// is within a page, so a kill leaves the old or the new record.
///
/// The journal is not mapped: a store into a mapping kills the process (SIGBUS) if another program truncates the file,
/// the disk is full or a server is lost. Here, each of these is an error number.
final class JournalFile: Sendable {
    let layout: JournalLayout
    private let descriptor: FileDescriptor

    /// Takes over an open journal.
    ///
    /// - Parameters:
    ///   - descriptor: The journal, open for reading and writing, locked, and `layout.size` bytes long.
    ///   - layout: The layout of the journal.
    init(_ descriptor: FileDescriptor, layout: JournalLayout) {
        self.layout = layout
        self.descriptor = descriptor
    }

    /// Stores 8-byte words from an offset; returns 0 or the error number.
    @discardableResult
    private func store(_ words: [UInt64], at offset: Int) -> Int32 {
        var bytes: [UInt8] = []
        for word in words { bytes.append(littleEndian: word) }
        return self.write(bytes, at: offset)
    }

    private func write(_ bytes: [UInt8], at offset: Int) -> Int32 {
        bytes.withUnsafeBytes { self.descriptor.write($0, at: Int64(offset)) }
    }

    /// Stores a field of a slot as a mark; returns 0 or the error number.
    @discardableResult
    @inline(__always)
    func store(_ value: Int64, _ field: SlotField, slot: Int) -> Int32 {
        let word = JournalMark.encode(value, salt: field.salt(slot: slot)).littleEndian
        let offset = self.layout.offset(of: field, slot: slot)
        return withUnsafeBytes(of: word) { self.descriptor.write($0, at: Int64(offset)) }
    }

    /// Stores a slot that is used; returns 0 or the error number.
    func store(_ record: SlotRecord) -> Int32 {
        self.store(JournalFormat.encodeSlot(record), at: self.layout.offset(of: .start, slot: record.index))
    }

    /// Frees a slot; returns 0 or the error number.
    @discardableResult
    func free(slot: Int) -> Int32 { self.store([UInt64(0)], at: self.layout.offset(of: .flags, slot: slot)) }

    /// Stores all slots, and frees those without a record; returns 0 or the error number.
    func store(slots records: [SlotRecord]) -> Int32 {
        self.write(JournalFormat.encodeSlots(records, self.layout), at: self.layout.offset(of: .start, slot: 0))
    }

    /// Stores the state; returns 0 or the error number.
    @discardableResult
    func store(_ state: JournalState) -> Int32 {
        self.store([JournalMark.encode(state.rawValue, salt: JournalState.salt)], at: JournalLayout.stateOffset)
    }

    /// Stores the boot id; returns 0 or the error number.
    @discardableResult
    func store(_ bootID: BootID) -> Int32 { self.store([bootID.low, bootID.high], at: JournalLayout.bootIDOffset) }

    func store(_ commit: JournalContents.CommitRecord) {
        self.store(JournalFormat.encodeCommit(commit), at: JournalLayout.commitOffset)
    }

    func store(_ pairing: PartialPairing) {
        self.store(JournalFormat.encodePairing(pairing), at: JournalLayout.pairingOffset)
    }

    /// Stores a facts block; returns 0 or the error number.
    func store(facts block: [UInt8], block index: Int) -> Int32 {
        guard block.count <= self.layout.factsCapacity else { return EMSGSIZE }
        return self.write(block, at: self.layout.factsOffset(index))
    }

    /// Writes a facts block again as it is, so that the next sync includes it; returns 0 or the error number.
    func renewFacts(block index: Int) -> Int32 {
        let offset = self.layout.factsOffset(index)
        return withUnsafeTemporaryAllocation(byteCount: self.layout.factsCapacity, alignment: 1) { buffer in
            let count = self.descriptor.read(into: buffer, at: Int64(offset))
            guard count > 0 else { return count < 0 ? Int32(clamping: -count) : EIO }
            return self.descriptor.write(UnsafeRawBufferPointer(buffer.part(0..<count)), at: Int64(offset))
        }
    }

    /// Syncs all stores to the device; returns 0 or the error number.
    func sync() -> Int32 { self.descriptor.syncData() }

    /// Releases the lock.
    ///
    /// The descriptor is closed with the last reference, so that a late store cannot reach another file that has got
    /// its number.
    func release() { self.descriptor.unlock() }
}
