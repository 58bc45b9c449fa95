// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Files
internal import Platform
internal import Synchronization
internal import TransferCore

struct LandedFile: Sendable {
    /// The path in the served tree.
    var path: TreePath
    /// The file's metadata.
    var facts: FileFacts
    /// Whether it replaced another file.
    var hasReplaced: Bool
    /// The path of the link for it, or `nil` if its sender gets none.
    var link: String?
}

extension UploadArea {
    /// Checks whether a file may be created at a place, in its current state; blocks.
    ///
    /// - Parameters:
    ///   - place: The destination.
    ///   - fields: The request header fields, for their conditions.
    /// - Throws: ``UploadRefusal``: 409 if the name is taken, 412 if a condition fails.
    func check(_ place: LandingPlace, _ fields: HeaderFields) throws(UploadRefusal) {
        guard !place.mayRename else { return }
        let current = try self.current(place.directory + [place.name])
        guard Conditions.verdict(fields, current?.state, isRead: false) == .proceed else {
            throw UploadRefusal(412, "the file is in another state than the request asks for")
        }
        if current != nil, !self.overwrites { throw .exists }
        if try self.isDirectory(place) { throw UploadRefusal(409, "this is a directory; name a file in it") }
    }

    /// Reserves the name of a place for one upload that is running, so that a second one is refused before its content
    /// is sent; blocks.
    ///
    /// - Parameters:
    ///   - place: The destination.
    ///   - fields: The request header fields, for their conditions.
    /// - Returns: The reservation, or `nil` if the upload needs none: it may get another name or replace a file.
    /// - Throws: ``UploadRefusal`` like ``check(_:_:)``, and 409 if another upload has the reservation.
    func reserve(_ place: LandingPlace, _ fields: HeaderFields) throws(UploadRefusal) -> NameReservation? {
        try self.check(place, fields)
        guard !place.mayRename, !self.overwrites || fields.contains("If-None-Match") else { return nil }
        guard let reservation = self.reservations.take(place) else {
            throw UploadRefusal(409, "another upload to this name is running")
        }
        return reservation
    }

    /// Makes a received file durable; blocks.
    func sync(_ file: OpenFile) throws(UploadRefusal) {
        let number = file.sync()
        guard number == 0 else { throw UploadRefusal(number: number, "syncing") }
    }

    /// Publishes a partial file: renames it to its destination and syncs the directory; blocks.
    ///
    /// - Precondition: The file was synced.
    /// - Parameters:
    ///   - part: The partial file's name in the area.
    ///   - file: The open partial file.
    ///   - place: The destination.
    ///   - fields: The request header fields, for their conditions.
    ///   - upload: The upload, for its link.
    ///   - user: The sender, if the credentials name one.
    /// - Returns: The landed file.
    /// - Throws: ``UploadRefusal``. The partial file is then unchanged, unless the rename succeeded and the error
    ///   concerns the directory's sync or the file's metadata.
    func land(
        _ part: String,
        _ file: OpenFile,
        _ place: LandingPlace,
        _ fields: HeaderFields,
        of upload: UploadName,
        from user: String?
    ) throws(UploadRefusal) -> LandedFile {
        let target = try self.makeDirectory(place.directory)
        let link = self.links?
            .prepare(
                place,
                file,
                upload: upload,
                lifetime: self.linkLifetime,
                downloads: self.linkDownloads,
                user: user
            )
        let named: Named
        do throws(UploadRefusal) {
            named = try self.rename(part, place, target, fields)
        } catch {
            if let link { self.links?.withdraw(link) }
            throw error
        }
        do throws(StorageError) {
            try target.sync()
        } catch {
            throw UploadRefusal(500, "the file is there, but its directory could not be synced")
        }
        guard let facts = named.facts, let identity = named.identity else {
            throw UploadRefusal(500, "the file cannot be looked at")
        }
        var landed = LandedFile(path: place.path(named.name), facts: facts, hasReplaced: named.hasReplaced)
        landed.link = link.flatMap { self.links?.landed($0, at: landed.path, identity) }
        return landed
    }

    /// Whether the name of a landed file still refers to that file.
    func isCurrent(_ file: LandedFile) throws(UploadRefusal) -> Bool {
        try self.current(file.path.names) == file.facts
    }

    /// A partial file after its rename.
    private struct Named {
        var name: String
        var hasReplaced: Bool
        /// Read under the landing lock, before another upload can land under the same name.
        var facts: FileFacts?
        var identity: FileIdentity?
    }

    private func rename(
        _ part: String,
        _ place: LandingPlace,
        _ target: DirectoryHandle,
        _ fields: HeaderFields
    ) throws(UploadRefusal) -> Named {
        if let named = try self.rename(part, of: self.directory, place, target, fields) { return named }
        // Another filesystem. The copy runs without the landing lock, so that other uploads can land meanwhile.
        let copy: String
        do throws(StorageError) {
            copy = try FileMover.bring(part, of: self.directory, to: target)
        } catch {
            throw UploadRefusal(number: error.errno == 0 ? EIO : error.errno, "copying the file")
        }
        do throws(UploadRefusal) {
            guard let named = try self.rename(copy, of: target, place, target, fields) else {
                throw UploadRefusal(500, "the file cannot be moved to its directory")
            }
            try? self.directory.unlink(part)
            return named
        } catch {
            try? target.unlink(copy)
            throw error
        }
    }

    /// Renames to the first free name; returns `nil` if the directory is on another filesystem (EXDEV).
    private func rename(
        _ part: String,
        of source: DirectoryHandle,
        _ place: LandingPlace,
        _ target: DirectoryHandle,
        _ fields: HeaderFields
    ) throws(UploadRefusal) -> Named? {
        let outcome: Result<Named?, UploadRefusal> = self.landing.withLock { _ in
            let current: FileFacts?
            do throws(UploadRefusal) {
                current = place.mayRename ? nil : try self.current(place.directory + [place.name])
            } catch {
                return .failure(error)
            }
            if !place.mayRename, Conditions.verdict(fields, current?.state, isRead: false) != .proceed {
                return .failure(UploadRefusal(412, "the file is in another state than the request asks for"))
            }
            // A FIFO or a dangling symlink has no state but exists: If-None-Match must not replace it (RFC 9110
            // §13.1.2).
            let replacing =
                self.overwrites && !place.mayRename && (current != nil || fields["If-None-Match"] == nil)
            for attempt in 0...(place.mayRename ? 10_000 : 0) {
                let name = attempt == 0 ? place.name : FileName.numbered(place.name, attempt)
                switch source.rename(part, to: target, name, replacing: replacing) {
                case 0:
                    let hasReplaced = current != nil && replacing
                    // The record of the replaced file does not describe the new one.
                    if hasReplaced { try? target.unlink(ServedTree.recordName(name)) }
                    let status = (try? target.status(name)) ?? nil
                    return .success(
                        Named(
                            name: name,
                            hasReplaced: hasReplaced,
                            facts: status.map { FileFacts($0) },
                            identity: status.map { FileIdentity(linked: $0) }
                        )
                    )
                case EEXIST where place.mayRename: continue
                case EXDEV: return .success(nil)
                case let number: return .failure(UploadRefusal(number: number, "naming the file"))
                }
            }
            return .failure(.exists)
        }
        return try outcome.get()
    }

    /// The metadata of the regular file at a path; `nil` if there is none.
    private func current(_ names: [String]) throws(UploadRefusal) -> FileFacts? {
        guard let status = try self.status(names), status.st_mode & S_IFMT == S_IFREG else { return nil }
        return FileFacts(status)
    }

    private func isDirectory(_ place: LandingPlace) throws(UploadRefusal) -> Bool {
        try self.status(place.directory + [place.name]).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// The status of a path; `nil` if nothing can be there, but an error if it is unknown.
    private func status(_ names: [String]) throws(UploadRefusal) -> stat? {
        switch BeneathOpen.open(self.tree.root, names, BeneathOpen.pathOnly) {
        case .success(let file):
            guard let status = file.status() else { throw UploadRefusal(500, "the file cannot be examined") }
            return status
        case .failure(let error):
            switch error.number {
            case EMFILE, ENFILE, ENOMEM, EIO, ESTALE: throw UploadRefusal(number: error.number, "examining the file")
            default: return nil
            }
        }
    }

    /// Opens a directory of the tree and creates its missing components; never follows a symlink out of the tree.
    private func makeDirectory(_ names: [String]) throws(UploadRefusal) -> DirectoryHandle {
        let path = ([self.tree.path] + names).joined(separator: "/")
        var made: [String] = []
        var current = self.tree.root
        if case .success(let whole) = self.tree.resolve(names, O_RDONLY | O_DIRECTORY) {
            return DirectoryHandle(path: path, descriptor: whole)
        }
        for name in names {
            made.append(name)
            guard self.budget.fits(UploadBudget.block + self.recordCost) else { throw .quota }
            if mkdirat(current.raw, name, 0o777) == 0 {
                self.budget.charge(UploadBudget.block)
                _ = fsync(current.raw)
            }
            switch self.tree.resolve(made, O_RDONLY | O_DIRECTORY) {
            case .success(let next): current = next
            case .failure(let error): throw UploadRefusal(number: error.number, "opening the directory")
            }
        }
        return DirectoryHandle(path: path, descriptor: current)
    }
}
