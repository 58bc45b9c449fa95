import Glibc
public import TransferCore
public import TransferEngine

/// Files on a disk: partial files with journals, small files without names, by POSIX calls.
///
/// Every name is opened relative to an open directory, never through a symbolic link, and created only where
/// nothing has it. Safe to use from many threads at once.
public final class DiskStore: FileStore {
    let directories = DirectoryCache()
    let group = CommitGroup()
    let bootID: BootID
    /// Whether unnamed files can get a name, which takes `/proc`.
    let namesUnnamedFiles: Bool

    /// Creates a store.
    public convenience init() {
        self.init(bootID: .current(), unnamedFiles: access("/proc/self/fd", F_OK) == 0)
    }

    /// - Parameters:
    ///   - bootID: The boot under which this store believes what was written without a sync.
    ///   - unnamedFiles: Whether to use unnamed files where the filesystem has them.
    init(bootID: BootID, unnamedFiles: Bool = true) {
        self.bootID = bootID
        self.namesUnnamedFiles = unnamedFiles
    }

    /// Begins a small file: one system call where the filesystem has unnamed files.
    public func createSmall(_ target: FileTarget) throws(StorageError) -> any SmallFile {
        try self.makingDirectory(target.directory) { directory throws(StorageError) in
            let (file, temporary) = try self.createNameless(directory)
            return DiskSmallFile(directory, file, temporary: temporary, store: self)
        }
    }

    /// Reads bytes of the final file; throws `.cannotOpen`, or `.inputOutput` where it is shorter.
    public func readExisting(_ target: FileTarget, _ range: ByteRange) throws(StorageError) -> [UInt8] {
        try self.openExisting(target, O_RDONLY).bytes(range, path: target.path)
    }

    /// Begins digests of bytes that are handed over.
    public func beginDigests(_ algorithms: [DigestAlgorithm]) -> any DigestComputation { HandedDigests(algorithms) }

    /// Reads the final file in pieces of 1 MiB and computes its digest; blocks.
    public func digestExisting(
        _ target: FileTarget,
        _ algorithm: DigestAlgorithm
    ) throws(StorageError) -> [UInt8] {
        let file = try self.openExisting(target, O_RDONLY)
        var digest = PrefixDigests([algorithm])
        let number = digest.read(file, upTo: Int64(file.status()?.st_size ?? 0))
        if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, "cannot read", target.path) }
        return digest.finalized()[algorithm] ?? []
    }

    /// Syncs the queued files (one syncfs a filesystem where there are many), names them, syncs directories.
    ///
    /// A file whose name was taken meanwhile is told with `.exists`; the others have theirs.
    public func flushGroup(_ paths: [String]) -> [String: StorageError] { self.group.flush(paths) }

    /// Opens the final file, which must be a regular one.
    func openExisting(_ target: FileTarget, _ access: Int32) throws(StorageError) -> FileDescriptor {
        guard let directory = try self.directories.existing(target.directory) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot open", target.path)
        }
        // O_NONBLOCK: a FIFO in the file's place must not hold this thread.
        switch directory.open(target.name, access | O_NONBLOCK) {
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", target.path)
        case .success(let file):
            guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG else {
                throw StorageError(.cannotOpen, "cannot open '\(target.path)': it is not a regular file")
            }
            return file
        }
    }

    /// A file without a name, or with a hidden temporary one.
    func createNameless(_ directory: DirectoryHandle) throws(StorageError) -> (FileDescriptor, String?) {
        if self.namesUnnamedFiles {
            switch directory.openUnnamed(O_RDWR) {
            case .success(let file): return (file, nil)
            case .failure(let error) where DirectoryHandle.lacksUnnamedFiles(error.number) || error.number == ENOENT:
                break
            case .failure(let error):
                throw StorageError(
                    errno: error.number,
                    otherwise: .cannotCreate,
                    "cannot create a file in",
                    directory.path
                )
            }
        }
        return try directory.createTemporary()
    }

    /// Runs `body` with the directory, once more where the directory was deleted under its open descriptor.
    func makingDirectory<Value>(
        _ path: String,
        _ body: (DirectoryHandle) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        do throws(StorageError) {
            return try body(self.directories.making(path))
        } catch {
            // What a deleted directory answers differs between filesystems; its link count does not.
            guard try self.directories.existing(path)?.isDeleted == true else { throw error }
            self.directories.forget(path)
            return try body(self.directories.making(path))
        }
    }
}
