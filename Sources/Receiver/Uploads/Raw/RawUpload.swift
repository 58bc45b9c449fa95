// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import Synchronization
internal import TransferCore

/// An upload whose file is the complete content of one PUT or POST.
///
/// An interrupted upload is deleted, because a later request cannot be matched with it.
///
/// - Source: RFC 9110 §9.3.3, §9.3.4.
final class RawUpload: UploadFlow {
    private let area: UploadArea
    private let place: LandingPlace
    private let facts: UploadFacts
    private let fields: HeaderFields
    private let length: Int64?
    private let expected: [ExpectedDigest]
    private let name = UploadName()
    private let sink = Mutex<UploadSink?>(nil)
    private let reservation = Mutex<NameReservation?>(nil)

    /// - Parameters:
    ///   - area: The area for the partial file.
    ///   - place: The destination.
    ///   - request: The request.
    ///   - facts: The facts to record.
    init(_ area: UploadArea, _ place: LandingPlace, _ request: Request, _ facts: UploadFacts) {
        self.area = area
        self.place = place
        self.facts = facts
        self.fields = request.head.fields
        self.length = request.head.contentLength
        // The content is the complete representation here, so both digest fields apply (RFC 9530 §2, §3).
        self.expected = DigestFields.representation(self.fields) + DigestFields.content(self.fields)
    }

    func open() throws(UploadRefusal) -> UploadOpening {
        // A PUT cannot replace a part of a file (RFC 9110 §14.5).
        guard self.fields["Content-Range"] == nil else {
            throw UploadRefusal(400, "a part of a file cannot be put; use tus or the resumable upload draft")
        }
        try self.area.admit(length: self.length)
        let reservation = try self.area.reserve(self.place, self.fields)
        let file = try self.area.makePart(self.name.part)
        self.reservation.withLock { $0 = reservation }
        let sink = UploadSink(
            file,
            bounds: self.area.bounds(length: self.length),
            budget: self.area.budget,
            // The record has the SHA-256.
            digests: Set(self.expected.map(\.algorithm) + (self.area.records == nil ? [] : [.sha256]))
        )
        self.sink.withLock { $0 = sink }
        return UploadOpening(sink: sink)
    }

    func finish() -> Response {
        guard let sink = self.sink.withLock({ $0 }) else { return .message(500, "nothing was opened") }
        do throws(UploadRefusal) {
            for digest in self.expected where sink.digest(digest.algorithm) != digest.bytes {
                throw UploadRefusal(400, "the content is not what \(digest.source) says; send it again")
            }
            try self.area.sync(sink.file)
            let landed = try self.area.land(
                self.name.part,
                sink.file,
                self.place,
                self.fields,
                of: self.name,
                from: self.facts.user
            )
            self.area.writeRecord(self.facts, of: landed) { sink.digest(.sha256) }
            self.releaseName()
            return UploadResponse.landed(landed)
        } catch {
            self.interrupted()
            return error.response
        }
    }

    func interrupted() {
        self.area.discard(self.name.part, size: self.sink.withLock { $0?.offset } ?? 0)
        self.releaseName()
    }

    private func releaseName() { self.reservation.withLock { $0?.release() } }
}

/// Responses that all uploads have in common.
enum UploadResponse {
    /// The file has landed: 201 (Created), or 204 (No Content) if it replaced another file.
    static func landed(_ file: LandedFile) -> Response {
        var fields = HeaderFields()
        fields.append("ETag", file.facts.entityTag)
        if let link = file.link { fields.append(ShareLink.field, link) }
        guard !file.hasReplaced else { return Response(204, fields) }
        fields.append("Location", file.path.url)
        return Response(201, fields)
    }
}
