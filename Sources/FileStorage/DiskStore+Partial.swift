// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
public import TransferCore
public import TransferEngine

extension DiskStore {
    /// Creates the journal, complete and locked, then the partial file; throws `.exists` if foreign files exist there.
    public func createPartial(_ target: FileTarget, facts: ResourceFacts) throws(StorageError) -> any PartialFile {
        try self.makingDirectory(target.directory) { directory throws(StorageError) in
            let names = PartialNames(target.name)
            try self.removeOurs(directory, target, names)
            let (contents, journal) = try self.createJournal(directory, names, facts: facts, state: .begun, slots: [])
            self.losses.forget(directory.path(names.journal))
            do throws(StorageError) {
                let data = try Self.createData(directory, names)
                contents.pairing?.bind(data, journal)
                journal.store(.active)
                return DiskPartialFile(
                    target: target,
                    directory: directory,
                    data: data,
                    journal: journal,
                    contents: contents,
                    losses: self.losses
                )
            } catch {
                // A journal of ours must not remain next to a file that may not be ours.
                try? directory.unlink(names.journal)
                throw error
            }
        }
    }

    /// Locks the journal until it is closed and opens the partial file; throws `.inUse` if another process has it.
    public func openPartial(_ target: FileTarget, claiming: Bool) throws(StorageError) -> any PartialFile {
        guard let directory = try self.directories.existing(target.directory) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot open", target.path)
        }
        let names = PartialNames(target.name)
        guard let (file, read) = try self.openJournal(directory, names) else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot open", directory.path(names.journal))
        }
        var contents = read
        let data: FileDescriptor
        switch directory.open(names.part, O_RDWR | O_NONBLOCK) {
        case .success(let opened):
            data = opened
            let status = try data.requiredStatus(of: directory.path(names.part))
            if let reason = Self.foreignness(status, of: directory.path(names.part)) {
                throw StorageError(.cannotOpen, "cannot resume: \(reason); move it away or choose another name")
            }
        case .failure(let error) where error.number == ENOENT:
            data = try Self.createData(directory, names)
        case .failure(let error):
            let path = directory.path(names.part)
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", path)
        }
        let status = try data.requiredStatus(of: directory.path(names.part))
        let size = Int64(status.st_size)
        if contents.state == .begun, size > 0 {
            throw StorageError(
                .cannotOpen,
                "cannot resume: '\(directory.path(names.part))' existed before its journal"
            )
        }
        var isClaimed = false
        if let reason = try self.mismatch(contents, data, status, path: directory.path(names.part)) {
            guard claiming else { throw StorageError(.badJournal, reason) }
            isClaimed = true
            // Only the caller's digest counts.
            contents.facts.representationDigest = nil
        }
        let isShorter = contents.slots.contains { $0.durable > size }
        contents.slots = self.believed(contents, size: size, in: directory.path(names.journal))
        let journal = JournalFile(file, layout: contents.layout)
        if !isClaimed, size == 0 || contents.pairing == nil {
            let pairing = contents.pairing ?? .random()
            pairing.bind(data, journal)
            if contents.pairing == nil { journal.store(pairing) }
            contents.pairing = pairing
        }
        let partial = DiskPartialFile(
            target: target,
            directory: directory,
            data: data,
            journal: journal,
            contents: contents,
            losses: self.losses,
            isClaimed: isClaimed
        )
        // First the marks, then the boot ID under which they are valid.
        try partial.check(partial.table.rewrite(contents.slots), "cannot write the journal of")
        try partial.check(journal.store(self.bootID), "cannot write the journal of")
        // A journal that vouches for more bytes than the file has must not come back after a power loss: it would vouch for
        // bytes that are written from now on.
        // Nor must facts that another process changed and did not sync give way to those before them; if its sync failed, a
        // sync alone would not write them.
        if isShorter || contents.factsSequence > 1 || !contents.bootID.isKnown {
            try partial.check(journal.renewFacts(block: contents.factsBlock), "cannot write the journal of")
            try partial.syncJournal()
        }
        journal.store(.active)
        self.losses.forget(directory.path(names.journal))
        return partial
    }

    /// Creates a journal without slots, copies and syncs the bytes, then records them in the journal.
    ///
    /// Throws `.exists` if the file is not the one that was compared: bytes of the server would follow others.
    public func copyExisting(
        _ target: FileTarget,
        unchangedSince identity: FileIdentity,
        facts: ResourceFacts
    ) throws(StorageError) -> any PartialFile {
        let original = try self.openExisting(target, O_RDONLY)
        let directory = try self.directories.making(target.directory)
        let names = PartialNames(target.name)
        try self.removeOurs(directory, target, names)
        var (contents, journal) = try self.createJournal(directory, names, facts: facts, state: .active, slots: [])
        self.losses.forget(directory.path(names.journal))
        do throws(StorageError) {
            let data = try Self.createData(directory, names)
            contents.pairing?.bind(data, journal)
            let number = FileMover.copy(original, data)
            if number != 0 {
                try? directory.unlink(names.part)
                throw StorageError(errno: number, otherwise: .inputOutput, "cannot copy", target.path)
            }
            // After the copy, because it takes time.
            guard FileIdentity(try original.requiredStatus(of: target.path)).matches(identity) else {
                try? directory.unlink(names.part)
                throw StorageError(.exists, "cannot continue '\(target.path)': it was changed meanwhile; try again")
            }
            let size = min(Int64(try data.requiredStatus(of: target.path).st_size), JournalMark.maximum)
            if size > 0 {
                contents.slots = [SlotRecord(index: 0, start: 0, written: size, durable: size)]
                let number = journal.store(slots: contents.slots)
                if number != 0 {
                    try? directory.unlink(names.part)
                    let doing = "cannot write the journal of"
                    throw StorageError(errno: number, otherwise: .inputOutput, doing, target.path)
                }
            }
            return DiskPartialFile(
                target: target,
                directory: directory,
                data: data,
                journal: journal,
                contents: contents,
                losses: self.losses
            )
        } catch {
            try? directory.unlink(names.journal)
            throw error
        }
    }

    /// Deletes the older data, then renames the journal over the older journal, then the data.
    ///
    /// A journal without data counts as ours and empty, so a crash between the renames does not mix the two files. Until
    /// the first rename, a crash leaves the file that is moved, and a journal of the older one, at which it is found.
    public func movePartial(_ old: FileTarget, to new: FileTarget) throws(StorageError) {
        guard let directory = try self.directories.existing(old.directory), old.directory == new.directory else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot move", old.path)
        }
        let (from, to) = (PartialNames(old.name), PartialNames(new.name))
        // Locked: another process may have begun to write it.
        guard let moved = try self.openJournal(directory, from)?.0 else {
            throw StorageError(errno: ENOENT, otherwise: .cannotOpen, "cannot move", old.path)
        }
        // Locked until its name is that of the other journal.
        var replaced: FileDescriptor?
        if case .ours = try self.survey(new).partial {
            replaced = try self.openJournal(directory, to)?.0
            if replaced != nil { try directory.unlink(to.part) }
        } else {
            try self.removeOurs(directory, new, to)
        }
        for (name, final) in [(from.journal, to.journal), (from.part, to.part)] {
            let isReplacing = final == to.journal && replaced != nil
            let number = directory.rename(name, to: directory, final, replacing: isReplacing)
            if number != 0 {
                throw StorageError(errno: number, otherwise: .cannotCreate, "cannot create", directory.path(final))
            }
        }
        self.losses.move(directory.path(from.journal), to: directory.path(to.journal))
        _ = replaced?.close()
        _ = moved.close()
        try directory.sync()
    }

    /// Deletes our partial file and journal under this name and leaves all other files unchanged.
    public func discardPartial(_ target: FileTarget) throws(StorageError) {
        try self.discardPartial(target, unlessWrittenSince: nil)
    }

    /// Deletes our partial file and journal under this name, unless bytes were written to it lately.
    ///
    /// - Parameters:
    ///   - target: The complete file's place.
    ///   - time: Seconds since 1970: a partial file written then or later belongs to another transfer, and stays.
    /// - Throws: ``StorageError`` if a file cannot be read or deleted.
    package func discardPartial(_ target: FileTarget, unlessWrittenSince time: Double?) throws(StorageError) {
        guard let directory = try self.directories.existing(target.directory) else { return }
        let names = PartialNames(target.name)
        if let time, let part = try directory.status(names.part), FileTime.modified(part) >= time { return }
        // Damaged or foreign files are left unchanged.
        guard case .ours = try self.survey(target).partial else {
            if case .committed = try self.survey(target).partial {
                try self.removeCommitted(directory, target, names)
            }
            return
        }
        try self.removeOurs(directory, target, names)
    }

    /// Completes an interrupted commit: deletes the journal and any second name of the finished file.
    private func removeCommitted(
        _ directory: DirectoryHandle,
        _ target: FileTarget,
        _ names: PartialNames
    ) throws(StorageError) {
        if let part = try directory.status(names.part), let final = try directory.status(target.name),
            part.st_ino == final.st_ino, part.st_dev == final.st_dev
        {
            try directory.unlink(names.part)
        }
        try directory.sync()
        try directory.unlink(names.journal)
    }

    /// Deletes our partial file and journal; throws if there are foreign files.
    private func removeOurs(
        _ directory: DirectoryHandle,
        _ target: FileTarget,
        _ names: PartialNames
    ) throws(StorageError) {
        switch try self.survey(target).partial {
        case .none: return
        case .committed: return try self.removeCommitted(directory, target, names)
        case .busy: throw Self.busy(directory, names)
        case .foreign(let reason), .unpaired(_, let reason):
            throw StorageError(.exists, "\(reason); it is not ours, move it away or choose another name", errno: EEXIST)
        case .ours: break
        }
        guard let (journal, _) = try self.openJournal(directory, names) else { return }
        // Under the journal's lock. The data first: a journal without data counts as ours and empty.
        try directory.unlink(names.part)
        try directory.unlink(names.journal)
        _ = journal.close()
    }

    /// Opens and locks a journal of ours; `nil` if there is none.
    private func openJournal(
        _ directory: DirectoryHandle,
        _ names: PartialNames
    ) throws(StorageError) -> (FileDescriptor, JournalContents)? {
        let path = directory.path(names.journal)
        let file: FileDescriptor
        switch directory.open(names.journal, O_RDWR | O_NONBLOCK) {
        case .success(let opened): file = opened
        case .failure(let error) where error.number == ENOENT: return nil
        case .failure(let error):
            throw StorageError(errno: error.number, otherwise: .cannotOpen, "cannot open", path)
        }
        if file.lock() != 0 { throw Self.busy(directory, names) }
        // Deleted between opening and locking: its owner has finished or discarded the transfer.
        let status = try file.requiredStatus(of: path)
        if status.st_nlink == 0 { return nil }
        if let reason = Self.foreignness(ofJournal: status, names.journal, in: directory) {
            throw StorageError(.badJournal, "cannot resume: \(reason); move it away or choose another name")
        }
        // Under the lock, which a process that creates the journal has.
        if let temporary = directory.temporaryName(of: status) { try directory.unlink(temporary) }
        switch try Self.readJournal(file, path) {
        case .success(let contents): return (file, contents)
        case .failure(let damage):
            throw StorageError(
                .badJournal,
                "the journal '\(path)' cannot be used: \(damage.message); move it and its partial file away"
            )
        }
    }

    /// Creates a journal that is complete and locked when it appears under its name.
    private func createJournal(
        _ directory: DirectoryHandle,
        _ names: PartialNames,
        facts: ResourceFacts,
        state: JournalState,
        slots: [SlotRecord]
    ) throws(StorageError) -> (JournalContents, JournalFile) {
        let path = directory.path(names.journal)
        let pairing = PartialPairing.random()
        let (layout, bytes) = JournalFormat.encodeNew(
            facts: facts,
            bootID: self.bootID,
            state: state,
            pairing: pairing,
            slots: slots
        )
        let (file, temporary) = try self.createNameless(directory)
        do throws(StorageError) {
            var number = bytes.withUnsafeBytes { file.write($0, at: 0) }
            if number != 0 { throw StorageError(errno: number, otherwise: .inputOutput, "cannot write", path) }
            if file.lock() != 0 { throw Self.busy(directory, names) }
            if let temporary {
                number = directory.rename(temporary, to: directory, names.journal, replacing: false)
            } else {
                number = directory.link(file, as: names.journal)
            }
            if number != 0 { throw StorageError(errno: number, otherwise: .cannotCreate, "cannot create", path) }
            let contents = JournalContents(
                layout: layout,
                bootID: self.bootID,
                state: state,
                commit: nil,
                pairing: pairing,
                facts: facts,
                factsBlock: 0,
                factsSequence: 1,
                slots: slots
            )
            return (contents, JournalFile(file, layout: layout))
        } catch {
            if let temporary { try? directory.unlink(temporary) }
            throw error
        }
    }

    private static func createData(
        _ directory: DirectoryHandle,
        _ names: PartialNames
    ) throws(StorageError) -> FileDescriptor {
        switch directory.open(names.part, O_RDWR | O_CREAT | O_EXCL) {
        case .success(let file): return file
        case .failure(let error):
            let path = directory.path(names.part)
            throw StorageError(errno: error.number, otherwise: .cannotCreate, "cannot create", path)
        }
    }

    private static func busy(_ directory: DirectoryHandle, _ names: PartialNames) -> StorageError {
        StorageError(
            .inUse,
            "'\(directory.path(names.part))' is being written by another process; wait for it or choose another name",
            errno: EAGAIN
        )
    }
}
