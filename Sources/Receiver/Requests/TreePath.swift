// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// A path below the served directory, as names that are resolved one after the other.
///
/// Pure value. Names are percent-decoded once, after the path was split, so an encoded slash does not separate names.
struct TreePath: Sendable, Hashable {
    /// The names: none is empty, `.` or `..`, and none contains a slash or NUL.
    var names: [String]
    var endsWithSlash: Bool

    /// The path of the served directory itself.
    static let root = TreePath(names: [], endsWithSlash: true)

    init(names: [String], endsWithSlash: Bool = false) {
        self.names = names
        self.endsWithSlash = endsWithSlash
    }

    /// Splits and decodes a path that starts with `/`; empty segments are ignored.
    ///
    /// - Throws: ``SyntaxError`` with a message for a person.
    init(parsing path: Substring) throws(SyntaxError) {
        var path = path
        self.endsWithSlash = path.utf8.last == 0x2F
        self.names = try path.withUTF8 { bytes in Result { () throws(SyntaxError) in try Self.names(in: bytes) } }.get()
    }

    private static func names(in path: UnsafeBufferPointer<UInt8>) throws(SyntaxError) -> [String] {
        var names: [String] = []
        var start = 0
        while start < path.count {
            // Bounds: `start <= end <= count`.
            var end = start
            while end < path.count, path[end] != 0x2F { end += 1 }
            if end > start {
                let name = try self.decode(path.part(start..<end))
                guard name != ".", name != ".." else { throw SyntaxError("the path holds a '.' or '..' segment") }
                guard name.utf8.count <= 255, names.count < 64 else { throw SyntaxError("the path is too long") }
                names.append(name)
            }
            start = end + 1
        }
        return names
    }

    /// Decodes a segment of a text.
    private static func decode(_ segment: UnsafeBufferPointer<UInt8>) throws(SyntaxError) -> String {
        if segment.allSatisfy({ $0 != 0x25 && $0 != 0 }) { return String(decoding: segment, as: UTF8.self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(segment.count)
        var rest = segment[...]
        while let byte = rest.popFirst() {
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(PercentEncoding.value),
                let low = rest.popFirst().flatMap(PercentEncoding.value)
            else { throw SyntaxError("the path holds a '%' that no two hexadecimal digits follow") }
            bytes.append(high << 4 | low)
        }
        guard !bytes.contains(0), !bytes.contains(0x2F) else {
            throw SyntaxError("the path holds a NUL or an encoded slash")
        }
        guard let name = String(validating: bytes, as: UTF8.self) else { throw SyntaxError("the path is not UTF-8") }
        return name
    }

    /// The last name, or `nil` for the served directory itself.
    var name: String? { self.names.last }

    /// The path of the parent directory.
    var parent: TreePath { TreePath(names: Array(self.names.dropLast()), endsWithSlash: true) }

    /// The percent-encoded path.
    var url: String {
        var bytes: [UInt8] = []
        for name in self.names {
            bytes.append(0x2F)
            bytes.append(contentsOf: Self.encode(name).utf8)
        }
        if self.endsWithSlash || bytes.isEmpty { bytes.append(0x2F) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Encodes a name as one URL segment: all but the unreserved characters of RFC 3986 are percent-encoded.
    static func encode(_ name: String) -> String {
        if name.utf8.allSatisfy(self.isUnreserved) { return name }
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            if self.isUnreserved(byte) { bytes.append(byte) } else { PercentEncoding.append(byte, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }
}
