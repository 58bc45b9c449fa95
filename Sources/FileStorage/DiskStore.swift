// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
public import TransferCore
public import TransferEngine

/// Stores files with POSIX calls: partial files with journals, and small files without names.
///
/// Every name is opened relative to an open directory, never through a symbolic link, and created only if it does not
/// exist. The store can be used from many threads at once.
public final class DiskStore: FileStore {
    let directories = DirectoryCache()
    let group = CommitGroup()
    let losses = UnrecordedLosses()
    let bootID: BootID
    /// Whether unnamed files can be linked, which requires `/proc`.
    let namesUnnamedFiles: Bool

    /// Creates a store.
    public convenience init() {
        self.init(bootID: .current(), unnamedFiles: FileCalls.access("/proc/self/fd", F_OK) == 0)
    }

    /// - Parameters:
    ///   - bootID: The current boot: data written without a sync is trusted only if it was written under this boot.
    ///   - unnamedFiles: Whether to use unnamed files if the filesystem supports them.
    init(bootID: BootID, unnamedFiles: Bool = true) {
        self.bootID = bootID
        self.namesUnnamedFiles = unnamedFiles
    }

    /// Creates a small file, by one system call if the filesystem supports unnamed files.
    public func createSmall(_ target: FileTarget) throws(StorageError) -> any SmallFile {
        try self.makingDirectory(target.directory) { directory throws(StorageError) in
            let (file, temporary) = try self.createNameless(directory)
            return DiskSmallFile(directory, file, temporary: temporary, store: self)
        }
    }

    /// Reads bytes of the final file; throws `.cannotOpen`, or `.inputOutput` if the file is shorter.
    public func readExisting(_ target: FileTarget, _ range: ByteRange) throws(StorageError) -> [UInt8] {
        try self.openExisting(target, O_RDONLY).bytes(range, path: target.path)
    }

    /// Starts digests of bytes passed by the caller.
    public func beginDigests(_ algorithms: [DigestAlgorithm]) -> any DigestComputation { HandedDigests(algorithms) }

    /// Computes the digest of the final file, in reads of 1 MiB; blocks.
    public func digestExisting(
        _ target: FileTarget,
        _ algorithm: DigestAlgorithm
    ) throws(StorageError) -> [UInt8] {
        let file = try self.openExisting(target, O_RDONLY)
        var digest = PrefixDigests([algorithm])
        let number = digest.read(file, upTo: Int64(try file.requiredStatus(of: target.path).st_size))
        if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, "cannot read", target.path) }
        return digest.finalized()[algorithm] ?? []
    }

    /// Syncs the queued files (with one syncfs per filesystem if they are many), renames them, and syncs directories.
    ///
    /// A file whose name was taken meanwhile is reported with `.exists`; the others get their names.
    public func flushGroup(_ paths: [String]) -> [String: StorageError] { self.group.flush(paths) }

    /// Syncs a finished file and its directory.
    public func makeDurable(_ target: FileTarget) throws(StorageError) {
        let file = try self.openExisting(target, O_RDONLY)
        let number = file.sync()
        guard number == 0 else {
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot sync", target.path)
        }
        try self.directories.existing(target.directory)?.sync()
    }

    /// Opens the final file; it must be a regular file.
    func openExisting(_ target: FileTarget, _ access: Int32) throws(StorageError) -> FileDescriptor {
        guard let directory = try self.directories.existing(target.directory) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot open", target.path)
        }
        // O_NONBLOCK: opening a FIFO must not block this thread.
        switch directory.open(target.name, access | O_NONBLOCK) {
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", target.path)
        case .success(let file):
            guard try file.requiredStatus(of: target.path).st_mode & S_IFMT == S_IFREG else {
                throw StorageError(.cannotOpen, "cannot open '\(target.path)': it is not a regular file")
            }
            return file
        }
    }

    /// Creates an unnamed file, or one with a hidden temporary name.
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

    /// Runs `body` with the directory, and again if the directory was deleted while it was open.
    func makingDirectory<Value>(
        _ path: String,
        _ body: (DirectoryHandle) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        do throws(StorageError) {
            return try body(self.directories.making(path))
        } catch {
            // The errors of a deleted directory differ between filesystems; its link count does not.
            guard try self.directories.existing(path)?.isDeleted == true else { throw error }
            self.directories.forget(path)
            return try body(self.directories.making(path))
        }
    }
}
