/// Why a text is not a cookie.
public struct CookieError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public enum Code: Hashable, Sendable {
        /// The name holds a character that none may hold, or name and value are both missing.
        case badName
        /// The value holds a character that none may hold.
        case badValue
        /// The domain is no host's name.
        case badDomain
        /// The path does not begin with `/`, or holds a character that none may hold.
        case badPath
        /// The name's prefix promises what the cookie does not keep.
        case badPrefix
        /// The name and the value, or the path, are too long.
        case tooLong
        /// The domain is one below which anybody can register names, such as `com`.
        case publicSuffix
        /// A line of a cookie file is malformed.
        case badLine
    }

    /// The kind of fault.
    public var code: Code

    /// What and how to mend it; never holds the cookie's value.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What and how to mend it.
    public var description: String { self.message }
}
