import Glibc
import Synchronization
import TransferEngine

/// Files that were verified and wait to become durable together, before any of them gets its name.
final class CommitGroup: Sendable {
    private struct Entry: Sendable {
        var file: DiskSmallFile
        var target: FileTarget
        var directory: DirectoryHandle
        var overwrite: Bool
    }

    private struct State {
        var entries: [Entry] = []
        var names: Set<FileTarget> = []
    }

    /// From so many files of one filesystem on, one syncfs(2) costs less than an fsync(2) each.
    private static let syncfsThreshold = 8

    private let state = Mutex(State())

    /// Queues a file.
    ///
    /// Throws `.exists` where its name is taken by now, on disk or in the queue.
    func add(
        _ file: DiskSmallFile,
        _ target: FileTarget,
        _ directory: DirectoryHandle,
        overwrite: Bool
    ) throws(StorageError) {
        if !overwrite, try directory.status(target.name) != nil { throw DiskPartialFile.taken(target) }
        let entry = Entry(file: file, target: target, directory: directory, overwrite: overwrite)
        let added = self.state.withLock { state -> Bool in
            guard state.names.insert(target).inserted || overwrite else { return false }
            state.entries.append(entry)
            return true
        }
        guard added else { throw DiskPartialFile.taken(target) }
    }

    /// Syncs every queued file, names them all, then syncs their directories.
    ///
    /// A file that cannot get its name stays usable and does not keep the others from theirs; the first such
    /// error is thrown at the end, and tells how many there were.
    func flush() throws(StorageError) {
        let entries = self.state.withLock { state -> [Entry] in
            defer { state = State() }
            return state.entries
        }
        guard !entries.isEmpty else { return }
        do throws(StorageError) {
            try Self.sync(entries)
        } catch {
            for entry in entries { entry.file.reopen() }
            throw error
        }
        var failures: [StorageError] = []
        var touched: [ObjectIdentifier: DirectoryHandle] = [:]
        for entry in entries {
            do throws(StorageError) {
                try entry.file.name(entry.target, entry.directory, overwrite: entry.overwrite)
                touched[ObjectIdentifier(entry.directory)] = entry.directory
                try entry.file.finish(entry.target)
            } catch {
                failures.append(error)
            }
        }
        for directory in touched.values { try directory.sync() }
        guard var first = failures.first else { return }
        if failures.count > 1 { first.message += " (and \(failures.count - 1) more files)" }
        throw first
    }

    private static func sync(_ entries: [Entry]) throws(StorageError) {
        var filesystems: [UInt: [Entry]] = [:]
        for entry in entries {
            filesystems[UInt(try entry.directory.status(".")?.st_dev ?? 0), default: []].append(entry)
        }
        for group in filesystems.values {
            if group.count >= Self.syncfsThreshold, let first = group.first,
                LinuxCalls.syncFilesystem(first.directory.raw) == 0
            {
                continue
            }
            for entry in group { try entry.file.sync() }
        }
    }
}
