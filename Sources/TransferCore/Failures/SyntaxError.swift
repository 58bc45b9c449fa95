// SPDX-License-Identifier: Apache-2.0
/// The reason why a text cannot be used: a URL, a proxy, a digest, a pinned key, a cookie, the value of an option, JSON, XML, a
/// table that is malformed or cannot be read, or the arguments of a command.
public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// None of the others.
        case malformed

        // MARK: URLs

        /// The text is empty.
        case empty
        /// The text is longer than a mebibyte; of a cookie, the name and the value, or the path, are too long.
        case tooLong
        /// The text does not start with a scheme.
        case missingScheme
        /// The scheme is neither `http` nor `https`; of a proxy, it is usually a SOCKS proxy.
        case unsupportedScheme(String)
        /// No host follows the scheme.
        case missingHost
        /// The host is not a name or an address.
        case badHost
        /// The port is not a number from 1 to 65535.
        case badPort
        /// A control character, or another byte that is invalid in a URL.
        case badCharacter

        // MARK: Cookies

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
        /// The domain is a public suffix, below which anyone can register names, such as `com`.
        case publicSuffix
        /// A line of a cookie file is malformed.
        case badLine

        // MARK: Options

        /// Not a value of an option: the message is the words after the quoted value, such as `is not a size`.
        case optionValue
    }

    /// The kind of error.
    public var code: Code

    /// The problem, its location and how to fix it; never contains a password or a cookie's value.
    public var message: String

    /// The accepted form, such as `a number of bytes such as 500K`; `nil` if the message says it.
    public var remedy: String?

    /// The position of the error in the text in bytes, from 0; `nil` if the message says it.
    public var offset: Int?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - message: The problem, its location and how to fix it.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Creates an error with the code ``Code/malformed``.
    ///
    /// - Parameters:
    ///   - message: The problem, its location and how to fix it.
    ///   - offset: The position in bytes, if the message does not say it.
    public init(_ message: String, offset: Int? = nil) {
        self.init(.malformed, message)
        self.offset = offset
    }

    /// The error of a value of an option, whose message begins with the value.
    ///
    /// - Parameters:
    ///   - complaint: The words after the value, such as `is not a size`.
    ///   - wanted: The accepted form, or `nil` if the complaint says it.
    /// - Returns: The error.
    package static func option(_ complaint: String, write wanted: String? = nil) -> Self {
        var error = Self(.optionValue, complaint)
        error.remedy = wanted
        return error
    }

    /// The message, and the position.
    public var description: String { self.offset.map { "\(self.message) at byte \($0)" } ?? self.message }
}

extension SyntaxError {
    /// Creates an error about a text, of which it includes a short and printable part without user information.
    init(_ code: Code, at text: some Sequence<UInt8>, _ reason: String) {
        self.init(code, "\(Self.printable(text)): \(reason)")
    }

    private static func printable(_ text: some Sequence<UInt8>) -> String {
        var bytes = Array(text.prefix(2048))
        let colon = bytes.indices.dropLast(2).first { bytes[$0...].starts(with: "://".utf8) }
        let authority = bytes[(colon.map { $0 + 3 } ?? 0)...].drop { $0 == 0x2F }
        let end = authority.firstIndex { [0x2F, 0x3F, 0x23].contains($0) } ?? authority.endIndex
        if let at = authority[..<end].lastIndex(of: 0x40) { bytes.removeSubrange(authority.startIndex...at) }
        var shown = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars.prefix(120) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: shown += scalar.escaped(asASCII: true)
            default: shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }
}
