// SPDX-License-Identifier: Apache-2.0
/// The reason why a text does not name a supported proxy.
public struct ProxyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The scheme is neither `http` nor `https`: usually a SOCKS proxy.
        case unsupportedScheme
        /// The text is not the URL of a proxy.
        case malformed
    }

    /// The kind of error.
    public var code: Code

    /// The problem, its location and how to fix it; contains nothing of the text, which may contain a password.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The problem, its location and how to fix it.
    public var description: String { self.message }
}
