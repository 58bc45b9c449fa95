internal import Control
internal import FileStorage
internal import Glibc
internal import TransferCore
internal import TransferEngine

/// Unfinished uploads on disk; everything here blocks.
extension UploadArea {
    /// The largest record that is read back.
    private static let largestRecord = 256 << 10

    /// Begins an upload: after this it survives the receiver's death.
    ///
    /// The partial file is made first, so that a record always has one.
    func create(_ upload: ResumableUpload) throws(UploadRefusal) -> OpenFile {
        try self.admit(length: upload.length)
        try self.check(upload.place, upload.conditionFields)
        let file = try self.makePart(upload.name.part)
        do throws(UploadRefusal) {
            try self.save(upload)
        } catch {
            try? self.directory.unlink(upload.name.part)
            throw error
        }
        return file
    }

    /// Writes an upload's record.
    func save(_ upload: ResumableUpload) throws(UploadRefusal) {
        do throws(StorageError) {
            try AtomicFile.replace(self.path(upload.name.record), with: upload.json.bytes, mode: 0o600)
        } catch {
            throw UploadRefusal(number: error.errno, "writing the upload's record")
        }
    }

    /// Where an upload stands.
    ///
    /// The offset is what is on disk, but for content that came with a digest and was not checked against it: where that is
    /// because the receiver died, whoever holds the upload cuts it off. A record without its partial file is that of a file
    /// that has landed.
    ///
    /// - Parameters:
    ///   - name: The upload.
    ///   - now: Seconds since 1970.
    ///   - isOurs: Whether the caller is the one that holds it.
    /// - Returns: Where it stands.
    /// - Throws: ``UploadRefusal`` with 404 where there is none, 410 where it has expired.
    func standing(_ name: UploadName, now: Int64, isOurs: Bool = false) throws(UploadRefusal) -> UploadStanding {
        let bytes: [UInt8]?
        do throws(StorageError) {
            bytes = try AtomicFile.read(self.path(name.record), atMost: Self.largestRecord)
        } catch {
            throw UploadRefusal(number: error.errno, "reading the upload's record")
        }
        guard let bytes, let json = try? JSON(parsing: bytes), let upload = ResumableUpload(name: name, json: json)
        else {
            throw .unknown
        }
        let lifetime = Int64(clamping: self.limits.expiry.components.seconds)
        guard let status = self.status(name.part) else {
            let expires = upload.created + lifetime
            return UploadStanding(upload: upload, offset: upload.length ?? 0, isComplete: true, expires: expires)
        }
        let expires = max(upload.created, Int64(status.st_mtim.tv_sec)) + lifetime
        let isActive = !isOurs && self.active.contains(name.id)
        guard now < expires || isActive else {
            throw UploadRefusal(410, "the upload has expired")
        }
        let size = Int64(status.st_size)
        let checked = self.checked(name).map { min($0, size) }
        if isOurs, let checked {
            try self.cut(name, to: checked)
            self.budget.give(size - checked)
        }
        let offset = checked ?? size
        return UploadStanding(upload: upload, offset: offset, isComplete: false, expires: expires)
    }

    /// Opens an upload's partial file to go on with it.
    func openPart(_ name: UploadName) throws(UploadRefusal) -> OpenFile {
        switch self.directory.open(name.part, O_RDWR) {
        case .success(let file): return file
        case .failure(let error) where error.number == ENOENT: throw .unknown
        case .failure(let error): throw UploadRefusal(number: error.number, "opening the upload")
        }
    }

    /// Lets an upload land and remembers where; one that has not the digest it was announced with is deleted.
    func complete(_ upload: ResumableUpload, _ file: OpenFile) throws(UploadRefusal) -> LandedFile {
        if let digest = upload.digest {
            for expected in DigestFields.representation(["Repr-Digest": digest])
            where try self.digest(expected.algorithm, of: file) != expected.bytes {
                self.remove(upload.name)
                throw UploadRefusal(400, "the content is not what Repr-Digest says; send it again")
            }
        }
        let landed = try self.land(upload.name.part, file, upload.place, upload.conditionFields)
        self.writeRecord(upload.facts, of: landed)
        var upload = upload
        upload.length = landed.facts.length
        upload.landed = landed.path.url
        // A client that never heard of it may ask again.
        try? self.save(upload)
        return landed
    }

    private func digest(_ algorithm: DigestAlgorithm, of file: OpenFile) throws(UploadRefusal) -> [UInt8] {
        var digest = RunningDigest(algorithm)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = file.read(into: buffer, at: offset)
            guard count >= 0 else { throw UploadRefusal(number: Int32(clamping: -count), "reading the upload") }
            if count == 0 { return digest.finalized() }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    /// Ends an upload and deletes what there is of it.
    func remove(_ name: UploadName) {
        let size = self.status(name.part).map { Int64($0.st_size) } ?? 0
        // The record first: without its partial file it would be that of a file that has landed.
        for file in [name.record, name.part, name.unchecked] { try? self.directory.unlink(file) }
        self.budget.give(size)
    }

    /// Notes that content from an offset on must not be believed before it was checked; or that it was.
    func markUnchecked(_ name: UploadName, from offset: Int64?) throws(UploadRefusal) {
        do throws(StorageError) {
            if let offset {
                try AtomicFile.replace(self.path(name.unchecked), with: Array("\(offset)".utf8))
            } else {
                try self.directory.unlink(name.unchecked)
            }
        } catch {
            throw UploadRefusal(number: error.errno, "writing the upload's record")
        }
    }

    /// The offset from which on content must not be believed, where there is some.
    private func checked(_ name: UploadName) -> Int64? {
        (try? AtomicFile.read(self.path(name.unchecked), atMost: 32)).flatMap { $0 }.flatMap { DecimalNumber.parse($0) }
    }

    private func cut(_ name: UploadName, to offset: Int64) throws(UploadRefusal) {
        let file = try self.openPart(name)
        var number = file.truncate(offset)
        if number == 0 { number = file.syncData() }
        guard number == 0 else { throw UploadRefusal(number: number, "cutting the upload") }
        try self.markUnchecked(name, from: nil)
    }

    /// Deletes what has expired, and what a receiver that died left of uploads that nobody can go on with.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - isFirst: Whether nothing of this run can be in the area: then a partial file without a record is nobody's.
    func sweep(now: Int64, isFirst: Bool) {
        let names = self.names()
        let lifetime = Int64(clamping: self.limits.expiry.components.seconds)
        for file in names where file.hasSuffix(".part") {
            let id = String(file.dropLast(5))
            guard let name = UploadName(id), let status = self.status(file) else { continue }
            let hasRecord = names.contains(name.record)
            if isFirst { self.budget.charge(Int64(status.st_size)) }
            let isOld = Int64(status.st_mtim.tv_sec) + lifetime <= now
            if isFirst && !hasRecord || isOld && !self.active.contains(id) && hasRecord { self.remove(name) }
        }
        for file in names where file.hasSuffix(".json") {
            guard let name = UploadName(String(file.dropLast(5))), !names.contains(name.part),
                let status = self.status(file), Int64(status.st_mtim.tv_sec) + lifetime <= now
            else { continue }
            for file in [name.unchecked, name.record] { try? self.directory.unlink(file) }
        }
        // What is left of small files that were being replaced when the process died.
        if isFirst { for file in names where file.hasPrefix(".martlet-") { try? self.directory.unlink(file) } }
    }

    private func names() -> Set<String> {
        let copy = openat(self.directory.raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            Glibc.close(copy)
            return []
        }
        defer { closedir(stream) }
        var names: Set<String> = []
        while let next = readdir(stream) {
            names.insert(
                withUnsafeBytes(of: &next.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
            )
        }
        return names
    }

    private func status(_ name: String) -> stat? { (try? self.directory.status(name)) ?? nil }

    private func path(_ name: String) -> String { "/proc/self/fd/\(self.directory.raw)/\(name)" }
}
