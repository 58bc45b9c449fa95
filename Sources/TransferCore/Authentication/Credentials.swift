// SPDX-License-Identifier: Apache-2.0
/// The credentials of a configuration, by server.
///
/// They are never sent to another scheme, host or port.
public struct Credentials: Sendable {
    private var entries: [ProtectionSpace: Credential] = [:]

    /// Creates an empty collection.
    public init() {}

    /// All entries, by server and realm.
    package var all: [ProtectionSpace: Credential] { self.entries }

    /// Whether there are none.
    package var isEmpty: Bool { self.entries.isEmpty }

    /// Sets credentials for a server.
    ///
    /// - Parameters:
    ///   - credential: The credentials, or `nil` to remove them.
    ///   - url: Any URL of the server; only its scheme, host and port count.
    ///   - realm: The realm they are for, or `nil` for every realm without separate credentials.
    public mutating func set(_ credential: Credential?, for url: HTTPURL, realm: String? = nil) {
        self.entries[ProtectionSpace(origin: url.origin, realm: realm)] = credential
    }

    package mutating func set(_ credential: Credential, for space: ProtectionSpace) { self.entries[space] = credential }

    /// The credentials for a server's realm.
    public func credential(for space: ProtectionSpace) -> Credential? {
        self.entries[space] ?? self.entries[ProtectionSpace(origin: space.origin, realm: nil)]
    }

    /// The token that is sent with every request to an origin, without waiting for a challenge.
    package func token(for origin: Origin) -> Credential? {
        if case .bearer(let token) = self.entries[ProtectionSpace(origin: origin, realm: nil)] { return .bearer(token) }
        return nil
    }
}
