// SPDX-License-Identifier: Apache-2.0
/// The file name that a Content-Disposition field proposes.
///
/// The name is from the server and not yet safe: see ``FileName``.
///
/// - Source: RFC 6266; RFC 8187 for `filename*`. Malformed fields are parsed as far as they are unambiguous.
package struct ContentDisposition: Hashable, Sendable {
    /// The disposition in lower case, such as `attachment`; empty if the field starts with a parameter.
    package var type: String
    /// The name: that of `filename*` if it can be decoded, otherwise that of `filename`; `nil` if it is empty.
    package var fileName: String?
    /// The name of a form's field (RFC 7578 §4.2), or `nil`.
    package var name: String?

    /// Parses a field's value.
    package init(_ field: String) {
        var scanner = ParameterScanner(field.utf8)
        var plain: String?
        var extended: String?
        self.type = ""
        if let first = scanner.leadingToken() { self.type = first }
        // The first of two parameters with one name wins.
        while let (name, value) = scanner.next() {
            switch name {
            case "name" where self.name == nil: self.name = String(decoding: value, as: UTF8.self)
            case "filename" where plain == nil: plain = String(decoding: value, as: UTF8.self)
            case "filename*" where extended == nil: extended = Self.decodeExtended(value)
            default: break
            }
        }
        if let extended, !extended.isEmpty {
            self.fileName = extended
        } else {
            self.fileName = plain.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    /// Decodes `charset'language'value`; `nil` for unsupported character sets and invalid bytes.
    private static func decodeExtended(_ value: [UInt8]) -> String? {
        let parts = value.split(separator: 0x27, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = PercentEncoding.decode(parts[2])
        switch String(decoding: parts[0].map(ASCII.lowercase), as: UTF8.self) {
        case "utf-8", "utf8":
            let text = String(decoding: bytes, as: UTF8.self)
            return text.utf8.elementsEqual(bytes) ? text : nil
        case "iso-8859-1", "latin1":
            return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }
}

/// Splits `type; name=value; name="value"` into its parts.
private struct ParameterScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: String.UTF8View) { self.bytes = Array(bytes) }

    private var byte: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private mutating func skipWhiteSpace() {
        while let byte = self.byte, byte <= 0x20 { self.index += 1 }
    }

    /// The text before the first `;`, unless it is already a parameter.
    mutating func leadingToken() -> String? {
        self.skipWhiteSpace()
        let end = self.bytes[self.index...].firstIndex { $0 == 0x3B || $0 == 0x3D } ?? self.bytes.count
        if end < self.bytes.count, self.bytes[end] == 0x3D { return nil }
        defer { self.index = end }
        return Self.lowercase(self.bytes[self.index..<end])
    }

    /// The next parameter: its name in lower case and the bytes of its value.
    mutating func next() -> (name: String, value: [UInt8])? {
        while self.index < self.bytes.count {
            while let byte = self.byte, byte <= 0x20 || byte == 0x3B { self.index += 1 }
            let start = self.index
            while let byte = self.byte, byte != 0x3D, byte != 0x3B { self.index += 1 }
            guard self.byte == 0x3D else { continue }
            let name = Self.lowercase(self.bytes[start..<self.index])
            self.index += 1
            self.skipWhiteSpace()
            return (name, self.byte == 0x22 ? self.quoted() : self.token())
        }
        return nil
    }

    private mutating func token() -> [UInt8] {
        let start = self.index
        while let byte = self.byte, byte != 0x3B { self.index += 1 }
        return Array(Self.trimmed(self.bytes[start..<self.index]))
    }

    private mutating func quoted() -> [UInt8] {
        self.index += 1
        var value: [UInt8] = []
        while let byte = self.byte, byte != 0x22 {
            // A backslash before any other character is one of an old Windows path, as in browsers.
            if byte == 0x5C, self.index + 1 < self.bytes.count, [0x22, 0x5C].contains(self.bytes[self.index + 1]) {
                self.index += 1
            }
            value.append(self.bytes[self.index])
            self.index += 1
        }
        while let byte = self.byte, byte != 0x3B { self.index += 1 }
        return value
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return bytes
    }

    private static func lowercase(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: self.trimmed(bytes).map(ASCII.lowercase), as: UTF8.self)
    }
}
