internal import TransferCore

/// Lets pages of allowed origins read the answers, as tus's clients in browsers must.
///
/// - Source: the Fetch standard, §3.2 (CORS protocol).
struct CrossOrigin: Sendable {
    private let policy: RequestPolicy

    /// - Parameter allowed: The origins whose pages may; one that ends with `*` stands for all that begin like it.
    init(allowed: [String]) { self.policy = RequestPolicy(listenHost: "", allowedOrigins: allowed) }

    /// Whether there is any such origin.
    var isUsed: Bool { !self.policy.allowedOrigins.isEmpty }

    /// What pages may see beside the safelisted fields.
    private static let exposed =
        "Location, ETag, Accept-Ranges, Content-Range, Repr-Digest, Tus-Resumable, Tus-Version, Tus-Extension, "
        + "Tus-Max-Size, Tus-Checksum-Algorithm, Upload-Offset, Upload-Length, Upload-Defer-Length, Upload-Metadata, "
        + "Upload-Expires, Upload-Complete, Upload-Incomplete, Upload-Limit, Upload-Draft-Interop-Version"

    /// The fields to add to the answer to a request.
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
