/// Why a text is not a URL that Martlet can transfer.
public struct HTTPURLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault.
    public enum Code: Hashable, Sendable {
        /// There is no text.
        case empty
        /// The text is longer than a mebibyte.
        case tooLong
        /// The text does not begin with a scheme.
        case missingScheme
        /// The scheme is neither `http` nor `https`.
        case unsupportedScheme(String)
        /// No host stands after the scheme.
        case missingHost
        /// The host is not a name or an address.
        case badHost
        /// The port is not a number from 1 to 65535.
        case badPort
        /// A control character, or another byte that a URL cannot hold.
        case badCharacter
    }

    /// The kind of fault.
    public var code: Code

    /// What, where and how to mend it; holds no password.
    public var message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// What, where and how to mend it.
    public var description: String { self.message }
}

extension HTTPURLError {
    /// Creates an error about a text, of which it shows a short and printable part without user information.
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
