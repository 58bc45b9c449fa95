// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// Stores downloads on disk.
///
/// All methods except `survey`, `createSmall` and the writes may block for long and are called on a `BlockingPool`.
public protocol FileStore: Sendable {
    /// Identifies the file system of a file, such as by its device number; `nil` if it is not known.
    func fileSystem(of target: FileTarget) -> UInt64?

    /// Examines the files under a name: the finished file, and a partial file with its journal.
    ///
    /// Makes a few system calls; never reads or hashes the file's data.
    func survey(_ target: FileTarget) throws(StorageError) -> FileSurvey

    /// Creates a small file that leaves nothing behind if the process dies.
    func createSmall(_ target: FileTarget) throws(StorageError) -> any SmallFile

    /// Creates a partial file with its journal: `NAME.part` and `NAME.part.journal`.
    ///
    /// Neither may exist, unless both are ours according to `survey`: then they are replaced by empty ones.
    func createPartial(_ target: FileTarget, facts: ResourceFacts) throws(StorageError) -> any PartialFile

    /// Opens a partial file of ours to resume it.
    ///
    /// - Parameters:
    ///   - target: The final name.
    ///   - claiming: Whether a partial file that does not belong to its journal is opened, too: the caller compares a
    ///     digest of the whole file. It is never deleted, only set aside.
    /// - Returns: The open file.
    /// - Throws: `.cannotOpen` if it is missing, `.inUse` if another process has it, `.badJournal` if it is not ours.
    func openPartial(_ target: FileTarget, claiming: Bool) throws(StorageError) -> any PartialFile

    /// Creates a partial file whose bytes `0..<size` are a copy of the existing final file `NAME`, by reflink if the
    /// filesystem supports it (`--if-exists resume`); the final file is not changed.
    ///
    /// - Parameters:
    ///   - target: The final name.
    ///   - identity: The file that was compared.
    ///   - facts: The facts to record.
    /// - Returns: The open partial file.
    /// - Throws: `.exists` if the final file is another one, or was changed: then there is no partial file.
    func copyExisting(
        _ target: FileTarget,
        unchangedSince identity: FileIdentity,
        facts: ResourceFacts
    ) throws(StorageError) -> any PartialFile

    /// Reads bytes of the existing final file `NAME`, for comparing an overlap before it is copied.
    func readExisting(_ target: FileTarget, _ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Computes the digest of the existing final file `NAME`.
    func digestExisting(_ target: FileTarget, _ algorithm: DigestAlgorithm) throws(StorageError) -> [UInt8]

    /// Starts digests of bytes that cannot be read back from a file: those of a stream or of one part of a response.
    func beginDigests(_ algorithms: [DigestAlgorithm]) -> any DigestComputation

    /// Opens a regular file to send its bytes; makes a few system calls. Throws `.cannotOpen`.
    func openSource(_ path: String) throws(StorageError) -> any SourceFile

    /// Deletes our partial file and journal under this name, if they exist.
    func discardPartial(_ target: FileTarget) throws(StorageError)

    /// Moves a partial file and its journal to another final name; an older partial file of that name is deleted.
    ///
    /// Both partial files must be closed. A crash during the move loses the bytes of at most one of them and never
    /// mixes them.
    func movePartial(_ old: FileTarget, to new: FileTarget) throws(StorageError)

    /// Makes the files committed under `durability: .grouped` durable, then gives them their names. (`--durable`)
    ///
    /// Several engines may share a store: on return, all files committed before the call have been processed, by this
    /// or by another call.
    ///
    /// - Parameter paths: The files that the caller committed since its last call.
    /// - Returns: The errors, by path, of files that did not become durable or did not get their name: `.exists` if the
    ///   name was taken since the commit.
    func flushGroup(_ paths: [String]) -> [String: StorageError]

    /// Makes a finished file and its name durable. (`--durable`)
    ///
    /// For a file that an earlier process finished: that it was synced before the process ended is not known.
    func makeDurable(_ target: FileTarget) throws(StorageError)
}

/// Computes digests of bytes that are passed in order.
///
/// Used by one thread at a time.
public protocol DigestComputation: AnyObject, Sendable {
    /// The number of bytes processed so far.
    var count: Int64 { get }

    /// Processes the next bytes.
    func update(_ bytes: UnsafeRawBufferPointer)

    /// The digests of all bytes so far.
    func digests() -> [DigestAlgorithm: [UInt8]]
}

/// A small file being received, unnamed until committed.
///
/// Used on one event loop at a time.
public protocol SmallFile: AnyObject, Sendable {
    func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError)

    /// Verifies, sets the attributes and gives the file its name. Throws `.exists` (and keeps the bytes, so that
    /// it can be committed under another name) if the name is taken and `overwrite` is false.
    ///
    /// - Returns: The digest requested by `report`.
    func commit(as target: FileTarget, _ options: CommitOptions) throws(StorageError) -> [UInt8]?

    /// Reads back bytes that were appended.
    func read(_ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Discards the bytes.
    func discard()
}

/// A partial file with its journal.
///
/// Extents are written on several event loops concurrently, each extent on one of them.
public protocol PartialFile: AnyObject, Sendable {
    /// The byte ranges known to be present, ascending, disjoint, not adjacent: as recorded in the journal at opening,
    /// trimmed to the file's actual length. Not updated later.
    var initialExtents: [ByteRange] { get }

    /// The facts of the resource recorded in the journal.
    var facts: ResourceFacts { get }

    /// Replaces the facts without syncing; used when the length becomes known or a validator proves unreliable.
    func update(facts: ResourceFacts) throws(StorageError)

    /// Reserves space for the whole file if the filesystem supports it. Throws `.noSpace` if the missing bytes exceed
    /// the free space; all other failures are ignored.
    func preallocate(length: Int64) throws(StorageError)

    /// Opens an extent that begins at `offset`, or returns `nil` if the journal has no slot left.
    /// An inactive extent that ends at `offset` is continued.
    func beginExtent(at offset: Int64) -> Int?

    /// Writes all bytes at the end of an extent and advances its mark, or throws.
    func write(_ bytes: UnsafeRawBufferPointer, extent: Int) throws(StorageError)

    /// Makes an extent inactive; its slot may be merged with a neighbour's.
    func endExtent(_ extent: Int)

    /// Reads back bytes that were written, for comparing an overlap.
    func read(_ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Whether the file has these bytes at an offset; bytes after the end differ.
    ///
    /// Called on an event loop for each chunk of a response that repeats bytes: it must not allocate for the whole.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StorageError) -> Bool

    /// Computes digests of the bytes as they are written, as long as they are written in order from offset 0 on.
    func digestWhileWriting(_ algorithms: [DigestAlgorithm])

    /// Syncs the data (fdatasync), then advances the durable marks, then syncs the journal. Blocks.
    func checkpoint() throws(StorageError)

    /// Verifies, syncs, renames, syncs the directory, deletes the journal.
    ///
    /// Blocks.
    ///
    /// - Parameters:
    ///   - target: The final name.
    ///   - length: The whole length; the file is truncated to it.
    ///   - options: What to verify and set.
    /// - Returns: The digest requested by `report`.
    /// - Throws: `.exists` (and stays usable) if the name is taken and `overwrite` is false, `.digestMismatch` if a
    ///   digest differs.
    func commit(as target: FileTarget, length: Int64, _ options: CommitOptions) throws(StorageError) -> [UInt8]?

    /// Releases the reserved space that holds no received bytes; no extent may be open. Blocks.
    func releaseReserve()

    /// Makes a checkpoint and closes; the files are kept to be resumed. Blocks.
    func keep()

    /// Closes and deletes both files.
    func discard()

    /// Closes, renames the data to `NAME.martlet-bad` (or with a number) and deletes the journal: the data is not
    /// resumed, and not lost.
    ///
    /// - Returns: The new path, or `nil` if renaming failed; then the data remains `NAME.part`.
    @discardableResult
    func setAside() -> String?
}

extension PartialFile {
    /// Does nothing, for stores that reserve no space.
    public func releaseReserve() {}
}

extension FileStore {
    /// Opens a partial file that belongs to its journal.
    public func openPartial(_ target: FileTarget) throws(StorageError) -> any PartialFile {
        try self.openPartial(target, claiming: false)
    }

    /// Releases the reserved space of a partial file that is kept although it will not be resumed soon.
    package func releaseReserve(of target: FileTarget) {
        guard let survey = try? self.survey(target), case .ours = survey.partial,
            let partial = try? self.openPartial(target)
        else { return }
        partial.releaseReserve()
        partial.keep()
    }
}

extension FileStore {
    /// Not known.
    public func fileSystem(of target: FileTarget) -> UInt64? { nil }
}
