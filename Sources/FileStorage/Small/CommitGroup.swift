// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Synchronization
internal import TransferCore
import TransferEngine

/// Verified files that become durable together, before any of them gets its name.
final class CommitGroup: Sendable {
    private struct Entry: Sendable {
        var file: DiskSmallFile
        var target: FileTarget
        var directory: DirectoryHandle
        var overwrite: Bool
        var replaceable: FileIdentity?
    }

    private struct State {
        var entries: [Entry] = []
        var names: Set<FileTarget> = []
        /// Failures of files, until their owners collect them.
        var failures: [String: StorageError] = [:]
    }

    /// The number of files on a filesystem from which one syncfs(2) costs less than an fsync(2) for each.
    private static let syncfsThreshold = 8

    private let state = Mutex(State())
    /// Held while a group is committed: concurrent callers wait, because their files may be in it.
    private let flushing = Mutex(())

    /// Queues a file.
    ///
    /// - Throws: ``StorageError`` with `.exists` if its name is taken, on disk or in the queue.
    func add(
        _ file: DiskSmallFile,
        _ target: FileTarget,
        _ directory: DirectoryHandle,
        _ options: CommitOptions
    ) throws(StorageError) {
        let overwrite = options.overwrite
        if !overwrite, !directory.listing.lacks(target.name, in: directory),
            try directory.status(target.name) != nil
        {
            throw DiskPartialFile.taken(target)
        }
        let entry = Entry(
            file: file,
            target: target,
            directory: directory,
            overwrite: overwrite,
            replaceable: options.replaces
        )
        let added = self.state.withLock { state -> Bool in
            guard state.names.insert(target).inserted || overwrite else { return false }
            state.entries.append(entry)
            return true
        }
        guard added else { throw DiskPartialFile.taken(target) }
    }

    /// Syncs all queued files, renames them all, then syncs their directories.
    ///
    /// The failure of one file does not affect the others.
    ///
    /// - Parameter paths: The files of the caller.
    /// - Returns: The failures of these files.
    func flush(_ paths: [String]) -> [String: StorageError] {
        self.flushing.withLock { _ in
            let entries = self.state.withLock { state in
                defer { (state.entries, state.names) = ([], []) }
                return state.entries
            }
            let failures = Self.settle(entries)
            return self.state.withLock { state in
                var found: [String: StorageError] = [:]
                guard !state.failures.isEmpty || !failures.isEmpty else { return found }
                // A failure that was never collected, because its engine is gone, does not apply to the next file of
                // that name.
                for entry in entries { state.failures[entry.target.path] = failures[entry.target.path] }
                for path in paths { found[path] = state.failures.removeValue(forKey: path) }
                return found
            }
        }
    }

    private static func settle(_ entries: [Entry]) -> [String: StorageError] {
        guard !entries.isEmpty else { return [:] }
        var failures: [String: StorageError] = [:]
        do throws(StorageError) {
            try Self.sync(entries)
        } catch {
            for entry in entries {
                entry.file.reopen()
                failures[entry.target.path] = error
            }
            return failures
        }
        var touched: [ObjectIdentifier: [Entry]] = [:]
        for entry in entries {
            do throws(StorageError) {
                try entry.file.name(
                    entry.target,
                    entry.directory,
                    overwrite: entry.overwrite,
                    replacing: entry.replaceable
                )
                touched[ObjectIdentifier(entry.directory), default: []].append(entry)
                try entry.file.finish(entry.target)
            } catch {
                failures[entry.target.path] = error
            }
        }
        for named in touched.values {
            do throws(StorageError) {
                try named.first?.directory.sync()
            } catch {
                for entry in named where failures[entry.target.path] == nil { failures[entry.target.path] = error }
            }
        }
        return failures
    }

    private static func sync(_ entries: [Entry]) throws(StorageError) {
        var filesystems: [UInt: [Entry]] = [:]
        for inDirectory in Dictionary(grouping: entries, by: { ObjectIdentifier($0.directory) }).values {
            try inDirectory.first?.directory.syncParents()
            let device = try inDirectory.first?.directory.status(".")?.st_dev ?? 0
            filesystems[UInt(truncatingIfNeeded: device), default: []] += inDirectory
        }
        for group in filesystems.values {
            if group.count >= Self.syncfsThreshold, let first = group.first,
                KernelCalls.syncFilesystem(first.directory.raw) == 0
            {
                continue
            }
            for entry in group { try entry.file.sync() }
        }
    }
}
