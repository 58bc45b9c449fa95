// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Handles HEAD and DELETE of an upload's resource, for the protocol that the request uses; blocks.
struct ResumableUploadResource: Sendable {
    let area: UploadArea
    let name: UploadName
    let fields: HeaderFields

    /// Responds with the state of the upload.
    ///
    /// A request that still writes to it is aborted first: a client that queries the offset has lost its connection,
    /// and the offset must not change after the response.
    func head() -> Response {
        if let refusal = self.versionRefusal { return refusal }
        let isFree = self.area.active.take(self.name.id) {}
        defer { if isFree { self.area.active.release(self.name.id) } }
        do throws(UploadRefusal) {
            var standing = try self.area.standing(self.name, now: Timestamp.now, isOurs: isFree)
            if isFree { try self.land(&standing) }
            var response =
                DraftVersion(fields: self.fields).map { $0.standing(standing, self.area.limits) } ?? self.tus(standing)
            // A client that lost the response to its last request gets the link here.
            if let link = self.area.link(of: standing) { response.fields.append(ShareLink.field, link) }
            return response
        } catch {
            var response = error.response
            response.fields.append("Cache-Control", "no-store")
            if TusProtocol.isSpoken(self.fields) { response.fields.append("Tus-Resumable", TusProtocol.version) }
            return response
        }
    }

    /// The response to an unsupported version of tus.
    private var versionRefusal: Response? {
        TusProtocol.isSpoken(self.fields) ? TusProtocol.versionRefusal(self.fields)?.response : nil
    }

    /// Lands an upload whose content is complete: the receiver died between the last byte and the landing.
    private func land(_ standing: inout UploadStanding) throws(UploadRefusal) {
        guard standing.upload.endsByLength, !standing.isComplete, standing.offset == standing.upload.length else {
            return
        }
        _ = try self.area.complete(standing.upload, try self.area.openPart(self.name))
        standing.isComplete = true
    }

    private func tus(_ standing: UploadStanding) -> Response {
        var fields = TusProtocol.fields([("Upload-Offset", "\(standing.offset)"), ("Cache-Control", "no-store")])
        if let length = standing.upload.length {
            fields.append("Upload-Length", "\(length)")
        } else {
            fields.append("Upload-Defer-Length", "1")
        }
        if let metadata = standing.upload.metadata { fields.append("Upload-Metadata", metadata) }
        if !standing.isComplete { fields.append("Upload-Expires", HTTPDate.format(standing.expires)) }
        return Response(200, fields)
    }

    func delete() -> Response {
        if let refusal = self.versionRefusal { return refusal }
        let isFree = self.area.active.take(self.name.id) {}
        defer { if isFree { self.area.active.release(self.name.id) } }
        var fields = HeaderFields()
        if TusProtocol.isSpoken(self.fields) { fields.append("Tus-Resumable", TusProtocol.version) }
        if let version = DraftVersion(fields: self.fields) { fields.append(DraftVersion.field, "\(version.rawValue)") }
        guard isFree else { return .message(423, "another request continues this upload", fields) }
        do throws(UploadRefusal) {
            let standing = try self.area.standing(self.name, now: Timestamp.now, isOurs: true)
            guard !standing.isComplete else { throw UploadRefusal(404, "the upload is complete") }
            self.area.remove(self.name)
            return Response(204, fields)
        } catch {
            var refusal = error
            refusal.fields = fields
            return refusal.response
        }
    }
}
