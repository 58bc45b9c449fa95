public import TransferCore

/// Where downloads lie on disk.
///
/// Everything but `survey`, `createSmall` and the writes may block for long and is called on a `BlockingPool`.
public protocol FileStore: Sendable {
    /// Looks at what lies under a name: the finished file, and a partial file with its journal.
    ///
    /// A few system calls; never hashes or reads the file's data.
    func survey(_ target: FileTarget) throws(StorageError) -> FileSurvey

    /// Begins a small file that leaves nothing behind when the process dies.
    func createSmall(_ target: FileTarget) throws(StorageError) -> any SmallFile

    /// Begins a partial file with its journal: `NAME.part` and `NAME.part.journal`, neither of which may exist
    /// unless it is ours (as `survey` says): then it is emptied and begun anew.
    func createPartial(_ target: FileTarget, facts: ResourceFacts) throws(StorageError) -> any PartialFile

    /// Opens our partial file to go on with it.
    func openPartial(_ target: FileTarget) throws(StorageError) -> any PartialFile

    /// Begins a partial file whose bytes `0..<size` are a copy of the existing final file `NAME`, by reflink if the
    /// filesystem can (`--if-exists resume`); the final file stays as it is.
    func copyExisting(_ target: FileTarget, facts: ResourceFacts) throws(StorageError) -> any PartialFile

    /// Reads bytes of the existing final file `NAME`, for comparing an overlap before it is copied.
    func readExisting(_ target: FileTarget, _ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Computes the digest of the existing final file `NAME`.
    func digestExisting(_ target: FileTarget, _ algorithm: DigestAlgorithm) throws(StorageError) -> [UInt8]

    /// Begins digests of bytes that no file holds from their beginning on: a stream's, or a single part's.
    func beginDigests(_ algorithms: [DigestAlgorithm]) -> any DigestComputation

    /// Opens a regular file whose bytes are to be sent; a few system calls. Throws `.cannotOpen`.
    func openSource(_ path: String) throws(StorageError) -> any SourceFile

    /// Deletes our partial file and journal under this name, if they exist.
    func discardPartial(_ target: FileTarget) throws(StorageError)

    /// Moves a partial file and its journal to another final name, where none of ours may be open; an older partial
    /// file there is deleted.
    ///
    /// Both must be closed. A crash in between loses the bytes of at most one of them, never mixes them.
    func movePartial(_ old: FileTarget, to new: FileTarget) throws(StorageError)

    /// Makes the files committed under `durability: .grouped` durable, then gives them their names. (`--durable`)
    ///
    /// Several engines may share a store: when it returns, all files committed before the call have been dealt with, by
    /// whichever call.
    ///
    /// - Parameter paths: The files that the caller committed since its last call.
    /// - Returns: Those of them that did not become durable or did not get their name, by path, and why: `.exists` where
    ///   the name was taken meanwhile.
    func flushGroup(_ paths: [String]) -> [String: StorageError]
}

/// A directory and a name in it.
public struct FileTarget: Hashable, Sendable {
    /// The directory's path, absolute or relative to the working directory.
    ///
    /// Made (with parents) when first written.
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

/// What lies under a name.
public struct FileSurvey: Sendable {
    /// The finished file or whatever else has the final name; `nil` where the name is free.
    public var existing: ExistingFile?
    /// The partial file's state.
    public var partial: PartialState

    /// Creates a survey.
    public init(existing: ExistingFile?, partial: PartialState) {
        self.existing = existing
        self.partial = partial
    }
}

/// What has the final name.
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
    /// The mark of the transfer that fetched it (extended attribute `user.martlet.transfer`, believed as the version is).
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

/// The validators of the response that a finished file was taken from.
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

/// What lies at `NAME.part` and `NAME.part.journal`.
public enum PartialState: Sendable {
    /// Neither exists.
    case none
    /// A partial file that our journal vouches for.
    case ours(ResourceFacts, written: Int64)
    /// The journal says the file was complete and it has its final name already: a commit that was cut off.
    case committed
    /// Another process holds it.
    case busy
    /// Something that no intact journal of ours vouches for; it is left alone. The text says why.
    case foreign(String)
}

/// How a finished file gets its name.
public struct CommitOptions: Sendable {
    /// What to do where the final name exists by now.
    public var overwrite: Bool
    /// The modification time to set, seconds since 1970, or `nil`.
    public var modified: Int64?
    /// The validators to store with the file, or `nil` if its modification time says as much.
    public var recorded: RecordedVersion?
    /// The transfer's mark to store with the file.
    public var mark: String?
    /// How durable the file is when the call returns.
    public var durability: Durability
    /// The digests to compare before the file gets its name, computed here unless they were computed on the way.
    public var expected: [ExpectedDigest]
    /// The algorithm whose digest the caller wants told, or `nil`.
    public var report: DigestAlgorithm?
    /// Whether a file that fails its digest is kept as `NAME.martlet-bad` (else deleted).
    public var keepBad: Bool

    /// How durable a committed file is.
    public enum Durability: Sendable {
        /// Not synced, as with every peer: for files of at most 1 MiB.
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

/// Digests of bytes that are handed over in order.
///
/// Used by one thread at a time.
public protocol DigestComputation: AnyObject, Sendable {
    /// The bytes that were handed over so far.
    var count: Int64 { get }

    /// Takes the bytes that follow.
    func update(_ bytes: UnsafeRawBufferPointer)

    /// The digests of all bytes so far.
    func digests() -> [DigestAlgorithm: [UInt8]]
}

/// A small file being received, unnamed until committed.
///
/// Used on one lane at a time.
public protocol SmallFile: AnyObject, Sendable {
    /// Appends bytes.
    func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError)

    /// Verifies, sets the attributes and gives the file its name. Throws `.exists` (and keeps the bytes, so that
    /// it can be committed under another name) where the name is taken and `overwrite` is false.
    ///
    /// - Returns: The digest asked for by `report`.
    func commit(as target: FileTarget, _ options: CommitOptions) throws(StorageError) -> [UInt8]?

    /// Reads back bytes that were appended.
    func read(_ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Drops the bytes.
    func discard()
}

/// A partial file with its journal.
///
/// Extents are written from several lanes at once, each from one lane.
public protocol PartialFile: AnyObject, Sendable {
    /// The bytes known to be there, ascending, disjoint, not adjacent: as the journal vouched at opening,
    /// trimmed to the file's real length. Not updated afterwards.
    var initialExtents: [ByteRange] { get }

    /// What the journal remembers of the resource.
    var facts: ResourceFacts { get }

    /// Replaces the facts and syncs nothing; used when the length becomes known or a validator proves unreliable.
    func update(facts: ResourceFacts) throws(StorageError)

    /// Reserves space for the whole file where the filesystem can. Throws `.noSpace` where the free space
    /// cannot hold what is missing; every other failure is ignored quietly.
    func preallocate(length: Int64) throws(StorageError)

    /// Opens an extent that begins at `offset`; `nil` where the journal has no slot left.
    /// Where an inactive extent ends just there it is continued.
    func beginExtent(at offset: Int64) -> Int?

    /// Writes bytes at the end of an extent and moves its mark. Whole or an error.
    func write(_ bytes: UnsafeRawBufferPointer, extent: Int) throws(StorageError)

    /// The extent will not grow for now; its slot may be merged with a neighbour.
    func endExtent(_ extent: Int)

    /// Reads back bytes that were written, for comparing an overlap.
    func read(_ range: ByteRange) throws(StorageError) -> [UInt8]

    /// Feeds a digest with bytes as they are written from offset 0 on, in order, for as long as they arrive so.
    func digestWhileWriting(_ algorithms: [DigestAlgorithm])

    /// fdatasync of the data, then the durable marks, then the journal. Blocks.
    func checkpoint() throws(StorageError)

    /// Verifies, syncs, renames, syncs the directory, deletes the journal.
    ///
    /// Blocks.
    ///
    /// - Parameters:
    ///   - target: The final name.
    ///   - length: The whole length; the file is truncated to it.
    ///   - options: What to verify and set.
    /// - Returns: The digest asked for by `report`.
    /// - Throws: `.exists` (and stays usable) where the name is taken and `overwrite` is false, `.digestMismatch` where
    ///   a digest disagrees.
    func commit(as target: FileTarget, length: Int64, _ options: CommitOptions) throws(StorageError) -> [UInt8]?

    /// Syncs the marks and closes; the files stay for another time. Blocks.
    func keep()

    /// Closes and deletes both files.
    func discard()

    /// Closes, names the bytes `NAME.martlet-bad` (or with a number) and deletes the journal: nothing goes on from
    /// them, and nothing is lost.
    ///
    /// - Returns: The path, or `nil` where no such name could be given; then they stay as `NAME.part`.
    @discardableResult
    func setAside() -> String?
}

/// Why the storage could not do something.
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
        /// A digest disagrees.
        case digestMismatch
    }

    /// The kind of failure.
    public var code: Code
    /// What, where and how to mend it.
    public var message: String
    /// The system's error number, or 0.
    public var errno: Int32

    /// Creates an error.
    public init(_ code: Code, _ message: String, errno: Int32 = 0) {
        self.code = code
        self.message = message
        self.errno = errno
    }

    /// What, where and how to mend it.
    public var description: String { self.message }
}
