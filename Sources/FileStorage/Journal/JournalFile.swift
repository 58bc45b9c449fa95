// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
internal import TransferCore
import TransferEngine

/// An open, locked journal whose words are updated in place.
///
/// Words are stored into a shared mapping without a system call, or with pwrite(2) if a mapping would not be safe.
///
/// A store into a mapped page survives the death of the process at any instruction. On a full disk, a store into a page
/// without a block kills the process (SIGBUS). So a journal is mapped only if its blocks are allocated and stay in
/// place: a copy-on-write filesystem (btrfs, ZFS) needs space for each write, and a remote one may lose its server.
///
/// `@unchecked Sendable`: the mapping is only stored to, atomically by word or under the owner's lock.
final class JournalFile: @unchecked Sendable {
    let layout: JournalLayout
    private let descriptor: FileDescriptor
    private let mapping: UnsafeMutableRawPointer?

    /// Filesystems on which a mapped store may need a new block or a server.
    ///
    /// btrfs, ZFS, bcachefs, F2FS, NFS, SMB (three generations), FUSE, 9p, VirtualBox.
    private static let unmappable: Set<UInt32> = [
        0x9123_683E, 0x2FC1_2FC1, 0xCA45_1A4E, 0xF2F5_2010, 0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546,
        0x0102_1997, 0x786F_4256,
    ]

    /// Takes over an open journal.
    ///
    /// - Parameters:
    ///   - descriptor: The journal, open for reading and writing, locked, `layout.size` bytes long and allocated.
    ///   - layout: The layout of the journal.
    ///   - mappable: Whether its blocks are allocated.
    init(_ descriptor: FileDescriptor, layout: JournalLayout, mappable: Bool) {
        self.layout = layout
        self.descriptor = descriptor
        guard mappable, !Self.unmappable.contains(KernelCalls.filesystemMagic(descriptor.raw)) else {
            self.mapping = nil
            return
        }
        let mapping = mmap(nil, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.raw, 0)
        self.mapping = mapping == MAP_FAILED ? nil : mapping
    }

    deinit {
        if let mapping { munmap(mapping, self.layout.size) }
    }

    /// Whether words are stored without system calls.
    var isMapped: Bool { self.mapping != nil }

    /// Allocates all blocks of the journal; returns whether the allocation is supported.
    ///
    /// - Throws: ``StorageError`` with `.noSpace` if the device or quota is full.
    static func allocate(_ descriptor: FileDescriptor, size: Int, path: String) throws(StorageError) -> Bool {
        var result = KernelCalls.allocate(descriptor.raw, length: size)
        while result == EINTR { result = KernelCalls.allocate(descriptor.raw, length: size) }
        switch result {
        case 0: return true
        case ENOSPC, EDQUOT, EFBIG:
            throw StorageError(errno: result, otherwise: .noSpace, "cannot allocate", path)
        default: return false
        }
    }

    /// Stores an 8-byte word; returns 0 or the error number.
    ///
    /// Earlier stores become visible before it.
    @discardableResult
    func store(_ word: UInt64, at offset: Int) -> Int32 {
        if let mapping {
            (mapping + offset).assumingMemoryBound(to: Atomic<UInt64>.self).pointee
                .store(word.littleEndian, ordering: .releasing)
            return 0
        }
        return withUnsafeBytes(of: word.littleEndian) { self.descriptor.write($0, at: Int64(offset)) }
    }

    /// Stores a field of a slot as a mark.
    @discardableResult
    func store(_ value: Int64, _ field: SlotField, slot: Int) -> Int32 {
        self.store(
            JournalMark.encode(value, salt: field.salt(slot: slot)),
            at: self.layout.offset(of: field, slot: slot)
        )
    }

    /// Stores the state.
    @discardableResult
    func store(_ state: JournalState) -> Int32 {
        self.store(JournalMark.encode(state.rawValue, salt: JournalState.salt), at: JournalLayout.stateOffset)
    }

    /// Stores the boot id.
    ///
    /// A crash between its halves leaves an id of no boot, under which less data is trusted, not more.
    func store(_ bootID: BootID) {
        self.store(bootID.low, at: JournalLayout.bootIDOffset)
        self.store(bootID.high, at: JournalLayout.bootIDOffset + 8)
    }

    /// Stores the commit record.
    func store(_ commit: JournalContents.CommitRecord) {
        for (index, word) in JournalFormat.encodeCommit(commit).enumerated() {
            self.store(word, at: JournalLayout.commitOffset + index * 8)
        }
    }

    /// Stores the pairing; the inode before the number, without which the inode is not read.
    func store(_ pairing: PartialPairing) {
        for (index, word) in JournalFormat.encodePairing(pairing).enumerated().reversed() {
            self.store(word, at: JournalLayout.pairingOffset + index * 8)
        }
    }

    /// Stores a facts block; returns 0 or the error number.
    func store(facts block: [UInt8], block index: Int) -> Int32 {
        guard block.count <= self.layout.factsCapacity else { return EMSGSIZE }
        let offset = self.layout.factsOffset(index)
        return block.withUnsafeBytes { bytes -> Int32 in
            guard let mapping else { return self.descriptor.write(bytes, at: Int64(offset)) }
            if let base = bytes.baseAddress { (mapping + offset).copyMemory(from: base, byteCount: bytes.count) }
            return 0
        }
    }

    /// Syncs all stores to the device; returns 0 or the error number.
    func sync() -> Int32 {
        if let mapping {
            while msync(mapping, self.layout.size, MS_SYNC) != 0 {
                if errno != EINTR { return errno }
            }
            return 0
        }
        return self.descriptor.syncData()
    }

    /// Releases the lock and closes the descriptor; returns 0 or the error number.
    ///
    /// The mapping exists until the last reference to this object is released, so that a late store cannot fault.
    func close() -> Int32 {
        self.descriptor.unlock()
        return self.descriptor.close()
    }
}
