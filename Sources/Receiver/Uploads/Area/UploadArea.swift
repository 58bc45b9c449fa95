internal import FileStorage
internal import Glibc
internal import NIOPosix
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Where uploads lie until they are whole: a directory of ours inside the served one, which nobody else may look into.
///
/// On the same filesystem as the place they go to, as a rule, so that landing is a rename.
final class UploadArea: Sendable {
    let tree: ServedTree
    let limits: ReceiverLimits
    let overwrites: Bool
    let budget: UploadBudget
    let active = ActiveUploads()
    let records: RecordChoice?
    let pool: NIOThreadPool
    /// Held while a name is looked at and taken, so that what was looked at is what is replaced.
    let landing = Mutex(())
    /// One is held while a record is written, chosen by the file's name.
    let recordLocks = (0..<64).map { _ in RecordLock() }
    /// The open directory.
    let directory: DirectoryHandle
    private let lock: OpenFile

    /// Opens the area, makes it where it is missing, and takes it for this process.
    ///
    /// - Throws: ``ReceiverError``: `directory` where it cannot be made, `busy` where another receiver has it.
    init(_ tree: ServedTree, _ configuration: ReceiverConfiguration, pool: NIOThreadPool) throws(ReceiverError) {
        self.tree = tree
        self.limits = configuration.limits
        self.overwrites = configuration.overwrites
        self.records = configuration.records
        self.pool = pool
        self.budget = UploadBudget(limit: configuration.limits.total)
        let path = tree.path + (tree.path.hasSuffix("/") ? "" : "/") + ServedTree.ownDirectory
        let made = mkdirat(tree.root.raw, ServedTree.ownDirectory, 0o700)
        guard made == 0 || errno == EEXIST else {
            throw Self.cannotWrite(tree.path, errno)
        }
        let raw = openat(tree.root.raw, ServedTree.ownDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { throw Self.cannotWrite(path, errno) }
        self.directory = DirectoryHandle(path: path, descriptor: OpenFile(raw))
        switch self.directory.open("lock", O_RDWR | O_CREAT) {
        case .success(let file): self.lock = file
        case .failure(let error): throw Self.cannotWrite(path, error.number)
        }
        guard self.lock.lock() == 0 else {
            throw ReceiverError(
                .busy,
                "another martlet serve takes uploads in '\(tree.path)'; stop that one, or start this one with --read-only"
            )
        }
    }

    /// Gives the area to the next receiver; nothing of this one writes to it any more.
    func close() { self.lock.unlock() }

    private static func cannotWrite(_ path: String, _ number: Int32) -> ReceiverError {
        ReceiverError(
            .directory,
            "no uploads can be taken in '\(path)': \(String(cString: strerror(number))); "
                + "make it writable, or serve it with --read-only"
        )
    }

    /// Checks whether an upload may begin.
    ///
    /// - Parameters:
    ///   - length: The bytes that it will bring, or `nil` where that is not known.
    ///   - whole: The bytes that it will have, where some are there already.
    /// - Throws: ``UploadRefusal``: 413 where it is too large, 507 where there is no room for it.
    func admit(length: Int64?, of whole: Int64? = nil) throws(UploadRefusal) {
        // Of an unknown length at least a byte.
        let length = length ?? 1
        if let limit = self.limits.upload, whole ?? length > limit { throw .tooLarge(limit) }
        guard self.budget.fits(length) else { throw .quota }
        if let free = FreeSpace.bytes(self.lock), length > free - min(free, self.limits.reserve) { throw .noSpace }
    }

    /// The bounds of a sink.
    func bounds(length: Int64?) -> UploadSink.Bounds {
        UploadSink.Bounds(length: length, limit: self.limits.upload, reserve: self.limits.reserve)
    }

    /// Makes an empty partial file.
    func makePart(_ name: String) throws(UploadRefusal) -> OpenFile {
        switch self.directory.open(name, O_RDWR | O_CREAT | O_EXCL) {
        case .success(let file): return file
        case .failure(let error) where error.number == ENOENT:
            throw UploadRefusal(500, "the directory for unfinished uploads was removed; start the receiver again")
        case .failure(let error): throw UploadRefusal(number: error.number, "creating a file")
        }
    }

    /// Deletes a file of the area, on the pool: that may take its time for a large one.
    func discard(_ name: String, giving bytes: Int64 = 0) {
        self.pool.submit { _ in
            try? self.directory.unlink(name)
            self.budget.give(bytes)
        }
    }
}

/// Lets one record of a file be written after the other.
final class RecordLock: Sendable {
    private let mutex = Mutex(())

    func hold(_ body: () -> Void) { self.mutex.withLock { _ in body() } }
}
