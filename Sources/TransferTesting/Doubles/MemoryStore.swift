// SPDX-License-Identifier: Apache-2.0
import Synchronization
public import TransferCore
public import TransferEngine

/// A file store in memory that counts calls and fails on demand.
///
/// If a file object is released without `keep()`, everything written remains in the journal, as after kill -9.
public final class MemoryStore: FileStore {
    /// A finished file.
    public struct File: Sendable {
        /// The content.
        public var bytes: [UInt8]
        /// The modification time, seconds since 1970.
        public var modified: Int64
        /// The validators stored with it.
        public var recorded: RecordedVersion?
        /// The mark of the transfer that downloaded it.
        public var mark: String?
        /// Whether it is a regular file, and not for example a directory.
        public var isRegular = true
        /// The change time (ctime), in nanoseconds since 1970.
        public var changed: Int64 = 0

        /// Creates a file.
        public init(_ bytes: [UInt8], modified: Int64 = 0, recorded: RecordedVersion? = nil, mark: String? = nil) {
            self.bytes = bytes
            self.modified = modified
            self.recorded = recorded
            self.mark = mark
        }
    }

    /// The partial file at `NAME.part`, with its journal.
    public struct Partial: Sendable {
        /// The bytes; holes are zeros.
        public var bytes: [UInt8]
        /// The written ranges, ascending, disjoint, not adjacent.
        public var extents: [ByteRange]
        /// The facts of the resource recorded in the journal.
        public var facts: ResourceFacts
        /// Whether a file object has it open.
        public var isBusy = false
        /// The reason why it is not ours, or `nil` if it is.
        public var foreign: String?

        /// Creates a partial file with a valid journal.
        public init(bytes: [UInt8] = [], extents: [ByteRange] = [], facts: ResourceFacts) {
            self.bytes = bytes
            self.extents = extents
            self.facts = facts
        }
    }

    /// The number of calls, by kind.
    public struct Counts: Sendable, Equatable {
        /// Calls of `checkpoint()`.
        public var checkpoints = 0
        /// Commits that gave a file its name, grouped ones included.
        public var commits = 0
        /// Commits that synced before they returned.
        public var syncedCommits = 0
        /// Calls of `flushGroup()`.
        public var flushes = 0
        /// Calls of `keep()`.
        public var keeps = 0
        /// Calls of `releaseReserve()`.
        public var releases = 0
        /// Small files created.
        public var smallFiles = 0
        /// Partial files created.
        public var partialFiles = 0
        /// Partial and small files discarded.
        public var discards = 0
        /// Bytes written.
        public var writtenBytes: Int64 = 0
    }

    struct State {
        var files: [String: File] = [:]
        var partials: [String: Partial] = [:]
        var grouped: [(path: String, file: File)] = []
        var takenAtFlush: [String: File] = [:]
        var counts = Counts()
        var extentSlots = 64
        var writesLeft: Int64 = .max
        var writeError: StorageError.Code = .noSpace
        var freeSpace: Int64 = .max
        var commitError: StorageError.Code?
        var factsError: StorageError.Code?
        var surveyErrors: [StorageError.Code] = []
        var isEveryNameForeign = false
    }

    let state = Mutex(State())
    let computeDigest: @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8]

    /// Creates an empty store.
    ///
    /// - Parameter digest: Computes digests; by default ``toyDigest(_:_:)``, so that a test needs no cryptography.
    public init(digest: @escaping @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8] = MemoryStore.toyDigest) {
        self.computeDigest = digest
    }

    /// A digest of the right length that differs for different contents; not the algorithm's real one.
    public static func toyDigest(_ algorithm: DigestAlgorithm, _ bytes: [UInt8]) -> [UInt8] {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        var generator = SeededGenerator(seed: hash &+ UInt64(algorithm.byteCount))
        return (0..<algorithm.byteCount).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }

    // MARK: Inspection and set-up by a test

    /// The finished files by path.
    public var files: [String: File] { self.state.withLock { $0.files } }

    /// The partial files by the path of their final name.
    public var partials: [String: Partial] { self.state.withLock { $0.partials } }

    /// The number of calls so far, by kind.
    public var counts: Counts { self.state.withLock { $0.counts } }

    /// Adds a finished file.
    public func add(_ file: File, at path: String) { self.state.withLock { $0.files[path] = file } }

    /// Opens a file for sending; a later `add` under its name counts as a change of the file.
    public func openSource(_ path: String) throws(StorageError) -> any SourceFile {
        guard let file = self.files[path], file.isRegular else {
            throw StorageError(.cannotOpen, "cannot open '\(path)': it does not exist", errno: 2)
        }
        return MemorySourceFile(self, path)
    }

    /// Adds a partial file, for the final name at `path`.
    public func add(_ partial: Partial, at path: String) { self.state.withLock { $0.partials[path] = partial } }

    /// Lets writes succeed for this many more bytes; the write that exceeds them fails with this code.
    public func failWrites(after bytes: Int64, with code: StorageError.Code = .noSpace) {
        self.state.withLock { state in
            state.writesLeft = bytes
            state.writeError = code
        }
    }

    /// Lets all writes succeed again.
    public func healWrites() { self.state.withLock { $0.writesLeft = .max } }

    /// Sets the free space that preallocation sees, in bytes.
    public func setFreeSpace(_ bytes: Int64) { self.state.withLock { $0.freeSpace = bytes } }

    /// Lets every commit fail with this code; `nil` lets them succeed again.
    public func failCommits(with code: StorageError.Code?) { self.state.withLock { $0.commitError = code } }

    /// Lets every update of a partial file's facts fail with this code; `nil` lets them succeed again.
    public func failFacts(with code: StorageError.Code?) { self.state.withLock { $0.factsError = code } }

    /// Lets the next surveys fail with these codes, in order.
    public func failSurveys(with codes: [StorageError.Code]) { self.state.withLock { $0.surveyErrors = codes } }

    /// Lets every survey find another program's partial file.
    public func makeEveryNameForeign() { self.state.withLock { $0.isEveryNameForeign = true } }

    /// Sets the maximum number of open extents of a partial file.
    public func setExtentSlots(_ count: Int) { self.state.withLock { $0.extentSlots = count } }

    // MARK: FileStore

    /// Examines the files under a name.
    public func survey(_ target: FileTarget) throws(StorageError) -> FileSurvey {
        try self.locked { state throws(StorageError) in
            if !state.surveyErrors.isEmpty {
                throw StorageError(state.surveyErrors.removeFirst(), "the memory store simulates a failed survey")
            }
            if state.isEveryNameForeign { return FileSurvey(existing: nil, partial: .foreign("another program's")) }
            let existing = state.files[target.path]
                .map { Self.description(of: $0) }
            guard let partial = state.partials[target.path] else {
                return FileSurvey(existing: existing, partial: .none)
            }
            if let reason = partial.foreign { return FileSurvey(existing: existing, partial: .foreign(reason)) }
            if partial.isBusy { return FileSurvey(existing: existing, partial: .busy(partial.facts)) }
            let written = partial.extents.reduce(0) { $0 + $1.upperBound - $1.lowerBound }
            return FileSurvey(existing: existing, partial: .ours(partial.facts, written: written))
        }
    }

    /// Creates a small file.
    public func createSmall(_ target: FileTarget) throws(StorageError) -> any SmallFile {
        self.state.withLock { $0.counts.smallFiles += 1 }
        return MemorySmallFile(store: self)
    }

    /// Creates a partial file; ours is emptied if it exists.
    public func createPartial(_ target: FileTarget, facts: ResourceFacts) throws(StorageError) -> any PartialFile {
        try self.locked { state throws(StorageError) in
            if let old = state.partials[target.path], old.isBusy || old.foreign != nil {
                throw StorageError(old.isBusy ? .inUse : .exists, "\(target.path).part is not ours, or in use")
            }
            var partial = Partial(facts: facts)
            partial.isBusy = true
            state.partials[target.path] = partial
            state.counts.partialFiles += 1
        }
        return MemoryPartialFile(store: self, path: target.path, extents: [])
    }

    /// Opens our partial file.
    public func openPartial(_ target: FileTarget, claiming: Bool) throws(StorageError) -> any PartialFile {
        let extents = try self.locked { state throws(StorageError) -> [ByteRange] in
            guard var partial = state.partials[target.path], partial.foreign == nil else {
                throw StorageError(.cannotOpen, "\(target.path).part is missing or not ours")
            }
            guard !partial.isBusy else { throw StorageError(.inUse, "\(target.path).part is in use") }
            partial.isBusy = true
            state.partials[target.path] = partial
            return partial.extents
        }
        return MemoryPartialFile(store: self, path: target.path, extents: extents)
    }

    /// Creates a partial file with a copy of an existing final file, if that is still the one that was compared.
    public func copyExisting(
        _ target: FileTarget,
        unchangedSince identity: FileIdentity,
        facts: ResourceFacts
    ) throws(StorageError) -> any PartialFile {
        guard try self.survey(target).existing?.file.matches(identity) == true else {
            throw StorageError(.exists, "\(target.path) was changed while it was compared")
        }
        let extents = try self.locked { state throws(StorageError) -> [ByteRange] in
            guard let file = state.files[target.path] else {
                throw StorageError(.cannotOpen, "\(target.path) does not exist")
            }
            let extents = file.bytes.isEmpty ? [] : [0..<Int64(file.bytes.count)]
            var partial = Partial(bytes: file.bytes, extents: extents, facts: facts)
            partial.isBusy = true
            state.partials[target.path] = partial
            return extents
        }
        return MemoryPartialFile(store: self, path: target.path, extents: extents)
    }

    /// Moves a partial file to another final name.
    public func movePartial(_ old: FileTarget, to new: FileTarget) throws(StorageError) {
        self.state.withLock { state in
            guard let partial = state.partials.removeValue(forKey: old.path) else { return }
            state.partials[new.path] = partial
        }
    }

    /// Reads the bytes of a range that a final file has.
    public func readExisting(_ target: FileTarget, _ range: ByteRange) throws(StorageError) -> [UInt8] {
        let bytes = try self.existing(target).bytes
        return Array(
            bytes[Int(min(range.lowerBound, Int64(bytes.count)))..<Int(min(range.upperBound, Int64(bytes.count)))]
        )
    }

    /// Computes the digest of a final file.
    public func digestExisting(_ target: FileTarget, _ algorithm: DigestAlgorithm) throws(StorageError) -> [UInt8] {
        self.computeDigest(algorithm, try self.existing(target).bytes)
    }

    /// Starts digests of bytes that are passed in order.
    public func beginDigests(_ algorithms: [DigestAlgorithm]) -> any DigestComputation {
        MemoryDigests(algorithms, compute: self.computeDigest)
    }

    /// Deletes our partial file, unless it is open.
    public func discardPartial(_ target: FileTarget) throws(StorageError) {
        self.state.withLock { state in
            guard let partial = state.partials[target.path], partial.foreign == nil, !partial.isBusy else { return }
            state.partials[target.path] = nil
            state.counts.discards += 1
        }
    }

    /// Does nothing: memory is as durable as it can be.
    public func makeDurable(_ target: FileTarget) throws(StorageError) {}

    /// Gives the files of the group their names.
    public func flushGroup(_ paths: [String]) -> [String: StorageError] {
        self.state.withLock { state in
            var errors: [String: StorageError] = [:]
            for (path, file) in state.grouped {
                if let theirs = state.takenAtFlush.removeValue(forKey: path) {
                    state.files[path] = theirs
                    errors[path] = StorageError(.exists, "\(path) exists; choose another name or overwrite it")
                } else {
                    state.files[path] = file
                }
            }
            state.grouped = []
            state.counts.flushes += 1
            return errors
        }
    }

    /// Lets another program create a file right before the group that contains this path gets its names.
    public func takeAtFlush(_ path: String, _ file: File) { self.state.withLock { $0.takenAtFlush[path] = file } }

    /// The part of a survey about a finished file.
    static func description(of file: File) -> ExistingFile {
        ExistingFile(
            isRegular: file.isRegular,
            size: Int64(file.bytes.count),
            modified: file.modified,
            recorded: file.recorded,
            mark: file.mark
        )
    }

    private func existing(_ target: FileTarget) throws(StorageError) -> File {
        guard let file = self.state.withLock({ $0.files[target.path] }) else {
            throw StorageError(.cannotOpen, "\(target.path) does not exist")
        }
        return file
    }

    /// Accesses the state under its lock, with typed throws.
    func locked<Result: Sendable>(
        _ body: (inout State) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        try self.state.withLock { state throws(StorageError) in try body(&state) }
    }
}

/// A file of a ``MemoryStore`` that is open for sending.
private final class MemorySourceFile: SourceFile {
    private let store: MemoryStore
    private let path: String

    init(_ store: MemoryStore, _ path: String) {
        self.store = store
        self.path = path
    }

    var descriptor: Int32? { nil }

    func identity() throws(StorageError) -> FileIdentity {
        guard let file = self.store.files[self.path] else {
            return FileIdentity(size: 0, modified: 0, changed: 0, device: 0, inode: 0)
        }
        return FileIdentity(
            size: Int64(file.bytes.count),
            modified: file.modified,
            changed: file.changed,
            device: 1,
            inode: 1
        )
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        let bytes = self.store.files[self.path]?.bytes ?? []
        guard offset < bytes.count else { return 0 }
        let count = min(buffer.count, bytes.count - Int(offset))
        buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + count])
        return count
    }
}
