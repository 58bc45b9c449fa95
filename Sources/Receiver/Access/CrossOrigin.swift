// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// Allows pages of configured origins to read responses (CORS), as tus clients in browsers require.
///
/// - Source: the Fetch standard, §3.2 (CORS protocol).
struct CrossOrigin: Sendable {
    private let policy: RequestPolicy

    /// - Parameter allowed: The allowed origins; a trailing `*` matches all origins with that prefix.
    init(allowed: [String]) { self.policy = RequestPolicy(listenHost: "", allowedOrigins: allowed) }

    /// Whether any origin is allowed.
    var isUsed: Bool { !self.policy.allowedOrigins.isEmpty }

    /// The header fields that pages may read, in addition to the safelisted ones.
    private static let exposed =
        "Location, ETag, Accept-Ranges, Content-Range, Repr-Digest, Tus-Resumable, Tus-Version, Tus-Extension, "
        + "Tus-Max-Size, Tus-Checksum-Algorithm, Upload-Offset, Upload-Length, Upload-Defer-Length, Upload-Metadata, "
        + "Upload-Expires, Upload-Complete, Upload-Incomplete, Upload-Limit, Upload-Draft-Interop-Version, Share-Link"

    /// The header fields to add to the response to a request.
    func fields(for head: RequestHead) -> [(String, String)] {
        guard self.isUsed else { return [] }
        guard let origin = head.fields["Origin"], self.policy.isAllowed(origin) else { return [("Vary", "Origin")] }
        var fields = [
            ("Vary", "Origin"), ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", Self.exposed),
        ]
        if head.method == "OPTIONS", head.fields["Access-Control-Request-Method"] != nil {
            fields.append(("Access-Control-Allow-Methods", "GET, HEAD, PUT, POST, PATCH, DELETE"))
            if let wanted = head.fields.joined("Access-Control-Request-Headers") {
                fields.append(("Access-Control-Allow-Headers", wanted))
            }
            fields.append(("Access-Control-Max-Age", "600"))
        }
        return fields
    }
}
