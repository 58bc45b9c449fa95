// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Platform
internal import TransferCore

/// The report of a run that writes shards.
package struct ShardReport: Sendable {
    package var path: String
    /// The id of its origin.
    package var id: String
    /// The shards that it names.
    package var shards: Set<String>
    /// The last sample that it names.
    package var lastSample: ReportedSample?
    /// The report whose failed rows the run fetches, or `nil`.
    package var retried: String?

    /// Creates a description of a report.
    package init(
        path: String,
        id: String,
        shards: Set<String>,
        lastSample: ReportedSample? = nil,
        retried: String? = nil
    ) {
        self.path = path
        self.id = id
        self.shards = shards
        self.lastSample = lastSample
        self.retried = retried
    }
}

/// The reports of a directory of shards, found and read.
///
/// Reports are only read: no lock is taken, and an incomplete last line is ignored.
struct ListedReports {
    /// The reports, for comparison with the directory's shards.
    let knowledge: ShardInventory.Reports
    /// The reports to list from now on.
    let list: ShardReportList
    /// The list so far, or `nil` if the directory has none.
    let previous: ShardReportList?

    /// A report that was found and is open.
    private struct Found {
        var entry: ShardReportList.Entry
        var path: String
        var file: FileDescriptor
        var identity: Identity

        func shards() throws(StorageError) -> Set<String> {
            var shards: Set<String> = []
            try ReportScanner.scan(self.file, path: self.path) { entry, _ in
                if let shard = entry.shard { shards.insert(shard) }
            }
            return shards
        }
    }

    /// A file, as long as it is open or has a name.
    private struct Identity: Hashable {
        var device: UInt64
        var inode: UInt64

        init(_ status: stat) {
            self.device = UInt64(truncatingIfNeeded: status.st_dev)
            self.inode = UInt64(truncatingIfNeeded: status.st_ino)
        }

        init?(of path: String) {
            var status = stat()
            guard FileCalls.stat(path, &status) == 0 else { return nil }
            self.init(status)
        }
    }

    private enum Candidate {
        case found(FileDescriptor, Identity)
        /// Nothing has the name.
        case missing
        /// Another file has it.
        case other
    }

    /// Finds and reads all reports of a directory.
    ///
    /// - Parameters:
    ///   - directory: The directory, which is locked.
    ///   - own: The report of this run.
    /// - Throws: `StorageError` if the list is damaged, or a report exists and cannot be read.
    init(_ directory: DirectoryHandle, own: ShardReport) throws(StorageError) {
        let previous = try ShardReportList.read(in: directory)
        var found: [Found] = []
        var lost: [(entry: ShardReportList.Entry, state: ShardInventory.LostReport)] = []
        for entry in previous?.entries ?? [] {
            switch try Self.find(entry, directory) {
            case .found(let report):
                if !found.contains(where: { $0.identity == report.identity }) { found.append(report) }
            case .lost(let state): lost.append((entry, state))
            }
        }
        var named = own.shards
        var entries = found.map { ShardReportList.Entry(id: $0.entry.id, path: $0.path, directory: directory.path) }
        let identity = Identity(of: own.path)
        // A report missing from its listed path was moved. A copy of a report at its listed path counts in addition.
        var moved: Set<String> = []
        if !found.contains(where: { $0.identity == identity }) {
            entries.append(ShardReportList.Entry(id: own.id, path: own.path, directory: directory.path))
            moved.insert(own.id)
        }
        for report in found where report.identity != identity { named.formUnion(try report.shards()) }
        if let path = own.retried, let origin = try ReportOrigin.read(of: path),
            case .found(let file, let identity) = try Self.open(path, id: origin.id),
            !found.contains(where: { $0.identity == identity }),
            lost.contains(where: { $0.entry.id == origin.id }) || Self.isAbout(directory, origin)
        {
            let entry = ShardReportList.Entry(id: origin.id, path: path, directory: directory.path)
            named.formUnion(try Found(entry: entry, path: path, file: file, identity: identity).shards())
            entries.append(entry)
            moved.insert(origin.id)
        }
        self.previous = previous
        self.list = ShardReportList(entries)
        self.knowledge = ShardInventory.Reports(
            named: named,
            areAllListed: previous != nil || !own.shards.isEmpty,
            lost: lost.filter { !moved.contains($0.entry.id) }.map(\.state)
        )
    }

    private enum Search {
        case found(Found)
        case lost(ShardInventory.LostReport)
    }

    /// Finds a listed report.
    ///
    /// The relative path is first: a directory that was copied together with its reports has its own ones.
    private static func find(
        _ entry: ShardReportList.Entry,
        _ directory: DirectoryHandle
    ) throws(StorageError) -> Search {
        var isReplaced = false
        var failure: StorageError?
        let relative = entry.relative.map {
            (directory.path.hasSuffix("/") ? directory.path : directory.path + "/") + $0
        }
        for path in [relative, entry.path] {
            guard let path else { continue }
            do throws(StorageError) {
                switch try self.open(path, id: entry.id) {
                case .found(let file, let identity):
                    return .found(Found(entry: entry, path: path, file: file, identity: identity))
                case .missing: continue
                case .other: isReplaced = true
                }
            } catch {
                failure = error
            }
        }
        // A report that cannot be examined is not missing.
        if let failure { throw failure }
        return .lost(.init(path: entry.path, isReplaced: isReplaced))
    }

    /// Opens a report if its origin has this id.
    private static func open(_ path: String, id: String) throws(StorageError) -> Candidate {
        let origin: ReportOrigin?
        do throws(StorageError) {
            origin = try ReportOrigin.read(of: path)
        } catch {
            if error.errno == ENOTDIR { return .missing }
            throw error
        }
        // O_NONBLOCK: a pipe would block.
        var raw: Int32
        repeat {
            raw = FileCalls.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return .missing }
            throw StorageError(errno: errno, otherwise: .cannotOpen, "cannot open the report", path)
        }
        let file = FileDescriptor(raw)
        guard origin?.id == id, let status = file.status(), status.st_mode & S_IFMT == S_IFREG else { return .other }
        return .found(file, Identity(status))
    }

    /// Whether the shards of a report are in a directory.
    private static func isAbout(_ directory: DirectoryHandle, _ origin: ReportOrigin) -> Bool {
        guard let path = JSON.object(origin.terms)["shards"]?.string else { return false }
        var status = stat()
        guard FileCalls.fstat(directory.raw, &status) == 0 else { return false }
        return Identity(of: path) == Identity(status)
    }
}
