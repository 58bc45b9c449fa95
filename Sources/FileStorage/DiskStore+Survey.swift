// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
public import TransferCore

extension DiskStore {
    /// The device number of the file's directory.
    public func fileSystem(of target: FileTarget) -> UInt64? {
        var status = stat()
        guard FileCalls.stat(target.directory.isEmpty ? "." : target.directory, &status) == 0 else { return nil }
        return UInt64(truncatingIfNeeded: status.st_dev)
    }

    /// Looks up a file, its partial file and its journal.
    ///
    /// If none exists, this takes at most three system calls, and none after a recent listing of the directory.
    public func survey(_ target: FileTarget) throws(StorageError) -> FileSurvey {
        guard let directory = try self.directories.existing(target.directory) else {
            return FileSurvey(existing: nil, partial: .none)
        }
        if ReservedName.owner(of: target.name) == nil, directory.listing.lacksFiles(of: target.name, in: directory) {
            return FileSurvey(existing: nil, partial: .none)
        }
        let names = PartialNames(target.name)
        let status = try directory.status(target.name)
        var existing: ExistingFile?
        if let status {
            let isRegular = status.st_mode & S_IFMT == S_IFREG
            existing = ExistingFile(
                isRegular: isRegular,
                size: Int64(status.st_size),
                modified: Int64(status.modificationTime.tv_sec),
                recorded: isRegular ? try RecordedVersion.read(directory, target.name, status) : nil,
                mark: isRegular ? try FileAttribute.mark.read(directory, target.name, status) : nil,
                file: FileIdentity(status)
            )
            // A file that Martlet has finished is complete.
            if isRegular, existing?.recorded == nil, target.name.utf8.count + 6 <= FileName.longest {
                existing?.hasControlFile = try directory.status(target.name + ".aria2") != nil
            }
        }
        return FileSurvey(
            existing: existing,
            partial: try self.partialState(directory, names, final: target.name, existing: status),
            owner: try self.owner(of: target.name, in: directory)
        )
    }

    /// The path of the file whose partial file or journal has this name, or `nil`.
    private func owner(of name: String, in directory: DirectoryHandle) throws(StorageError) -> String? {
        guard let owner = ReservedName.owner(of: name).map(String.init) else { return nil }
        switch try self.partialState(
            directory,
            PartialNames(owner),
            final: owner,
            existing: try directory.status(owner)
        ) {
        case .none, .foreign: return nil
        case .ours, .committed, .busy, .unpaired: return directory.path(owner)
        }
    }

    /// Determines the state of `NAME.part` from its journal; takes no lock.
    private func partialState(
        _ directory: DirectoryHandle,
        _ names: PartialNames,
        final: String,
        existing: stat?
    ) throws(StorageError) -> PartialState {
        let file: FileDescriptor
        switch directory.open(names.journal, O_RDONLY | O_NONBLOCK) {
        case .success(let opened): file = opened
        case .failure(let error) where error.number == ENOENT:
            guard try directory.status(names.part) != nil else { return .none }
            return .foreign("'\(directory.path(names.part))' has no journal")
        case .failure(let error):
            // Only facts about the entry make it foreign: its type, its owner. Otherwise nothing is known about it.
            if let status = try directory.status(names.journal),
                let reason = Self.foreignness(status, of: directory.path(names.journal))
            {
                return .foreign(reason)
            }
            let path = directory.path(names.journal)
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot examine", path)
        }
        let status = try file.requiredStatus(of: directory.path(names.journal))
        if let reason = Self.foreignness(ofJournal: status, names.journal, in: directory) { return .foreign(reason) }
        let isLocked = file.isLockedElsewhere()
        let journal = try Self.readJournal(file, directory.path(names.journal))
        if isLocked { return .busy((try? journal.get())?.facts) }
        switch journal {
        case .success(let contents):
            return try self.partialState(directory, names, contents, final: final, existing: existing)
        case .failure(let damage):
            return .foreign("the journal '\(directory.path(names.journal))' cannot be used: \(damage.message)")
        }
    }

    private func partialState(
        _ directory: DirectoryHandle,
        _ names: PartialNames,
        _ contents: JournalContents,
        final: String,
        existing: stat?
    ) throws(StorageError) -> PartialState {
        if contents.state == .committing, let commit = contents.commit, let existing,
            UInt64(existing.st_ino) == commit.inode, Int64(existing.st_size) == commit.length,
            try self.isFinished(final, existing, contents, directory)
        {
            return .committed
        }
        guard let part = try directory.status(names.part) else { return .ours(contents.facts, written: 0) }
        if let reason = Self.foreignness(part, of: directory.path(names.part)) { return .foreign(reason) }
        if contents.state == .begun, part.st_size > 0 {
            return .foreign("'\(directory.path(names.part))' existed before its journal")
        }
        if part.st_size > 0 {
            switch directory.open(names.part, O_RDONLY | O_NONBLOCK) {
            case .success(let data):
                if let reason = try self.mismatch(contents, data, part, path: directory.path(names.part)) {
                    return .unpaired(contents.facts, reason: reason)
                }
            case .failure(let error) where [EACCES, ELOOP, ENOENT].contains(error.number):
                return .foreign("'\(directory.path(names.part))' cannot be opened")
            case .failure(let error):
                let path = directory.path(names.part)
                throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", path)
            }
        }
        let journal = directory.path(names.journal)
        let believed = self.believed(contents, size: Int64(part.st_size), in: journal)
        let extents = SlotTable.union(believed.map { $0.start..<$0.written })
        return .ours(contents.facts, written: extents.reduce(0) { $0 + Int64($1.count) })
    }

    /// Whether a finished file has the number of the journal whose commit was interrupted.
    private func isFinished(
        _ name: String,
        _ status: stat,
        _ contents: JournalContents,
        _ directory: DirectoryHandle
    ) throws(StorageError) -> Bool {
        guard let pairing = contents.pairing else { return true }
        switch directory.open(name, O_RDONLY | O_NONBLOCK) {
        case .success(let file): return try pairing.matches(file, status, path: directory.path(name))
        case .failure(let error) where [EACCES, ELOOP, ENOENT].contains(error.number): return false
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", directory.path(name))
        }
    }

    /// The slots of the journal at `path` that can be trusted under this boot, limited to a file of `size` bytes.
    func believed(_ contents: JournalContents, size: Int64, in path: String) -> [SlotRecord] {
        let sameBoot = self.bootID.isKnown && contents.bootID == self.bootID && !self.losses.contains(path)
        return contents.slots.compactMap { slot -> SlotRecord? in
            var slot = slot
            slot.written = min(sameBoot ? slot.written : slot.durable, size)
            slot.durable = min(slot.durable, slot.written)
            return slot.start < slot.written && slot.start <= slot.durable ? slot : nil
        }
    }

    /// The reason why a file cannot be one of the store's, or `nil`.
    static func foreignness(_ status: stat, of path: String) -> String? {
        if status.st_mode & S_IFMT == S_IFLNK { return "'\(path)' is a symbolic link" }
        if status.st_mode & S_IFMT != S_IFREG { return "'\(path)' is not a regular file" }
        if status.st_uid != geteuid() { return "'\(path)' belongs to another user" }
        if status.st_nlink > 1 { return "'\(path)' has another hard link" }
        return nil
    }

    /// The reason why a journal cannot be one of the store's, or `nil`.
    ///
    /// A temporary name of the same directory is no other one: a kill while the journal got its name has left it.
    static func foreignness(ofJournal status: stat, _ name: String, in directory: DirectoryHandle) -> String? {
        var status = status
        if directory.temporaryName(of: status) != nil { status.st_nlink = 1 }
        return self.foreignness(status, of: directory.path(name))
    }

    /// Reads and decodes a journal; throws if it cannot be read, which says nothing about its contents.
    static func readJournal(
        _ file: FileDescriptor,
        _ path: String
    ) throws(StorageError) -> Result<JournalContents, SyntaxError> {
        let size = try file.requiredStatus(of: path).st_size
        guard size <= JournalLayout.largestSize else {
            return .failure(SyntaxError("it is too large for a journal"))
        }
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, filled in
            count = file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            filled = max(0, count)
        }
        guard count >= 0 else {
            throw StorageError(errno: Int32(clamping: -count), otherwise: .inputOutput, "cannot read", path)
        }
        return Result { () throws(SyntaxError) in try JournalFormat.decode(bytes) }
    }
}
