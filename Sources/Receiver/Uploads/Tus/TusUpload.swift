// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// A tus request with content: a POST that creates an upload, possibly with its first bytes, or a PATCH.
final class TusUpload: UploadFlow {
    /// The operation of the request.
    enum Act: Sendable {
        case create(LandingPlace, UploadFacts)
        case append(UploadName)
    }

    private let act: Act
    private let session: AppendSession
    private let fields: HeaderFields
    private let length: Int64?

    init(_ act: Act, _ request: Request, _ session: AppendSession) {
        self.act = act
        self.session = session
        self.fields = request.head.fields
        self.length = request.head.contentLength
    }

    private var hasContentType: Bool {
        let type = self.fields["Content-Type"]?.prefix { $0 != ";" && $0 != " " }
        return type?.lowercased() == TusProtocol.contentType
    }

    func open() throws(UploadRefusal) -> UploadOpening {
        do throws(UploadRefusal) {
            if let refusal = TusProtocol.versionRefusal(self.fields) { throw refusal }
            let checksum = try TusProtocol.checksum(self.fields["Upload-Checksum"])
            switch self.act {
            case .create(let place, let facts): return try self.create(place, facts, checksum)
            case .append(let name): return try self.append(name, checksum)
            }
        } catch {
            throw TusProtocol.told(error)
        }
    }

    private func create(
        _ place: LandingPlace,
        _ facts: UploadFacts,
        _ checksum: ExpectedDigest?
    ) throws(UploadRefusal) -> UploadOpening {
        let length = try TusProtocol.number(self.fields["Upload-Length"], "Upload-Length")
        guard (length != nil) != (self.fields["Upload-Defer-Length"] == "1") else {
            throw UploadRefusal(400, "either Upload-Length or 'Upload-Defer-Length: 1' is needed")
        }
        // creation-with-upload: content of another type does not belong to the file.
        if self.length != 0, !self.hasContentType {
            throw UploadRefusal(415, "content that begins an upload is \(TusProtocol.contentType)")
        }
        var facts = facts
        facts.fields = try TusProtocol.metadata(self.fields["Upload-Metadata"])
            .map { JSON.Member($0.key, .string($0.value)) }
        let upload = ResumableUpload(
            name: UploadName(),
            place: place,
            length: length,
            created: Timestamp.now,
            facts: facts,
            metadata: self.fields["Upload-Metadata"],
            conditions: ResumableUpload.conditions(of: self.fields),
            endsByLength: true
        )
        return UploadOpening(sink: try self.session.create(upload, checking: checksum))
    }

    private func append(_ name: UploadName, _ checksum: ExpectedDigest?) throws(UploadRefusal) -> UploadOpening {
        guard self.hasContentType else {
            throw UploadRefusal(415, "the content of PATCH is \(TusProtocol.contentType)")
        }
        guard let offset = try TusProtocol.number(self.fields["Upload-Offset"], "Upload-Offset") else {
            throw UploadRefusal(400, "Upload-Offset is missing")
        }
        let declared = try TusProtocol.number(self.fields["Upload-Length"], "Upload-Length")
        let sink = try self.session.resume(name, checking: checksum) { (standing) throws(UploadRefusal) in
            guard !standing.isComplete, offset == standing.offset else {
                var fields: HeaderFields = ["Upload-Offset": "\(standing.offset)"]
                if let link = self.session.area.link(of: standing) { fields.append(ShareLink.field, link) }
                throw UploadRefusal(409, "the upload has \(standing.offset) bytes", fields)
            }
            guard let declared else { return }
            guard standing.upload.length ?? declared == declared, declared >= standing.offset else {
                throw UploadRefusal(400, "Upload-Length differs from the one that is known")
            }
            try self.session.area.admit(length: declared - standing.offset, of: declared, from: standing.offset)
            standing.upload.length = declared
        }
        return UploadOpening(sink: sink)
    }

    func finish() -> Response {
        guard let sink = self.session.sink, let upload = self.session.upload else {
            return .message(500, "nothing was opened")
        }
        defer { self.session.release() }
        do throws(UploadRefusal) {
            if let checksum = try TusProtocol.checksum(self.fields["Upload-Checksum"]) {
                guard sink.digest(checksum.algorithm) == checksum.bytes else {
                    self.session.takeBack()
                    throw UploadRefusal(460, "the content is not what Upload-Checksum says; send it again")
                }
                try self.session.accept()
            }
            let isWhole = sink.offset == upload.length
            var link: String?
            if isWhole {
                link = try self.session.area.complete(upload, sink.file).link
            } else {
                // Only bytes on disk are acknowledged.
                try self.session.sync()
            }
            var response = self.response(upload, sink.offset, isWhole: isWhole)
            if let link { response.fields.append(ShareLink.field, link) }
            return response
        } catch {
            return TusProtocol.told(error).response
        }
    }

    private func response(_ upload: ResumableUpload, _ offset: Int64, isWhole: Bool) -> Response {
        var fields = [("Upload-Offset", "\(offset)")]
        if !isWhole {
            let expires = Timestamp.now + self.session.area.limits.expiry.components.seconds
            fields.append(("Upload-Expires", HTTPDate.format(expires)))
        }
        guard case .create = self.act else { return Response(204, TusProtocol.fields(fields)) }
        fields.append(("Location", upload.name.path))
        return Response(201, TusProtocol.fields(fields))
    }

    func interrupted() { self.session.release() }
}
