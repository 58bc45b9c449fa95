// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer

/// A credential of a client, and the rights it grants.
///
/// Only digests of secrets are kept.
public struct AccessCredential: Sendable {
    /// How a client presents the credential.
    public enum Kind: String, Sendable {
        /// `Authorization: Bearer SECRET`, or as the password of any user with Basic.
        case token
        /// `Authorization: Basic` with a name and a password.
        case basic
        /// The value of the session cookie.
        case session
    }

    let kind: Kind
    let check: TokenCheck
    /// The user's name, for the log and the records.
    let user: String?
    let rights: Rights

    /// Creates a credential.
    ///
    /// - Parameters:
    ///   - kind: How a client presents it.
    ///   - secret: The token, `NAME:PASSWORD` for Basic, or the cookie's value.
    ///   - rights: The rights that it grants.
    public init(_ kind: Kind, secret: String, rights: Rights) {
        self.kind = kind
        self.check = TokenCheck(secret)
        self.rights = rights
        self.user = kind == .basic ? String(secret.prefix { $0 != ":" }) : nil
    }

    /// Parses a list: each line has rights, a kind and a secret, separated by blanks; `#` starts a comment.
    ///
    ///     read,list        token    6f0c…
    ///     read,write,list  basic    anna:a password may have blanks
    ///     write            session  9b1d…
    ///
    /// - Throws: ``ReceiverError`` with `credentials` and the number of the malformed line; the line itself is not
    ///   repeated, because it may contain a secret.
    public static func list(parsing text: String, source: String) throws(ReceiverError) -> [AccessCredential] {
        var credentials: [AccessCredential] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(maxSplits: 2) { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 3, let rights = Rights(parsing: String(first)),
                let kind = Kind(rawValue: String(words[1]))
            else {
                throw ReceiverError(
                    .credentials,
                    "line \(index + 1) of \(source) is not a credential; write RIGHTS KIND SECRET, such as "
                        + "'read,list basic anna:password' (kinds: token, basic, session)"
                )
            }
            var secret = words[2].drop { $0 == " " || $0 == "\t" }
            while let last = secret.last, last == " " || last == "\t" || last == "\r" || last == "\r\n" {
                secret.removeLast()
            }
            guard kind != .basic || secret.contains(":"), secret.utf8.count >= 1 else {
                throw ReceiverError(.credentials, "line \(index + 1) of \(source) has no password; write NAME:PASSWORD")
            }
            credentials.append(AccessCredential(kind, secret: String(secret), rights: rights))
        }
        guard !credentials.isEmpty else {
            throw ReceiverError(.credentials, "\(source) holds no credential; write RIGHTS KIND SECRET on a line of it")
        }
        return credentials
    }
}
