// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Platform
internal import TransferCore

/// A locked directory of shards.
struct ShardDirectory {
    /// The open directory.
    let handle: DirectoryHandle
    private let lock: FileDescriptor

    /// Opens and locks a directory, creating it if it is missing.
    ///
    /// - Throws: ``StorageError``: `.cannotOpen` if another process writes shards in it.
    init(_ path: String) throws(StorageError) {
        guard let handle = try DirectoryHandle.open(path, creating: true) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotCreateDirectory, "cannot open the directory", path)
        }
        switch handle.open(ShardName.lock, O_RDWR | O_CREAT) {
        case .failure(let error):
            throw StorageError(
                errno: error.number,
                otherwise: .cannotCreate,
                "cannot create",
                handle.path(ShardName.lock)
            )
        case .success(let descriptor): self.lock = descriptor
        }
        guard self.lock.lock() == 0 else {
            throw StorageError(
                .cannotOpen,
                "cannot write shards into '\(path)': another process does; wait for its end, or choose another directory"
            )
        }
        self.handle = handle
    }

    /// Lists the report of a run, and removes what a killed program has left.
    ///
    /// - Parameter report: The report.
    /// - Returns: The number of the next shard, and what was found.
    /// - Throws: ``StorageError``: `.exists` if shards may be those of an unknown report; then nothing is changed.
    func prepare(_ report: ShardReport) throws(StorageError) -> (next: Int64, leftovers: ShardLeftovers) {
        let reports = try ListedReports(self.handle, own: report)
        let inventory: ShardInventory
        let entries = try self.entries()
        do throws(ShardInventory.Problem) {
            inventory = try ShardInventory(entries, reports.knowledge)
        } catch {
            throw self.error(error)
        }
        // First, because on a full disk this is the room for the list.
        for name in inventory.removed { try self.handle.unlink(name) }
        if reports.list != reports.previous { try reports.list.write(in: self.handle) }
        if let (old, new) = inventory.aside {
            let number = self.handle.rename(old, to: self.handle, new, replacing: false)
            if number != 0 {
                throw StorageError(errno: number, otherwise: .inputOutput, "cannot rename", self.handle.path(old))
            }
        }
        // Always: a process that wrote the list, and was killed, may not have come to it.
        try self.handle.sync()
        let leftovers = ShardLeftovers(
            aside: inventory.aside.map { self.handle.path($0.to) },
            shortened: try self.removeUnreportedSamples(report)
        )
        return (inventory.next, leftovers)
    }

    func create(_ name: String) throws(StorageError) -> ShardFile {
        switch self.handle.open(name, O_RDWR | O_CREAT | O_EXCL) {
        case .success(let descriptor): return ShardFile(descriptor, path: self.handle.path(name))
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotCreate, "cannot create", self.handle.path(name))
        }
    }

    private func error(_ problem: ShardInventory.Problem) -> StorageError {
        switch problem {
        case .notRegular(let name):
            StorageError(
                .exists,
                "cannot write shards into '\(self.handle.path)': \(name) is not a regular file; move it away"
            )
        case .unreported(let names):
            StorageError(
                .exists,
                "cannot write shards into '\(self.handle.path)': no report names \(Self.list(names)); continue with the "
                    + "report of these shards, or choose another directory"
            )
        case .lost(let names, let reports):
            StorageError(
                .exists,
                "cannot write shards into '\(self.handle.path)': \(Self.list(names)) may be named by "
                    + reports.map { "'\($0.path)', which \($0.isReplaced ? "is another file now" : "is missing")" }
                    .joined(separator: ", or by ")
                    + "; restore the report, move these shards away, or choose another directory"
            )
        case .unlisted(let names):
            StorageError(
                .exists,
                "cannot write shards into '\(self.handle.path)': it does not list the reports of its shards, and the given "
                    + "one does not name \(Self.list(names)); repeat the command that wrote them, which creates the list, "
                    + "move them away, or choose another directory"
            )
        }
    }

    private static func list(_ names: [String]) -> String {
        names.count > 3 ? "\(names.count) shards, such as \(names[0])" : names.joined(separator: ", ")
    }

    private func entries() throws(StorageError) -> [ShardInventory.Entry] {
        guard let names = DirectoryEntries(path: self.handle.path) else {
            throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot read the directory", self.handle.path)
        }
        var entries: [ShardInventory.Entry] = []
        while let name = names.next() {
            if ShardName.number(ofFinal: name) != nil || ShardName.number(ofPart: name) != nil {
                guard let status = try self.handle.status(name) else { continue }
                entries.append(.init(name: name, isRegular: status.st_mode & S_IFMT == S_IFREG))
            } else {
                entries.append(.init(name: name, isRegular: false))
            }
        }
        guard errno == 0 else {
            throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot read the directory", self.handle.path)
        }
        return entries
    }
}
