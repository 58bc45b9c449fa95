// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Synchronization
import TransferCore
import TransferEngine

/// A small file being received.
///
/// It is unnamed until committed, or, if the filesystem does not support unnamed files, has a hidden temporary name.
final class DiskSmallFile: SmallFile {
    private enum Phase {
        case open
        case queued
        case done
    }

    private struct State {
        var phase = Phase.open
        var length: Int64 = 0
        /// The hidden temporary name, if any.
        var temporary: String?
    }

    private let directory: DirectoryHandle
    private let file: FileDescriptor
    private let store: DiskStore
    private let state: Mutex<State>

    init(_ directory: DirectoryHandle, _ file: FileDescriptor, temporary: String?, store: DiskStore) {
        self.directory = directory
        self.file = file
        self.store = store
        self.state = Mutex(State(temporary: temporary))
    }

    deinit {
        let temporary = self.state.withLock { $0.phase == .done ? nil : $0.temporary }
        if let temporary { try? self.directory.unlink(temporary) }
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        let offset = self.state.withLock { $0.length }
        let number = self.file.write(bytes, at: offset)
        if number != 0 {
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot write in", self.directory.path)
        }
        self.state.withLock { $0.length = offset + Int64(bytes.count) }
    }

    func commit(as target: FileTarget, _ options: CommitOptions) throws(StorageError) -> [UInt8]? {
        let (phase, length) = self.state.withLock { ($0.phase, $0.length) }
        guard phase == .open else {
            throw StorageError(.inputOutput, "cannot finish '\(target.path)': it was finished before")
        }
        let digest = try self.verify(target, length, options)
        if let modified = options.modified { _ = self.file.setModified(modified) }
        options.recorded?.store(on: self.file, size: length, modified: options.modified)
        FileAttribute.mark.store(options.mark, on: self.file)
        var destination = try self.store.directories.making(target.directory)
        if options.durability == .grouped {
            // Set before the file is queued, because another thread may flush the queue at once.
            self.state.withLock { $0.phase = .queued }
            do throws(StorageError) {
                try self.store.group.add(self, target, destination, options)
            } catch {
                self.reopen()
                throw error
            }
            return digest
        }
        if options.durability == .synced {
            try destination.syncParents()
            try self.sync()
        }
        do throws(StorageError) {
            try self.name(target, destination, overwrite: options.overwrite, replacing: options.replaces)
        } catch {
            // The cached directory was deleted meanwhile: try again in a new one.
            guard error.errno == ENOENT, destination.isDeleted else { throw error }
            destination = try self.store.directories.making(target.directory)
            try self.name(target, destination, overwrite: options.overwrite, replacing: options.replaces)
        }
        if options.durability == .synced { try destination.sync() }
        try self.finish(target)
        return digest
    }

    func read(_ range: ByteRange) throws(StorageError) -> [UInt8] {
        try self.file.bytes(range, path: self.directory.path)
    }

    func discard() {
        let temporary = self.state.withLock { state -> String? in
            // Queued files belong to the group.
            guard state.phase == .open else { return nil }
            state.phase = .done
            return state.temporary
        }
        if let temporary { try? self.directory.unlink(temporary) }
        if self.state.withLock({ $0.phase == .done }) { _ = self.file.close() }
    }

    /// Syncs the data and metadata.
    func sync() throws(StorageError) {
        let number = self.file.sync()
        if number != 0 {
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot sync a file in", self.directory.path)
        }
    }

    /// Gives the file its final name.
    ///
    /// The file can still be committed if this fails.
    ///
    /// - Parameters:
    ///   - target: The name.
    ///   - destination: Its directory.
    ///   - overwrite: Whether an existing file is replaced.
    ///   - replaceable: The only file that is replaced; `nil` for any.
    /// - Throws: ``StorageError`` with `.exists` if the name is taken.
    func name(
        _ target: FileTarget,
        _ destination: DirectoryHandle,
        overwrite: Bool,
        replacing replaceable: FileIdentity? = nil
    ) throws(StorageError) {
        let number: Int32
        if try destination.hasOther(target.name, than: replaceable) {
            number = EEXIST
        } else if let temporary = self.state.withLock({ $0.temporary }) {
            // Closing a duplicate makes a network filesystem report a failed write before the rename.
            let duplicate = FileDescriptor(FileCalls.dup(self.file.raw))
            let closed = duplicate.close()
            number =
                closed != 0
                ? closed : self.directory.rename(temporary, to: destination, target.name, replacing: overwrite)
        } else if overwrite {
            number = destination.linkReplacing(self.file, as: target.name)
        } else {
            number = destination.link(self.file, as: target.name)
        }
        if number == ENOENT { self.store.directories.forget(target.directory) }
        if number != 0 {
            self.state.withLock { $0.phase = .open }
            throw StorageError(errno: number, otherwise: .cannotCreate, "cannot create", target.path)
        }
        self.state.withLock { state in
            state.phase = .done
            state.temporary = nil
        }
    }

    /// Closes the file after it got its name.
    func finish(_ target: FileTarget) throws(StorageError) {
        let number = self.file.close()
        if number != 0 {
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot close", target.path)
        }
    }

    /// Makes the file committable again, after its group failed before the rename.
    func reopen() {
        self.state.withLock { $0.phase = .open }
    }

    private func verify(
        _ target: FileTarget,
        _ length: Int64,
        _ options: CommitOptions
    ) throws(StorageError) -> [UInt8]? {
        let wanted = options.algorithms
        guard !wanted.isEmpty else { return nil }
        var digests = PrefixDigests(wanted)
        let number = digests.read(self.file, upTo: length)
        if number != 0 {
            throw StorageError(errno: number, otherwise: .inputOutput, "cannot read back", target.path)
        }
        let computed = digests.finalized()
        if let wrong = options.expected.first(where: { computed[$0.algorithm] != $0.bytes }) {
            let kept = options.keepBad ? self.setAside(target) : nil
            self.discard()
            throw DigestReport.mismatch(wrong, actual: computed[wrong.algorithm], target, kept: kept)
        }
        return options.report.flatMap { computed[$0] }
    }

    /// Names the bad file `NAME.martlet-bad`, or with a number; returns its path, or `nil` if that fails.
    private func setAside(_ target: FileTarget) -> String? {
        guard let destination = try? self.store.directories.making(target.directory) else { return nil }
        for number in 0..<1000 {
            let bad = FileTarget(directory: target.directory, name: PartialNames.bad(target.name, number: number))
            do throws(StorageError) {
                try self.name(bad, destination, overwrite: false)
                _ = self.file.close()
                return destination.path(bad.name)
            } catch {
                if error.errno != EEXIST { return nil }
            }
        }
        return nil
    }
}
