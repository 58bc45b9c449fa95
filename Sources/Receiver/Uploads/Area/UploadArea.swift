// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import NIOPosix
internal import Synchronization
internal import TransferCore

/// The storage of unfinished uploads: a private directory (mode 0700) inside the served one.
///
/// It is usually on the same filesystem as the destinations, so that landing is a rename.
final class UploadArea: Sendable {
    let tree: ServedTree
    let limits: ReceiverLimits
    let overwrites: Bool
    let budget: UploadBudget
    let active = ActiveUploads()
    let reservations = NameReservations()
    let records: RecordChoice?
    /// The table for the links of uploads, or `nil` if senders get none.
    let links: ShareTable?
    let linkLifetime: Duration?
    let linkDownloads: Int?
    let pool: NIOThreadPool
    /// Held from the check of a name until the rename, so that the checked file is the one that is replaced.
    let landing = Mutex(())
    /// One lock is held while a record is written, selected by the hash of the file's name.
    let recordLocks = (0..<64).map { _ in RecordLock() }
    /// The open directory.
    let directory: DirectoryHandle
    private let lock: OpenFile

    /// Opens the area, creates it if it is missing, and locks it for this process.
    ///
    /// - Throws: ``ReceiverError``: `directory` if it cannot be created, `busy` if another receiver has locked it.
    init(
        _ tree: ServedTree,
        _ configuration: ReceiverConfiguration,
        pool: NIOThreadPool,
        links: ShareTable? = nil
    ) throws(ReceiverError) {
        self.tree = tree
        self.limits = configuration.limits
        self.overwrites = configuration.overwrites
        self.records = configuration.records
        self.pool = pool
        self.links = configuration.sharesUploads ? links : nil
        self.linkLifetime = configuration.shareLifetime
        self.linkDownloads = configuration.shareDownloads
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

    /// Unlocks the area for another receiver.
    ///
    /// - Precondition: This receiver does not write to it any more.
    func close() { self.lock.unlock() }

    private static func cannotWrite(_ path: String, _ number: Int32) -> ReceiverError {
        ReceiverError(
            .directory,
            "no uploads can be taken in '\(path)': \(String(cString: strerror(number))); "
                + "make it writable, or serve it with --read-only"
        )
    }

    /// Checks whether an upload may start.
    ///
    /// - Parameters:
    ///   - length: The number of bytes to be received, or `nil` if unknown.
    ///   - whole: The complete length of an upload that has some bytes already.
    ///   - offset: The number of bytes that the upload has already, or `nil` if it has no partial file.
    /// - Throws: ``UploadRefusal``: 413 if it is too large, 507 if there is not enough space.
    func admit(length: Int64?, of whole: Int64? = nil, from offset: Int64? = nil) throws(UploadRefusal) {
        // Of unknown length: at least one byte.
        let length = length ?? 1
        if let limit = self.limits.upload, whole ?? length > limit { throw .tooLarge(limit) }
        // The client chooses the length: the sums can exceed every number.
        let cost =
            offset.map { UploadBudget.cost($0.adding(clamping: length)) - UploadBudget.cost($0) }
            ?? UploadBudget.cost(length).adding(clamping: self.recordCost)
        guard self.budget.fits(cost) else { throw .quota }
        if let free = FreeSpace.bytes(self.lock), length > free - min(free, self.limits.reserve) { throw .noSpace }
    }

    /// The cost of the record of an upload, in bytes.
    var recordCost: Int64 { self.records == nil ? 0 : UploadBudget.block }

    /// The bounds of a sink for an upload of `length` bytes.
    func bounds(length: Int64?) -> UploadSink.Bounds {
        UploadSink.Bounds(length: length, limit: self.limits.upload, reserve: self.limits.reserve)
    }

    /// Creates an empty partial file.
    func makePart(_ name: String) throws(UploadRefusal) -> OpenFile {
        guard self.budget.take(UploadBudget.block) else { throw .quota }
        switch self.directory.open(name, O_RDWR | O_CREAT | O_EXCL) {
        case .success(let file): return file
        case .failure(let error):
            self.budget.give(UploadBudget.block)
            guard error.number != ENOENT else {
                throw UploadRefusal(500, "the directory for unfinished uploads was removed; start the receiver again")
            }
            throw UploadRefusal(number: error.number, "creating a file")
        }
    }

    /// Deletes a partial file of a size on the pool: for a large file that takes time.
    func discard(_ name: String, size: Int64) {
        self.pool.submit { _ in
            try? self.directory.unlink(name)
            self.budget.give(UploadBudget.cost(size))
        }
    }
}

/// Serializes the writing of records.
final class RecordLock: Sendable {
    private let mutex = Mutex(())

    func hold(_ body: () -> Void) { self.mutex.withLock { _ in body() } }
}
