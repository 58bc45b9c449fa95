internal import TransferCore

/// HEAD and DELETE of an upload's own resource, in the protocol that the request speaks; blocks.
struct UploadResource: Sendable {
    let area: UploadArea
    let name: UploadName
    let fields: HTTPFields

    /// Where the upload stands.
    ///
    /// A request that still writes to it is cut off first: a client that asks has lost its connection, and must not be told
    /// an offset that still moves.
    func head() -> Answer {
        if let refusal = self.versionRefusal { return refusal }
        let isFree = self.area.active.take(self.name.id) {}
        defer { if isFree { self.area.active.release(self.name.id) } }
        do throws(UploadRefusal) {
            var standing = try self.area.standing(self.name, now: Timestamp.now, isOurs: isFree)
            if isFree { try self.land(&standing) }
            if let version = DraftVersion(fields: self.fields) { return version.standing(standing, self.area.limits) }
            return self.tus(standing)
        } catch {
            var answer = error.answer
            answer.fields.append("Cache-Control", "no-store")
            if TusProtocol.isSpoken(self.fields) { answer.fields.append("Tus-Resumable", TusProtocol.version) }
            return answer
        }
    }

    /// The answer to a version of tus that is not spoken.
    private var versionRefusal: Answer? {
        TusProtocol.isSpoken(self.fields) ? TusProtocol.versionRefusal(self.fields)?.answer : nil
    }

    /// Lets an upload land whose content is whole: the receiver died after the last byte and before that.
    private func land(_ standing: inout UploadStanding) throws(UploadRefusal) {
        guard standing.upload.endsByLength, !standing.isComplete, standing.offset == standing.upload.length else {
            return
        }
        _ = try self.area.complete(standing.upload, try self.area.openPart(self.name))
        standing.isComplete = true
    }

    private func tus(_ standing: UploadStanding) -> Answer {
        var fields = TusProtocol.fields([("Upload-Offset", "\(standing.offset)"), ("Cache-Control", "no-store")])
        if let length = standing.upload.length {
            fields.append("Upload-Length", "\(length)")
        } else {
            fields.append("Upload-Defer-Length", "1")
        }
        if let metadata = standing.upload.metadata { fields.append("Upload-Metadata", metadata) }
        if !standing.isComplete { fields.append("Upload-Expires", HTTPDate.format(standing.expires)) }
        return Answer(200, fields)
    }

    /// Ends the upload.
    func delete() -> Answer {
        if let refusal = self.versionRefusal { return refusal }
        let isFree = self.area.active.take(self.name.id) {}
        defer { if isFree { self.area.active.release(self.name.id) } }
        var fields = HTTPFields()
        if TusProtocol.isSpoken(self.fields) { fields.append("Tus-Resumable", TusProtocol.version) }
        if let version = DraftVersion(fields: self.fields) { fields.append(DraftVersion.field, "\(version.rawValue)") }
        guard isFree else { return .message(423, "another request goes on with this upload", fields) }
        do throws(UploadRefusal) {
            let standing = try self.area.standing(self.name, now: Timestamp.now, isOurs: true)
            guard !standing.isComplete else { throw UploadRefusal(404, "the upload is complete") }
            self.area.remove(self.name)
            return Answer(204, fields)
        } catch {
            var refusal = error
            refusal.fields = fields
            return refusal.answer
        }
    }
}
