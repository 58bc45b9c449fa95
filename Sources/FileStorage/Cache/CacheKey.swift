// SPDX-License-Identifier: Apache-2.0
internal import Crypto
package import TransferCore

/// The key of a stored response: a digest of the URL, so that the name of its file reveals none.
package struct CacheKey: Hashable, Sendable {
    /// SHA-256 of method and URL.
    let digest: [UInt8]

    /// Creates the key of the responses to `GET` for a URL; user information does not count.
    package init(_ url: HTTPURL) { self.digest = Array(SHA256.hash(data: Array("GET \(url.withoutUserInfo)".utf8))) }

    /// One of a number of places, evenly distributed.
    ///
    /// - Precondition: `count` is in 1...256.
    package func slot(of count: Int) -> Int { Int(self.digest[0]) % count }

    var fileName: String { Hexadecimal.encode(self.digest) + Self.suffix }

    private static let suffix = ".response"

    /// The key of a file; `nil` if it does not have the name of a stored response.
    init?(fileName: String) {
        guard fileName.hasSuffix(Self.suffix), fileName.utf8.count == 64 + Self.suffix.utf8.count,
            let digest = Hexadecimal.decode(fileName.utf8.prefix(64))
        else { return nil }
        self.digest = digest
    }
}
