// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The supported interop versions of the IETF resumable upload draft.
///
/// - Source: draft-ietf-httpbis-resumable-upload, interop versions 3 (`Upload-Incomplete`), 5 and 6 (`Upload-Complete`;
///   6 has a media type for PATCH and `Upload-Length`).
enum DraftVersion: Int, Sendable, Comparable {
    case v3 = 3
    case v5 = 5
    case v6 = 6

    static let field = "Upload-Draft-Interop-Version"
    /// The newest version, for responses to requests that name none.
    static let latest = DraftVersion.v6
    /// The media type of an append.
    static let contentType = "application/partial-upload"

    static func < (left: DraftVersion, right: DraftVersion) -> Bool { left.rawValue < right.rawValue }

    /// The version of a request; `nil` if it names no supported version.
    init?(fields: HeaderFields) {
        guard let text = fields["Upload-Draft-Interop-Version"], let number = Int(text) else { return nil }
        self.init(rawValue: number)
    }

    /// Whether the content of a request completes the upload; `nil` if the field is missing or malformed.
    func isComplete(_ fields: HeaderFields) -> Bool? {
        if self >= .v5 { return StructuredItem.boolean(fields["Upload-Complete"]) }
        return StructuredItem.boolean(fields["Upload-Incomplete"]).map { !$0 }
    }

    /// The header fields with the state of an upload.
    func fields(offset: Int64, isComplete: Bool) -> HeaderFields {
        var fields = HeaderFields()
        fields.append(Self.field, "\(self.rawValue)")
        if self >= .v5 {
            fields.append("Upload-Complete", isComplete ? "?1" : "?0")
        } else {
            fields.append("Upload-Incomplete", isComplete ? "?0" : "?1")
        }
        fields.append("Upload-Offset", "\(offset)")
        return fields
    }

    /// The response to HEAD.
    func standing(_ standing: UploadStanding, _ limits: ReceiverLimits) -> Response {
        var fields = self.fields(offset: standing.offset, isComplete: standing.isComplete)
        if self >= .v6, let length = standing.upload.length { fields.append("Upload-Length", "\(length)") }
        if self >= .v5, !standing.isComplete {
            fields.append(
                "Upload-Limit",
                Self.limit(limits, expires: standing.expires.subtracting(clamping: Timestamp.now))
            )
        }
        fields.append("Cache-Control", "no-store")
        return Response(204, fields)
    }

    /// The value of `Upload-Limit`.
    static func limit(_ limits: ReceiverLimits, expires: Int64? = nil) -> String {
        var parts = ["min-size=0"]
        if let limit = limits.upload { parts.append("max-size=\(limit)") }
        if let expires { parts.append("expires=\(max(0, expires))") }
        return parts.joined(separator: ", ")
    }
}
