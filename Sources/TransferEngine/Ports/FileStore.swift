public import TransferCore

/// Stores downloads on disk.
///
/// All methods except `survey`, `createSmall` and the writes may block for long and are called on a `BlockingPool`.
public protocol FileStore: Sendable {
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

    /// Opens our partial file to resume it.
    func openPartial(_ target: FileTarget) throws(StorageError) -> any PartialFile

    /// Creates a partial file whose bytes `0..<size` are a copy of the existing final file `NAME`, by reflink if the
    /// filesystem supports it (`--if-exists resume`); the final file is not changed.
    func copyExisting(_ target: FileTarget, facts: ResourceFacts) throws(StorageError) -> any PartialFile

    /// Reads bytes of the existing final file `NAME`, for comparing an overlap before it is copied.
    func readExisting(_ target: FileTarget, _ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Computes the digest of the existing final file `NAME`.
    func digestExisting(_ target: FileTarget, _ algorithm: DigestAlgorithm) throws(StorageError) -> [UInt8]

    /// Starts digests of bytes that cannot be read back from a file: those of a stream or of a single part.
    func beginDigests(_ algorithms: [DigestAlgorithm]) -> any DigestComputation

    /// Opens a regular file whose bytes are to be sent; makes a few system calls. Throws `.cannotOpen`.
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
    /// or another call.
    ///
    /// - Parameter paths: The files that the caller committed since its last call.
    /// - Returns: The errors, by path, of those that did not become durable or did not get their name: `.exists` if the
    ///   name was taken meanwhile.
    func flushGroup(_ paths: [String]) -> [String: StorageError]
}

/// A directory and a name in it.
public struct FileTarget: Hashable, Sendable {
    /// The directory's path, absolute or relative to the working directory.
    ///
    /// Created, with its parents, by the first write.
    public var directory: String
    /// The final name: one safe path component (see `FileName`).
    public var name: String

    /// Creates a target.
    public init(directory: String, name: String) {
        self.directory = directory
        self.name = name
    }

    /// The path of the final file.
    public var path: String {
        self.directory.isEmpty || self.directory == "."
            ? self.name
            : self.directory.hasSuffix("/") ? self.directory + self.name : self.directory + "/" + self.name
    }
}

/// The files found under a name.
public struct FileSurvey: Sendable {
    /// The finished file or any other entry with the final name; `nil` if the name is free.
    public var existing: ExistingFile?
    /// The partial file's state.
    public var partial: PartialState

    /// Creates a survey.
    public init(existing: ExistingFile?, partial: PartialState) {
        self.existing = existing
        self.partial = partial
    }
}

/// The file or other entry with the final name.
public struct ExistingFile: Sendable {
    /// Whether it is a regular file.
    public var isRegular: Bool
    /// Its size in bytes.
    public var size: Int64
    /// Its modification time, whole seconds since 1970.
    public var modified: Int64
    /// The validators that Martlet stored when it finished the file (extended attribute `user.martlet.version`, which
    /// also holds the size and the modification time it belongs to; `nil` if they no longer agree).
    public var recorded: RecordedVersion?
    /// The mark of the transfer that fetched it (attribute `user.martlet.transfer`, validated in the same way).
    public var mark: String?

    /// Creates the description of a file.
    public init(isRegular: Bool, size: Int64, modified: Int64, recorded: RecordedVersion? = nil, mark: String? = nil) {
        self.isRegular = isRegular
        self.size = size
        self.modified = modified
        self.recorded = recorded
        self.mark = mark
    }
}

/// The validators of the response that a finished file is from.
public struct RecordedVersion: Hashable, Sendable {
    /// `ETag` as sent.
    public var entityTag: String?
    /// `Last-Modified` as sent.
    public var lastModified: String?
    /// `Date` of that response, as sent.
    public var date: String?

    /// Creates a record.
    public init(entityTag: String? = nil, lastModified: String? = nil, date: String? = nil) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
    }
}

/// The state of `NAME.part` and `NAME.part.journal`.
public enum PartialState: Sendable {
    /// Neither exists.
    case none
    /// A partial file that our journal vouches for.
    case ours(ResourceFacts, written: Int64)
    /// An interrupted commit: according to the journal the file is complete, and it has its final name already.
    case committed
    /// Another process has it locked.
    case busy
    /// A file that no intact journal of ours vouches for; it is left unchanged. The text states the reason.
    case foreign(String)
}

/// How a finished file gets its name.
public struct CommitOptions: Sendable {
    /// Whether to replace a file that has the final name.
    public var overwrite: Bool
    /// The modification time to set, seconds since 1970, or `nil`.
    public var modified: Int64?
    /// The validators to store with the file, or `nil` if there are none.
    public var recorded: RecordedVersion?
    /// The transfer's mark to store with the file.
    public var mark: String?
    /// How durable the file is when the call returns.
    public var durability: Durability
    /// The digests to compare before the file gets its name, computed by the commit unless computed while writing.
    public var expected: [ExpectedDigest]
    /// The algorithm of the digest to return, or `nil`.
    public var report: DigestAlgorithm?
    /// Whether a file that fails its digest is kept as `NAME.martlet-bad` (else deleted).
    public var keepBad: Bool

    /// How durable a committed file is.
    public enum Durability: Sendable {
        /// Not synced, as in other download tools: for files of at most 1 MiB.
        case none
        /// Synced, renamed, directory synced, before the call returns.
        case synced
        /// Synced together with others at the next `flushGroup(_:)`, which also gives it its name.
        case grouped
    }

    /// Creates options.
    public init(
        overwrite: Bool = false,
        modified: Int64? = nil,
        recorded: RecordedVersion? = nil,
        mark: String? = nil,
        durability: Durability = .none,
        expected: [ExpectedDigest] = [],
        report: DigestAlgorithm? = nil,
        keepBad: Bool = true
    ) {
        self.overwrite = overwrite
        self.modified = modified
        self.recorded = recorded
        self.mark = mark
        self.durability = durability
        self.expected = expected
        self.report = report
        self.keepBad = keepBad
    }
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
    /// Appends bytes.
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

/// An error of the storage.
public struct StorageError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: String, Sendable {
        /// The device or quota is full.
        case noSpace
        /// The name exists and may not be overwritten.
        case exists
        /// The file could not be created.
        case cannotCreate
        /// An existing file could not be opened.
        case cannotOpen
        /// The directory could not be made or opened.
        case cannotCreateDirectory
        /// Reading or writing failed.
        case inputOutput
        /// The journal is damaged, or no longer ours.
        case badJournal
        /// A digest differs.
        case digestMismatch
    }

    /// The kind of failure.
    public var code: Code
    /// Describes the failure, the path and how to fix it.
    public var message: String
    /// The system's error number, or 0.
    public var errno: Int32

    /// Creates an error.
    public init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// The message.
    public var description: String { self.message }
}
