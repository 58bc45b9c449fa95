// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Synchronization
import TransferCore
import TransferEngine

extension DiskPartialFile {
    /// Verifies, syncs unless `options.durability` is `none`, renames, deletes the journal; see `PartialFile`.
    ///
    /// The file has its final name on return.
    func commit(
        as target: FileTarget,
        length: Int64,
        _ options: CommitOptions
    ) throws(StorageError) -> [UInt8]? {
        try self.exclusively { () throws(StorageError) -> [UInt8]? in
            try self.commitAlone(as: target, length: length, options)
        }
    }

    private func commitAlone(
        as target: FileTarget,
        length: Int64,
        _ options: CommitOptions
    ) throws(StorageError) -> [UInt8]? {
        let covered = self.table.extents()
        guard length >= 0, length == 0 || (covered.first?.lowerBound == 0 && covered[0].upperBound >= length) else {
            throw StorageError(
                .inputOutput,
                "cannot finish '\(self.path)': not all of its \(length) bytes were written; try again"
            )
        }
        let destination = try self.destination(target)
        if !options.overwrite, try destination.status(target.name) != nil { throw Self.taken(target) }
        if try destination.hasOther(target.name, than: options.replaces) { throw Self.taken(target) }
        let digests = try self.verify(target, destination, length, options)
        let isSynced = options.durability != .none
        if isSynced { try destination.syncParents() }

        guard let status = self.data.status() else {
            throw StorageError(errno: errno, otherwise: .inputOutput, "cannot examine", self.path)
        }
        self.journal.store(.init(length: length, inode: UInt64(status.st_ino)))
        self.journal.store(.committing)
        try self.check(self.data.truncate(length), "cannot set the length of")
        if let modified = options.modified { _ = self.data.setModified(modified) }
        options.recorded?.store(on: self.data, size: length, modified: options.modified)
        FileAttribute.mark.store(options.mark, on: self.data)
        if isSynced { try self.syncData { self.data.sync() } } else { try self.requireIntact() }

        // Again, because the verification takes time.
        let isTaken = try destination.hasOther(target.name, than: options.replaces)
        let number =
            isTaken
            ? EEXIST
            : self.directory.rename(self.names.part, to: destination, target.name, replacing: options.overwrite)
        if number != 0 {
            self.journal.store(.active)
            throw StorageError(errno: number, otherwise: .cannotCreate, "cannot create", target.path)
        }
        if isSynced { try destination.sync() }
        try self.directory.unlink(self.names.journal)
        // Only now: after a crash, the pair must still match.
        self.pairing?.unbind(self.data)
        let closed = self.data.close()
        self.journal.release()
        if closed != 0 {
            throw StorageError(errno: closed, otherwise: .inputOutput, "cannot close", target.path)
        }
        return options.report.flatMap { digests[$0] }
    }

    private func destination(_ target: FileTarget) throws(StorageError) -> DirectoryHandle {
        if target.directory == self.target.directory { return self.directory }
        guard let handle = try DirectoryHandle.open(target.directory, creating: true, self.directory.created) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotCreateDirectory, "cannot open", target.directory)
        }
        return handle
    }

    private func verify(
        _ target: FileTarget,
        _ destination: DirectoryHandle,
        _ length: Int64,
        _ options: CommitOptions
    ) throws(StorageError) -> [DigestAlgorithm: [UInt8]] {
        let wanted = options.algorithms
        var digests = self.verified.withLock { $0 }
        if !wanted.isSubset(of: digests.keys) {
            switch self.digests.finish(wanted, of: self.data, length: length) {
            case .success(let computed): digests = computed
            case .failure(let error):
                throw StorageError(errno: error.number, otherwise: .inputOutput, "cannot read back", self.path)
            }
            self.verified.withLock { $0 = digests }
        }
        guard let wrong = options.expected.first(where: { digests[$0.algorithm] != $0.bytes }) else { return digests }
        _ = self.data.truncate(length)
        let kept = options.keepBad || self.isClaimed ? self.nameBad(target, destination) : nil
        if kept == nil, !self.isClaimed { try? self.directory.unlink(self.names.part) }
        try? self.directory.unlink(self.names.journal)
        self.abandon()
        throw DigestReport.mismatch(wrong, actual: digests[wrong.algorithm], target, kept: kept)
    }

    func setAside() -> String? {
        let kept = self.nameBad(self.target, self.directory)
        try? self.directory.unlink(self.names.journal)
        self.abandon()
        return kept
    }

    /// Renames the bad file to a free `NAME.martlet-bad` and returns its path, or `nil` if that fails.
    private func nameBad(_ target: FileTarget, _ destination: DirectoryHandle) -> String? {
        for number in 0..<1000 {
            let name = PartialNames.bad(target.name, number: number)
            let result = self.directory.rename(self.names.part, to: destination, name, replacing: false)
            if result == 0 { return destination.path(name) }
            if result != EEXIST { return nil }
        }
        return nil
    }

    static func taken(_ target: FileTarget) -> StorageError {
        StorageError(errno: EEXIST, otherwise: .exists, "cannot create", target.path)
    }
}

extension CommitOptions {
    /// The algorithms to compute.
    var algorithms: Set<DigestAlgorithm> {
        var algorithms = Set(self.expected.map(\.algorithm))
        if let report { algorithms.insert(report) }
        return algorithms
    }
}
