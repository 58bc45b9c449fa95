// SPDX-License-Identifier: Apache-2.0
/// A user's credentials for a server or a proxy.
///
/// Its descriptions contain nothing secret; they omit the user name as well, because some services accept a token in
/// its place.
public enum Credential: Hashable, Sendable {
    /// A user name and a password, for Basic and Digest.
    case password(user: String, password: String)
    case bearer(_ token: String)

    /// The value of an Authorization field that can be sent without a challenge; `nil` if it cannot be encoded.
    ///
    /// Basic for a password, which an eavesdropper can read: send it over https, or when a server requires it.
    public var authorization: String? {
        switch self {
        case .password(let user, let password): BasicAuthentication.authorization(user: user, password: password)
        case .bearer(let token): BearerAuthentication.authorization(token: token)
        }
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of credential only.
    public var description: String {
        switch self {
        case .password: "password(…)"
        case .bearer: "bearer(…)"
        }
    }

    /// The kind of credential only.
    public var debugDescription: String { self.description }

    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
