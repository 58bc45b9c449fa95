// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import Platform
package import TransferCore

/// A request as it selects stored responses.
package struct CacheRequest: Sendable {
    /// The key of the responses to its URL.
    package let key: CacheKey
    package let fields: HeaderFields
    /// The trust of its session.
    package let trust: CacheTrust

    /// Creates a value.
    package init(_ key: CacheKey, _ fields: HeaderFields, _ trust: CacheTrust) {
        self.key = key
        self.fields = fields
        self.trust = trust
    }
}

/// The requests that select a stored response, as a salted digest: their fields may contain cookies and credentials.
package struct CacheSelection: Hashable, Sendable {
    let salt: [UInt8]
    let digest: [UInt8]

    init(salt: [UInt8], digest: [UInt8]) {
        self.salt = salt
        self.digest = digest
    }

    /// Creates the selection of a response by its request; `nil` if no request can select it.
    package init?(request: CacheRequest, response: HeaderFields) {
        self.init(salt: SystemRandom.bytes(16), request: request, response: response)
    }

    private init?(salt: [UInt8], request: CacheRequest, response: HeaderFields) {
        guard let selection = VaryRule.selection(of: request.fields, by: response) else { return nil }
        self.salt = salt
        self.digest = Array(SHA256.hash(data: salt + request.trust.digest + selection))
    }

    /// Whether a request selects the stored response.
    package func matches(_ request: CacheRequest, _ response: HeaderFields) -> Bool {
        CacheSelection(salt: self.salt, request: request, response: response)?.digest == self.digest
    }
}
