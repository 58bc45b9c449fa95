// SPDX-License-Identifier: Apache-2.0
/// The scope of a credential: a realm of one server or proxy.
///
/// - Source: RFC 9110 §11.5.
public struct ProtectionSpace: Hashable, Sendable {
    /// Scheme, host and port of the server or of the proxy.
    public let origin: Origin
    /// The realm of the challenge, or `nil` if it has none.
    public let realm: String?
    /// Whether a proxy requires the credential.
    public let isProxy: Bool

    /// Creates a protection space.
    public init(origin: Origin, realm: String?, isProxy: Bool = false) {
        self.origin = origin
        self.realm = realm
        self.isProxy = isProxy
    }
}
