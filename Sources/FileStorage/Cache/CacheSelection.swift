// SPDX-License-Identifier: Apache-2.0
internal import Crypto
package import TransferCore

/// The request fields that select a stored response, as a salted digest: they may contain cookies and credentials.
package struct CacheSelection: Hashable, Sendable {
    let salt: [UInt8]
    let digest: [UInt8]

    init(salt: [UInt8], digest: [UInt8]) {
        self.salt = salt
        self.digest = digest
    }

    /// Creates the selection of a response by its request; `nil` if no request can select it.
    package init?(request: HeaderFields, response: HeaderFields) {
        self.init(salt: (0..<16).map { _ in UInt8.random(in: 0...255) }, request: request, response: response)
    }

    private init?(salt: [UInt8], request: HeaderFields, response: HeaderFields) {
        guard let selection = VaryRule.selection(of: request, by: response) else { return nil }
        self.salt = salt
        self.digest = Array(SHA256.hash(data: salt + selection))
    }

    /// Whether a request selects the stored response.
    package func matches(_ request: HeaderFields, _ response: HeaderFields) -> Bool {
        CacheSelection(salt: self.salt, request: request, response: response)?.digest == self.digest
    }
}
