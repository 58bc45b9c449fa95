// SPDX-License-Identifier: Apache-2.0
/// The facts of an upload that are recorded next to the file.
public struct RecordChoice: Sendable, Hashable {
    /// The names of cookies whose values are recorded.
    public var cookies: [String]
    /// The names of header fields whose values are recorded.
    public var headers: [String]

    /// Fields that carry credentials; they are never recorded.
    static let forbidden: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "proxy-authenticate",
        "authentication-info",
    ]

    /// Creates a choice.
    ///
    /// - Throws: ``ReceiverError`` with `credentials` if a header field carries credentials.
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
