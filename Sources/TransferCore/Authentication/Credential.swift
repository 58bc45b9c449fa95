/// What a user proves who they are with.
///
/// No way of printing it shows anything secret; the user's name is left out too, for some services take a token in its
/// place.
public enum Credential: Hashable, Sendable {
    /// A name and a password, for Basic and Digest.
    case password(user: String, password: String)
    /// A token, for Bearer.
    case bearer(_ token: String)

    /// The value of an Authorization field that can be sent without a challenge; `nil` where it cannot be written.
    ///
    /// Basic for a password, which whoever reads along can read: send it by https, or when a server asks for it.
    public var authorization: String? {
        switch self {
        case .password(let user, let password): BasicAuthentication.authorization(user: user, password: password)
        case .bearer(let token): BearerAuthentication.authorization(token: token)
        }
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind of credential, and nothing of it.
    public var description: String {
        switch self {
        case .password: "password(…)"
        case .bearer: "bearer(…)"
        }
    }

    /// The kind of credential, and nothing of it.
    public var debugDescription: String { self.description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
