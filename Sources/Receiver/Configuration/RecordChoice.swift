/// Which facts of an upload are kept beside the file.
public struct RecordChoice: Sendable, Hashable {
    /// The names of cookies whose values are kept, as they were written.
    public var cookies: [String]
    /// The names of header fields whose values are kept.
    public var headers: [String]

    /// Fields that hold credentials, and are never kept.
    static let forbidden: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "proxy-authenticate",
        "authentication-info",
    ]

    /// Creates a choice.
    ///
    /// - Throws: ``ReceiverError`` with `credentials` where a header is one that holds credentials.
    public init(cookies: [String] = [], headers: [String] = []) throws(ReceiverError) {
        for name in headers where Self.forbidden.contains(name.lowercased()) {
            throw ReceiverError(
                .credentials,
                "the field \(name) holds credentials, which are not kept; choose another (single cookies have an option)"
            )
        }
        self.cookies = cookies
        self.headers = headers
    }
}
