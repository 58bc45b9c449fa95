// SPDX-License-Identifier: Apache-2.0
/// The reason why a text is not a supported URL.
public struct HTTPURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error.
    public enum Code: Hashable, Sendable {
        /// The text is empty.
        case empty
        /// The text is longer than a mebibyte.
        case tooLong
        /// The text does not start with a scheme.
        case missingScheme
        /// The scheme is neither `http` nor `https`.
        case unsupportedScheme(String)
        /// No host follows the scheme.
        case missingHost
        /// The host is not a name or an address.
        case badHost
        /// The port is not a number from 1 to 65535.
        case badPort
        /// A control character, or another byte that is invalid in a URL.
        case badCharacter
    }

    /// The kind of error.
    public var code: Code

    /// The problem, its location and how to fix it; contains no password.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The problem, its location and how to fix it.
    public var description: String { self.message }
}

extension HTTPURLError {
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
