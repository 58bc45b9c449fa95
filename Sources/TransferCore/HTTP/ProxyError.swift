/// Why a text names no proxy that Martlet can use.
public struct ProxyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public enum Code: Hashable, Sendable {
        /// The scheme is neither `http` nor `https`: most often a SOCKS proxy.
        case unsupportedScheme
        /// The text is no URL of a proxy.
        case malformed
    }

    /// The kind of fault.
    public var code: Code

    /// What, where and how to mend it; shows nothing of the text, which may hold a password.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What, where and how to mend it.
    public var description: String { self.message }
}
