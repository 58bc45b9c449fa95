// SPDX-License-Identifier: Apache-2.0
/// A response without success, for observers that need more than its status.
public final class FailedResponse: Sendable {
    /// The URL of the response.
    public let url: HTTPURL
    /// The head of the response.
    public let head: ResponseHead
    /// The first bytes of its body, at most ``prefixLimit``.
    public let prefix: [UInt8]

    /// The maximum number of stored bytes of a failed response's body.
    public static let prefixLimit = 16_384

    /// Creates a record of a response.
    package init(url: HTTPURL, head: ResponseHead, prefix: [UInt8]) {
        self.url = url
        self.head = head
        self.prefix = prefix
    }
}
