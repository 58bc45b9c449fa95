// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// A partial file on disk with its journal.
///
/// Commits are in an extension; the other operations and the shared state are here.
final class DiskPartialFile: PartialFile {
    let target: FileTarget
    let names: PartialNames
    let directory: DirectoryHandle
    let data: FileDescriptor
    let journal: JournalFile
    let table: SlotTable
    let digests = RunningDigests()
    let initialExtents: [ByteRange]
    /// The proof that both files belong together.
    let pairing: PartialPairing?
    /// Whether the data file does not belong to the journal; then it is never deleted.
    let isClaimed: Bool
    private let losses: UnrecordedLosses
    private let factsState: Mutex<FactsState>
    /// Whether the directory entries of both files are durable.
    private let directorySynced = Atomic<Bool>(false)
    /// Serializes checkpoints and commits; writes never take it.
    let blocking = Mutex<Void>(())
    /// Whether a sync failed, or a write over facts: the kernel reports that once; a later sync succeeds although bytes are
    /// lost (fsync(2)).
    private let hasLostWrites = Atomic<Bool>(false)
    /// The digests computed by a commit, kept for a retry under another name.
    let verified = Mutex<[DigestAlgorithm: [UInt8]]>([:])

    private struct FactsState {
        var facts: ResourceFacts
        /// The block that has them.
        var block: Int
        var sequence: UInt64
        /// Whether a loss of power leaves these facts, or no readable journal, but not those of the other block.
        var isDurable = true
    }

    /// Takes ownership of open files; every slot of `contents` must be valid, and its facts current and durable.
    init(
        target: FileTarget,
        directory: DirectoryHandle,
        data: FileDescriptor,
        journal: JournalFile,
        contents: JournalContents,
        losses: UnrecordedLosses,
        isClaimed: Bool = false
    ) {
        self.target = target
        self.names = PartialNames(target.name)
        self.directory = directory
        self.data = data
        self.journal = journal
        self.pairing = contents.pairing
        self.isClaimed = isClaimed
        self.losses = losses
        self.table = SlotTable(journal, records: contents.slots)
        self.initialExtents = SlotTable.union(contents.slots.map { $0.start..<$0.written })
        self.factsState = Mutex(
            FactsState(facts: contents.facts, block: contents.factsBlock, sequence: contents.factsSequence)
        )
    }

    var facts: ResourceFacts { self.factsState.withLock { $0.facts } }

    /// The path of `NAME.part`, for messages.
    var path: String { self.directory.path(self.names.part) }

    func update(facts: ResourceFacts) throws(StorageError) {
        let number = self.factsState.withLock { state -> Int32 in
            guard facts != state.facts else { return 0 }
            let sequence = state.sequence &+ 1
            let capacity = self.journal.layout.factsCapacity
            let bytes = JournalFormat.encodeFacts(facts, sequence: sequence, capacity: capacity)
            // The block with the facts that are durable stays until others are: its bytes have durable marks. A write within
            // a page is whole after a kill.
            if !state.isDurable, bytes.count > JournalLayout.page {
                let number = self.syncFacts(&state)
                if number != 0 { return number }
            }
            let block = state.isDurable ? 1 - state.block : state.block
            let number = self.journal.store(facts: bytes, block: block)
            if number == 0 {
                state = FactsState(facts: facts, block: block, sequence: sequence, isDurable: false)
            } else if block == state.block {
                // A part of the write may have destroyed the facts of the bytes that were written since.
                self.lost()
            }
            return number
        }
        try self.check(number, "cannot write the journal of")
    }

    /// Syncs the facts, unless they are durable; returns 0 or the error number.
    private func syncFacts(_ state: inout FactsState) -> Int32 {
        if state.isDurable { return 0 }
        let number = self.syncedJournal()
        if number == 0 { state.isDurable = true }
        return number
    }

    func preallocate(length: Int64) throws(StorageError) {
        guard length > 0, let status = self.data.status() else { return }
        let allocated = Int64(clamping: status.st_blocks).multipliedReportingOverflow(by: 512)
        let missing = length - min(length, allocated.overflow ? .max : allocated.partialValue)
        guard missing > 0 else { return }
        if let free = FreeSpace.bytes(self.data), missing > free {
            throw FreeSpace.error(needed: missing, free: free, directory: self.directory.path)
        }
        // In memory there are no extents: every page would be zeroed before it is written.
        if KernelCalls.isInMemory(self.data.raw) { return }
        let result = KernelCalls.allocateKeepingSize(self.data.raw, length: length)
        guard result != 0, errno == ENOSPC || errno == EDQUOT || errno == EFBIG else { return }
        let error = StorageError(errno: errno, otherwise: .noSpace, "cannot reserve \(length) bytes for", self.path)
        // Release the blocks beyond the end that were reserved before the failure.
        _ = self.data.truncate(Int64(status.st_size))
        throw error
    }

    func beginExtent(at offset: Int64) -> Int? {
        self.verified.withLock { $0 = [:] }
        return self.table.begin(at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, extent: Int) throws(StorageError) {
        guard !bytes.isEmpty else { return }
        guard let position = self.table.position(of: extent) else {
            throw StorageError(.inputOutput, "cannot write '\(self.path)': no such extent")
        }
        guard Int64(bytes.count) <= JournalMark.maximum - position else {
            throw StorageError(errno: EFBIG, otherwise: .noSpace, "cannot write", self.path)
        }
        let number = self.data.write(bytes, at: position)
        if number != 0 { try self.check(number, "cannot write") }
        self.digests.written(bytes, at: position)
        // Only after the write: the mark may lag behind the data, never lead it.
        let marked = self.table.advance(extent, to: position + Int64(bytes.count))
        if marked != 0 { try self.check(marked, "cannot write the journal of") }
    }

    func endExtent(_ extent: Int) {
        self.table.end(extent)
    }

    func read(_ range: ByteRange) throws(StorageError) -> [UInt8] {
        try self.data.bytes(range, path: self.path)
    }

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StorageError) -> Bool {
        switch self.data.holds(bytes, at: offset) {
        case .success(let holds): return holds
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .inputOutput, "cannot read back", self.path)
        }
    }

    func digestWhileWriting(_ algorithms: [DigestAlgorithm]) {
        self.digests.begin(algorithms)
    }

    func checkpoint() throws(StorageError) {
        try self.exclusively { () throws(StorageError) in
            let snapshot = self.table.snapshot()
            // fdatasync(2) need not make the attribute of the pairing durable.
            let isFirst = !self.directorySynced.load(ordering: .relaxed)
            try self.syncData { isFirst ? self.data.sync() : self.data.syncData() }
            // The kernel writes pages in any order: durable marks with earlier facts would give the bytes to another version.
            // No other facts are written meanwhile.
            try self.check(self.factsState.withLock { self.syncFacts(&$0) }, "cannot sync the journal of")
            try self.check(self.table.markDurable(snapshot), "cannot write the journal of")
            try self.syncJournal()
            guard isFirst else { return }
            try self.directory.sync()
            self.directorySynced.store(true, ordering: .relaxed)
        }
    }

    func releaseReserve() {
        try? self.exclusively { () throws(StorageError) in
            var end: Int64 = 0
            for extent in self.table.extents() {
                if extent.lowerBound > end {
                    _ = KernelCalls.punchHole(self.data.raw, end, length: extent.lowerBound - end)
                }
                end = extent.upperBound
            }
            // Some filesystems release the blocks beyond the end only if the size changes.
            guard end < JournalMark.maximum, self.data.truncate(end + 1) == 0 else { return }
            _ = self.data.truncate(end)
        }
    }

    func keep() {
        // If it fails, the next run trusts only the bytes made durable by an earlier checkpoint.
        try? self.checkpoint()
        self.abandon()
    }

    func discard() {
        if self.isClaimed {
            _ = self.setAside()
            return
        }
        self.removeFiles()
        self.abandon()
    }

    /// Closes without syncing anything, as a crash would.
    func abandon() {
        _ = self.data.close()
        self.journal.release()
    }

    /// Deletes both files, the data first: a journal alone counts as ours and empty, a partial file alone as foreign.
    ///
    /// Returns whether none of them is left that a next run would believe.
    @discardableResult
    func removeFiles() -> Bool {
        guard (try? self.directory.unlink(self.names.part)) != nil else { return false }
        try? self.directory.unlink(self.names.journal)
        return true
    }

    /// Throws if an earlier sync, or a write over facts, failed: then written bytes may be lost.
    func requireIntact() throws(StorageError) {
        guard !self.hasLostWrites.load(ordering: .acquiring) else {
            throw StorageError(errno: EIO, otherwise: .inputOutput, "an earlier write or sync failed for", self.path)
        }
    }

    /// Syncs the data; a failure is permanent and invalidates the journal's marks of written bytes.
    func syncData(_ sync: () -> Int32) throws(StorageError) {
        try self.requireIntact()
        let number = sync()
        if number != 0 { self.lost() }
        try self.check(number, "cannot sync")
    }

    /// Syncs the journal; a failure is permanent and invalidates its marks of written bytes.
    func syncJournal() throws(StorageError) {
        try self.check(self.syncedJournal(), "cannot sync the journal of")
    }

    /// Syncs the journal as ``syncJournal()`` does; returns 0 or the error number.
    ///
    /// After a failure, the facts of the written bytes may be among what the kernel has dropped.
    private func syncedJournal() -> Int32 {
        let number = self.journal.sync()
        guard number != 0 else { return 0 }
        self.hasLostWrites.store(true, ordering: .releasing)
        // Reads still show the facts, and who opens the journal writes them again: nothing has to be deleted.
        if self.journal.store(BootID.unknown) != 0 { self.losses.note(self.directory.path(self.names.journal)) }
        return number
    }

    /// Makes nothing durable any more: bytes or their facts may be gone.
    private func lost() {
        self.hasLostWrites.store(true, ordering: .releasing)
        self.distrustWrittenBytes()
    }

    /// Invalidates the journal's marks of written bytes: the next run believes the durable ones alone.
    private func distrustWrittenBytes() {
        guard self.journal.store(BootID.unknown) != 0 else { return }
        // The next run would believe what the journal says.
        let isGone =
            self.isClaimed ? (try? self.directory.unlink(self.names.journal)) != nil : self.removeFiles()
        if !isGone { self.losses.note(self.directory.path(self.names.journal)) }
    }

    /// Throws if a call returned an error number.
    func check(_ number: Int32, _ doing: String) throws(StorageError) {
        if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, doing, self.path) }
    }

    /// Runs a blocking operation exclusively: no other one runs at the same time.
    func exclusively<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        let result = self.blocking.withLock { _ -> Result<Value, StorageError> in
            do throws(StorageError) {
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
