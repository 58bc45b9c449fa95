// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// A request with content in the IETF draft's protocol: one that creates an upload, or a PATCH.
final class DraftUpload: UploadFlow {
    /// The operation of the request.
    enum Act: Sendable {
        case create(LandingPlace, UploadFacts)
        case append(UploadName)
    }

    private let act: Act
    private let version: DraftVersion
    private let session: AppendSession
    private let fields: HeaderFields
    private let length: Int64?
    private let checksum: ExpectedDigest?

    init(_ act: Act, _ version: DraftVersion, _ request: Request, _ session: AppendSession) {
        self.act = act
        self.version = version
        self.session = session
        self.fields = request.head.fields
        self.length = request.head.contentLength
        // The digest of one message's content (RFC 9530 §2); the draft specifies it for appends.
        self.checksum = DigestFields.content(self.fields).first
    }

    /// Whether this request completes the upload; true for an append of version 3 without the field.
    private var isLast: Bool { self.version.isComplete(self.fields) ?? true }

    func open() throws(UploadRefusal) -> UploadOpening {
        do throws(UploadRefusal) {
            switch self.act {
            case .create(let place, let facts): return try self.create(place, facts)
            case .append(let name): return try self.append(name)
            }
        } catch {
            throw self.told(error)
        }
    }

    private func create(_ place: LandingPlace, _ facts: UploadFacts) throws(UploadRefusal) -> UploadOpening {
        guard StructuredItem.integer(self.fields["Upload-Offset"]) ?? 0 == 0 else {
            throw UploadRefusal(400, "an upload begins at offset 0")
        }
        let declared = StructuredItem.integer(self.fields["Upload-Length"])
        let length = try self.length(declared, at: 0)
        var upload = ResumableUpload(
            name: UploadName(),
            place: place,
            length: length,
            created: Timestamp.now,
            facts: facts,
            conditions: ResumableUpload.conditions(of: self.fields)
        )
        upload.digest = self.fields.joined("Repr-Digest")
        let sink = try self.session.create(upload, checking: self.checksum)
        var fields = HeaderFields()
        fields.append(DraftVersion.field, "\(self.version.rawValue)")
        fields.append("Location", upload.name.path)
        return UploadOpening(sink: sink, interim: Response(104, fields))
    }

    private func append(_ name: UploadName) throws(UploadRefusal) -> UploadOpening {
        if self.version >= .v6, self.fields["Content-Type"]?.lowercased() != DraftVersion.contentType {
            throw UploadRefusal(415, "the content of PATCH is \(DraftVersion.contentType)")
        }
        guard let offset = StructuredItem.integer(self.fields["Upload-Offset"]) else {
            throw UploadRefusal(400, "Upload-Offset is missing")
        }
        guard self.version < .v5 || self.version.isComplete(self.fields) != nil else {
            throw UploadRefusal(400, "Upload-Complete is missing, or neither ?1 nor ?0")
        }
        let sink = try self.session.resume(name, checking: self.checksum) { (standing) throws(UploadRefusal) in
            guard !standing.isComplete, offset == standing.offset else {
                var fields = self.version.fields(offset: standing.offset, isComplete: standing.isComplete)
                if let link = self.session.area.link(of: standing) { fields.append(ShareLink.field, link) }
                throw UploadRefusal(409, "the upload has \(standing.offset) bytes", fields)
            }
            if let digest = self.fields.joined("Repr-Digest") { standing.upload.digest = digest }
            let declared = StructuredItem.integer(self.fields["Upload-Length"])
            guard let length = try self.length(declared, at: offset) else { return }
            guard standing.upload.length ?? length == length else {
                throw UploadRefusal(400, "the length differs from the one that is known")
            }
            standing.upload.length = length
        }
        return UploadOpening(sink: sink)
    }

    /// The complete length of the upload, as far as the request declares it.
    private func length(_ declared: Int64?, at offset: Int64) throws(UploadRefusal) -> Int64? {
        guard let content = self.length else { return declared }
        let (end, overflow) = offset.addingReportingOverflow(content)
        guard !overflow, declared.map({ self.isLast ? $0 == end : $0 >= end }) ?? true else {
            throw UploadRefusal(400, "the content does not fit the upload's length")
        }
        return self.isLast ? end : declared
    }

    func finish() -> Response {
        guard let sink = self.session.sink, let upload = self.session.upload else {
            return .message(500, "nothing was opened")
        }
        defer { self.session.release() }
        do throws(UploadRefusal) {
            if let checksum = self.checksum {
                guard sink.digest(checksum.algorithm) == checksum.bytes else {
                    self.session.takeBack()
                    throw UploadRefusal(400, "the content is not what Content-Digest says; send it again")
                }
                try self.session.accept()
            }
            let offset = sink.offset
            guard self.isLast else {
                try self.session.sync()
                return self.incomplete(upload, offset)
            }
            if let length = upload.length, length != offset {
                throw UploadRefusal(
                    400,
                    "the upload ends before its length",
                    self.version.fields(offset: offset, isComplete: false)
                )
            }
            let landed = try self.session.area.complete(upload, sink.file)
            var response = UploadResponse.landed(landed)
            for (name, value) in self.version.fields(offset: offset, isComplete: true) {
                response.fields.append(name, value)
            }
            return response
        } catch {
            return self.told(error).response
        }
    }

    private func incomplete(_ upload: ResumableUpload, _ offset: Int64) -> Response {
        var fields = self.version.fields(offset: offset, isComplete: false)
        if case .create = self.act { fields.append("Location", upload.name.path) }
        if self.version >= .v5 {
            let limits = self.session.area.limits
            fields.append("Upload-Limit", DraftVersion.limit(limits, expires: limits.expiry.components.seconds))
        }
        return Response(201, fields)
    }

    func interrupted() { self.session.release() }

    private func told(_ refusal: UploadRefusal) -> UploadRefusal {
        var refusal = refusal
        if !refusal.fields.contains(DraftVersion.field) {
            refusal.fields.append(DraftVersion.field, "\(self.version.rawValue)")
        }
        return refusal
    }
}
