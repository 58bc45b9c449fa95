// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Files
internal import Platform
internal import TransferCore

/// Resumable uploads on disk. Every method blocks.
extension UploadArea {
    /// The maximum size of a record that is read, in bytes.
    private static let largestRecord = 256 << 10

    /// Creates an upload, which then survives a crash of the receiver.
    ///
    /// The partial file is created first, so every record has one.
    func create(_ upload: ResumableUpload) throws(UploadRefusal) -> OpenFile {
        try self.admit(length: upload.length)
        let file = try self.makePart(upload.name.part)
        do throws(UploadRefusal) {
            try self.save(upload)
        } catch {
            try? self.directory.unlink(upload.name.part)
            self.budget.give(UploadBudget.block)
            throw error
        }
        return file
    }

    /// Writes an upload's record.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - mustFit: Whether the record must not exceed the budget.
    /// - Throws: ``UploadRefusal``: 507 if it does, or if there is no space.
    func save(_ upload: ResumableUpload, mustFit: Bool = true) throws(UploadRefusal) {
        try self.replace(upload.name.record, with: upload.json.bytes, mustFit: mustFit)
    }

    /// Replaces or removes a small file of an upload, and adjusts the budget.
    private func replace(_ name: String, with bytes: [UInt8]?, mustFit: Bool = true) throws(UploadRefusal) {
        let before = self.cost(of: name)
        let reserved = max(0, (bytes.map { UploadBudget.cost(Int64($0.count)) } ?? 0) - before)
        if mustFit {
            guard self.budget.take(reserved) else { throw .quota }
        } else {
            self.budget.charge(reserved)
        }
        // The size on disk counts, also after an error.
        defer { self.budget.give(reserved + before - self.cost(of: name)) }
        do throws(StorageError) {
            if let bytes {
                try AtomicFile.replace(name, in: self.directory, with: bytes)
            } else {
                try self.directory.unlink(name)
            }
        } catch {
            throw UploadRefusal(number: error.errno, "writing the upload's record")
        }
    }

    /// The cost of a file in the area; 0 if it does not exist.
    private func cost(of name: String) -> Int64 { self.status(name).map { UploadBudget.cost(Int64($0.st_size)) } ?? 0 }

    /// Returns the state of an upload.
    ///
    /// The offset is the length of the partial file. Content that was sent with a digest and has not passed the check
    /// does not count; this happens when the receiver dies during a request, and the session that owns the upload
    /// truncates such content. A record without a partial file belongs to an upload that has landed.
    ///
    /// - Parameters:
    ///   - name: The upload.
    ///   - now: The current time, in seconds since 1970.
    ///   - isOurs: Whether the caller owns the upload in ``ActiveUploads``.
    /// - Returns: The state of the upload.
    /// - Throws: ``UploadRefusal`` with 404 if the upload does not exist, 410 if it has expired.
    func standing(_ name: UploadName, now: Int64, isOurs: Bool = false) throws(UploadRefusal) -> UploadStanding {
        let bytes: [UInt8]?
        do throws(StorageError) {
            bytes = try AtomicFile.read(name.record, in: self.directory, atMost: Self.largestRecord)
        } catch {
            throw UploadRefusal(number: error.errno, "reading the upload's record")
        }
        guard let bytes, let json = try? JSON(parsing: bytes), let upload = ResumableUpload(name: name, json: json)
        else {
            throw .unknown
        }
        let lifetime = Int64(clamping: self.limits.expiry.components.seconds)
        guard let status = self.status(name.part) else {
            let expires = upload.created.adding(clamping: lifetime)
            return UploadStanding(upload: upload, offset: upload.length ?? 0, isComplete: true, expires: expires)
        }
        let expires = max(upload.created, Int64(status.modificationTime.tv_sec)).adding(clamping: lifetime)
        let isActive = !isOurs && self.active.contains(name.id)
        guard now < expires || isActive else {
            throw UploadRefusal(410, "the upload has expired")
        }
        let size = Int64(status.st_size)
        let checked = self.checked(name).map { min($0, size) }
        if isOurs, let checked {
            try self.cut(name, from: size, to: checked)
        }
        let offset = checked ?? size
        return UploadStanding(upload: upload, offset: offset, isComplete: false, expires: expires)
    }

    /// Opens an upload's partial file for appending.
    func openPart(_ name: UploadName) throws(UploadRefusal) -> OpenFile {
        switch self.directory.open(name.part, O_RDWR) {
        case .success(let file): return file
        case .failure(let error) where error.number == ENOENT: throw .unknown
        case .failure(let error): throw UploadRefusal(number: error.number, "opening the upload")
        }
    }

    /// The path of the link of an upload that has landed, or `nil` if it has none.
    func link(of standing: UploadStanding) -> String? {
        standing.isComplete ? self.links?.path(ofUpload: standing.upload.name) : nil
    }

    /// Makes what was received of an upload durable, before that is acknowledged.
    ///
    /// - Throws: ``UploadRefusal``; then the upload has no bytes any more.
    func sync(_ name: UploadName, _ file: OpenFile) throws(UploadRefusal) {
        do throws(UploadRefusal) {
            try self.sync(file)
        } catch {
            self.startAgain(name)
            throw error
        }
    }

    /// Empties an upload after a failed sync, or deletes it.
    ///
    /// The kernel may have dropped any bytes that were not durable, while reads still show them, and a later sync would
    /// succeed without them (fsync(2)).
    private func startAgain(_ name: UploadName) {
        let size = self.status(name.part).map { Int64($0.st_size) } ?? 0
        guard let file = try? self.openPart(name), file.truncate(0) == 0 else { return self.remove(name) }
        self.budget.shrink(from: size, to: 0)
        if file.sync() != 0 { self.remove(name) }
    }

    /// Lands an upload and records its path; deletes it if it does not match the announced `Repr-Digest`.
    func complete(_ upload: ResumableUpload, _ file: OpenFile) throws(UploadRefusal) -> LandedFile {
        if let digest = upload.digest {
            for expected in DigestFields.representation(["Repr-Digest": digest])
            where try self.digest(expected.algorithm, of: file) != expected.bytes {
                self.remove(upload.name)
                throw UploadRefusal(400, "the content is not what Repr-Digest says; send it again")
            }
        }
        try self.sync(upload.name, file)
        let landed = try self.land(
            upload.name.part,
            file,
            upload.place,
            upload.conditionFields,
            of: upload.name,
            from: upload.facts.user
        )
        self.writeRecord(upload.facts, of: landed) { try? self.digest(.sha256, of: file) }
        var upload = upload
        upload.length = landed.facts.length
        upload.landed = landed.path.url
        // The response may be lost; the client can then query the upload again.
        try? self.save(upload, mustFit: false)
        return landed
    }

    /// The digest of a partial or landed file; blocks while it is read.
    func digest(_ algorithm: DigestAlgorithm, of file: OpenFile) throws(UploadRefusal) -> [UInt8] {
        var digest = RunningDigest(algorithm)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = file.read(into: buffer, at: offset)
            guard count >= 0 else { throw UploadRefusal(number: Int32(clamping: -count), "reading the upload") }
            if count == 0 { return digest.finalized() }
            digest.update(UnsafeRawBufferPointer(buffer.part(0..<count)))
            offset += Int64(count)
        }
    }

    /// Deletes an upload: its record, its partial file and its mark of unchecked content.
    func remove(_ name: UploadName) {
        // The record first: a record without a partial file would stand for a file that has landed.
        for file in name.files {
            let cost = self.cost(of: file)
            if (try? self.directory.unlink(file)) != nil { self.budget.give(cost) }
        }
    }

    /// Marks the content from `offset` on as unchecked; `nil` removes the mark.
    func markUnchecked(_ name: UploadName, from offset: Int64?) throws(UploadRefusal) {
        try self.replace(name.unchecked, with: offset.map { Array("\($0)".utf8) })
    }

    /// The offset at which unchecked content starts; `nil` if all content is checked.
    private func checked(_ name: UploadName) -> Int64? {
        (try? AtomicFile.read(name.unchecked, in: self.directory, atMost: 32)).flatMap { $0 }
            .flatMap { DecimalNumber.parse($0) }
    }

    private func cut(_ name: UploadName, from size: Int64, to offset: Int64) throws(UploadRefusal) {
        let file = try self.openPart(name)
        let number = file.truncate(offset)
        guard number == 0 else { throw UploadRefusal(number: number, "cutting the upload") }
        self.budget.shrink(from: size, to: offset)
        try self.sync(name, file)
        try self.markUnchecked(name, from: nil)
    }

    /// Deletes expired uploads and the orphans of a receiver that crashed.
    ///
    /// - Parameters:
    ///   - now: The current time, in seconds since 1970.
    ///   - isFirst: Whether this process has not created an upload yet. Partial files without a record are then
    ///     orphans.
    func sweep(now: Int64, isFirst: Bool) {
        // With an incomplete list, the records of uploads would look like orphans.
        guard let names = self.names() else { return }
        if isFirst {
            for file in names {
                let parts = file.split(separator: ".", maxSplits: 1)
                guard parts.count == 2, let name = UploadName(String(parts[0])), name.files.contains(file) else {
                    continue
                }
                if file == name.unchecked, names.isDisjoint(with: [name.record, name.part]) {
                    try? self.directory.unlink(file)
                }
                self.budget.charge(self.cost(of: file))
            }
        }
        let lifetime = Int64(clamping: self.limits.expiry.components.seconds)
        for file in names where file.hasSuffix(".part") {
            let id = String(file.dropLast(5))
            guard let name = UploadName(id), let status = self.status(file) else { continue }
            let hasRecord = names.contains(name.record)
            let isOld = Int64(status.modificationTime.tv_sec).adding(clamping: lifetime) <= now
            if isFirst && !hasRecord || isOld && !self.active.contains(id) && hasRecord { self.remove(name) }
        }
        for file in names where file.hasSuffix(".json") {
            guard let name = UploadName(String(file.dropLast(5))), !names.contains(name.part),
                let status = self.status(file), Int64(status.modificationTime.tv_sec).adding(clamping: lifetime) <= now
            else { continue }
            self.remove(name)
        }
        // Temporary files of atomic replacements that a crash interrupted.
        if isFirst { for file in names where file.hasPrefix(".martlet-") { try? self.directory.unlink(file) } }
    }

    /// The names in the area's directory; `nil` if it cannot be read completely.
    private func names() -> Set<String>? {
        let copy = openat(self.directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return nil }
        guard let stream = fdopendir(copy) else {
            Platform.close(copy)
            return nil
        }
        defer { closedir(stream) }
        var names: Set<String> = []
        while true {
            errno = 0
            guard let next = readdir(stream) else {
                if errno != 0 { return nil }
                break
            }
            names.insert(
                withUnsafeBytes(of: &next.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
            )
        }
        return names
    }

    private func status(_ name: String) -> stat? { (try? self.directory.status(name)) ?? nil }
}
