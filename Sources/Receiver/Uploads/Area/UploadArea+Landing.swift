internal import FileStorage
internal import Glibc
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// A file that has landed.
struct LandedFile: Sendable {
    /// Where it is.
    var path: TreePath
    /// What is known of it.
    var facts: FileFacts
    /// Whether it took another file's place.
    var hasReplaced: Bool
}

extension UploadArea {
    /// Whether a place can be taken, as far as can be told now; blocks.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - fields: The request's fields, for their conditions.
    /// - Throws: ``UploadRefusal``: 409 where the name is taken, 412 where a condition does not hold.
    func check(_ place: LandingPlace, _ fields: HTTPFields) throws(UploadRefusal) {
        guard !place.mayRename else { return }
        let current = self.current(place.directory + [place.name])
        guard Conditions.verdict(fields, current?.state, isRead: false) == .proceed else {
            throw UploadRefusal(412, "the file is in another state than the request asks for")
        }
        if current != nil, !self.overwrites { throw .exists }
        if self.isDirectory(place) { throw UploadRefusal(409, "this is a directory; name a file in it") }
    }

    /// Makes a partial file a file: syncs it, gives it its name, and syncs that; blocks.
    ///
    /// - Parameters:
    ///   - part: The partial file's name in the area.
    ///   - file: The same, open.
    ///   - place: Where it goes.
    ///   - fields: The request's fields, for their conditions.
    /// - Returns: Where it is now.
    /// - Throws: ``UploadRefusal``; the partial file is as it was.
    func land(
        _ part: String,
        _ file: OpenFile,
        _ place: LandingPlace,
        _ fields: HTTPFields
    ) throws(UploadRefusal) -> LandedFile {
        let number = file.sync()
        guard number == 0 else { throw UploadRefusal(number: number, "syncing") }
        let target = try self.makeDirectory(place.directory)
        let named = try self.rename(part, place, target, fields)
        do throws(StorageError) {
            try target.sync()
        } catch {
            throw UploadRefusal(500, "the file is there, but its directory could not be synced")
        }
        guard let facts = named.facts else { throw UploadRefusal(500, "the file cannot be looked at") }
        return LandedFile(path: place.path(named.name), facts: facts, hasReplaced: named.hasReplaced)
    }

    /// Whether a file that has landed is still the one under its name.
    func isCurrent(_ file: LandedFile) -> Bool { self.current(file.path.names) == file.facts }

    /// A partial file that got its name.
    private struct Named {
        var name: String
        var hasReplaced: Bool
        /// As it was before another could land under the same name.
        var facts: FileFacts?
    }

    private func rename(
        _ part: String,
        _ place: LandingPlace,
        _ target: DirectoryHandle,
        _ fields: HTTPFields
    ) throws(UploadRefusal) -> Named {
        if let named = try self.rename(part, of: self.directory, place, target, fields) { return named }
        // Another filesystem. Copied while the lock is not held: others land meanwhile.
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

    /// rename(2) to the first name that may be taken; `nil` where the directory is another filesystem.
    private func rename(
        _ part: String,
        of source: DirectoryHandle,
        _ place: LandingPlace,
        _ target: DirectoryHandle,
        _ fields: HTTPFields
    ) throws(UploadRefusal) -> Named? {
        let outcome: Result<Named?, UploadRefusal> = self.landing.withLock { _ in
            let current = place.mayRename ? nil : self.current(place.directory + [place.name])
            if !place.mayRename, Conditions.verdict(fields, current?.state, isRead: false) != .proceed {
                return .failure(UploadRefusal(412, "the file is in another state than the request asks for"))
            }
            // A FIFO or a link that leads nowhere has no state, but it is there (RFC 9110 §13.1.2).
            let replacing =
                self.overwrites && !place.mayRename && (current != nil || fields["If-None-Match"] == nil)
            for attempt in 0...(place.mayRename ? 10_000 : 0) {
                let name = attempt == 0 ? place.name : FileName.numbered(place.name, attempt)
                switch source.rename(part, to: target, name, replacing: replacing) {
                case 0:
                    let hasReplaced = current != nil && replacing
                    // What was known of the file before is not true of this one.
                    if hasReplaced { try? target.unlink(ServedTree.recordName(name)) }
                    let status = (try? target.status(name)) ?? nil
                    return .success(Named(name: name, hasReplaced: hasReplaced, facts: status.map { FileFacts($0) }))
                case EEXIST where place.mayRename: continue
                case EXDEV: return .success(nil)
                case let number: return .failure(UploadRefusal(number: number, "naming the file"))
                }
            }
            return .failure(.exists)
        }
        return try outcome.get()
    }

    /// What lies at a place now, where that is a plain file.
    private func current(_ names: [String]) -> FileFacts? {
        guard case .success(let file) = BeneathOpen.open(self.tree.root, names, BeneathOpen.pathOnly),
            let status = file.status(), status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return FileFacts(status)
    }

    private func isDirectory(_ place: LandingPlace) -> Bool {
        guard
            case .success(let file) = BeneathOpen.open(
                self.tree.root,
                place.directory + [place.name],
                BeneathOpen.pathOnly
            )
        else { return false }
        return file.status().map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Opens a directory of the tree, and makes what is missing of it; never by a link that leads out.
    private func makeDirectory(_ names: [String]) throws(UploadRefusal) -> DirectoryHandle {
        let path = ([self.tree.path] + names).joined(separator: "/")
        var made: [String] = []
        var current = self.tree.root
        if case .success(let whole) = self.tree.resolve(names, O_RDONLY | O_DIRECTORY) {
            return DirectoryHandle(path: path, descriptor: whole)
        }
        for name in names {
            made.append(name)
            if mkdirat(current.raw, name, 0o777) == 0 { _ = fsync(current.raw) }
            switch self.tree.resolve(made, O_RDONLY | O_DIRECTORY) {
            case .success(let next): current = next
            case .failure(let error): throw UploadRefusal(number: error.number, "opening the directory")
            }
        }
        return DirectoryHandle(path: path, descriptor: current)
    }
}
