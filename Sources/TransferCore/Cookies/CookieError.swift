// SPDX-License-Identifier: Apache-2.0
/// The reason why a cookie is invalid.
public struct CookieError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The name contains an invalid character, or name and value are both missing.
        case badName
        /// The value contains an invalid character.
        case badValue
        /// The domain is not a host name.
        case badDomain
        /// The path does not start with `/`, or contains an invalid character.
        case badPath
        /// The cookie violates the rules of its name's prefix.
        case badPrefix
        /// The name and the value, or the path, are too long.
        case tooLong
        /// The domain is a public suffix, below which anyone can register names, such as `com`.
        case publicSuffix
        /// A line of a cookie file is malformed.
        case badLine
    }

    /// The kind of error.
    public var code: Code

    /// The problem and how to fix it; never contains the cookie's value.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The problem and how to fix it.
    public var description: String { self.message }
}
