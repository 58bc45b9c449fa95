/// A response that was no success, for those who want to know more of it than its status.
public final class FailedResponse: Sendable {
    /// The URL that answered.
    public let url: HTTPURL
    /// The response's head.
    public let head: ResponseHead
    /// The first bytes of its body, at most ``prefixLimit``.
    public let prefix: [UInt8]

    /// The most bytes of a failed response's body that are kept.
    public static let prefixLimit = 16_384

    /// Creates a record of a response.
    package init(url: HTTPURL, head: ResponseHead, prefix: [UInt8]) {
        self.url = url
        self.head = head
        self.prefix = prefix
    }
}
