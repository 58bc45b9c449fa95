// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Computes the response to GET and HEAD for a file.
///
/// It makes no system calls; the open file is only passed on.
struct FileResponse {
    /// The file's name, for its media type.
    var name: String
    /// The file's metadata.
    var facts: FileFacts
    /// The digest of the complete file as a `Repr-Digest` value, if it is requested and known.
    var digest: String?
    /// Whether the response has `Content-Disposition: attachment`.
    var isAttachment = false
    /// Whether `Range` is evaluated: RFC 9110 §14.2 defines it for GET only.
    var hasRanges = true

    /// Computes the response.
    ///
    /// - Parameters:
    ///   - fields: The request header fields.
    ///   - file: The open file.
    ///   - now: The current time, in seconds since 1970.
    /// - Returns: A response with the complete file or a range of it, 304, or an error response.
    /// - Source: RFC 9110 §13.2.2, §14.
    func response(_ fields: HeaderFields, _ file: OpenFile, now: Int64) -> Response {
        switch Conditions.verdict(fields, self.facts.state, isRead: true) {
        case .failed: return Response.message(412, "the file is in another state than the request asks for")
        case .notModified: return Response(304, self.validators(now))
        case .proceed: break
        }
        var range = ByteRangeRequest.whole
        if self.hasRanges, let field = fields["Range"],
            Conditions.heedsRange(fields["If-Range"], self.facts.state, now: now)
        {
            range = ByteRangeRequest.of(field, length: self.facts.length)
        }
        switch range {
        case .whole:
            return Response(200, self.representation(now), self.content(file, 0..<self.facts.length))
        case .part(let part):
            var fields = self.representation(now)
            fields.append("Content-Range", "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(self.facts.length)")
            return Response(206, fields, self.content(file, part))
        case .unsatisfiable:
            return Response.message(416, "the file has \(self.facts.length) bytes")
                .adding("Content-Range", "bytes */\(self.facts.length)")
        }
    }

    private func content(_ file: OpenFile, _ range: Range<Int64>) -> Response.Content {
        range.isEmpty ? .none : .file(file, range)
    }

    /// The fields that a 304 also carries (RFC 9110 §15.4.5).
    ///
    /// `Last-Modified` is never in the future (§8.8.2.1).
    private func validators(_ now: Int64, after others: HeaderFields = [:]) -> HeaderFields {
        var fields = others
        fields.reserve(bytes: 448, lines: 10)
        fields.append("ETag", self.facts.entityTag)
        fields.append("Last-Modified", HTTPDate.format(min(self.facts.modified, now)))
        return fields
    }

    /// The fields of every file: pages of other origins must not embed one.
    private static let constant: HeaderFields = [
        "Accept-Ranges": "bytes", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
    ]

    private func representation(_ now: Int64) -> HeaderFields {
        let type = MediaType.of(self.name)
        var fields = self.validators(now, after: Self.constant)
        fields.append("Content-Type", type)
        if MediaType.isActive(type) {
            // Uploaded files are not trusted. The sandbox gives a page an opaque origin, so that its requests to this
            // server are cross-origin.
            fields.append(
                "Content-Security-Policy",
                "sandbox allow-scripts allow-forms allow-popups allow-downloads; frame-ancestors 'self'"
            )
        }
        if let digest = self.digest { fields.append("Repr-Digest", digest) }
        if self.isAttachment {
            fields.append("Content-Disposition", "attachment; filename*=UTF-8''\(TreePath.encode(self.name))")
        }
        return fields
    }
}
