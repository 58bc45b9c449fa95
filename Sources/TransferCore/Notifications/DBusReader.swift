// SPDX-License-Identifier: Apache-2.0
/// Unmarshals values of D-Bus; every read is checked against the end of the bytes.
///
/// - Source: D-Bus Specification 0.42, "Marshaling (Wire Format)".
package struct DBusReader {
    private let bytes: ArraySlice<UInt8>
    private let isLittle: Bool
    /// The offset from the start of the bytes.
    private(set) var offset = 0

    package init(_ bytes: ArraySlice<UInt8>, isLittleEndian: Bool) {
        self.bytes = bytes
        self.isLittle = isLittleEndian
    }

    package var isAtEnd: Bool { self.offset >= self.bytes.count }

    /// Skips the padding before a value; `nil` if it is missing.
    package mutating func align(to boundary: Int) -> Void? {
        let rest = self.offset % boundary
        return rest == 0 ? () : self.skip(boundary - rest)
    }

    package mutating func skip(_ count: Int) -> Void? {
        guard count >= 0, count <= self.bytes.count - self.offset else { return nil }
        self.offset += count
        return ()
    }

    package mutating func byte() -> UInt8? {
        guard self.offset < self.bytes.count else { return nil }
        defer { self.offset += 1 }
        return self.bytes[self.bytes.startIndex + self.offset]
    }

    package mutating func integer() -> UInt32? {
        guard self.align(to: 4) != nil, self.bytes.count - self.offset >= 4 else { return nil }
        var value: UInt32 = 0
        for index in 0..<4 {
            let byte = UInt32(self.bytes[self.bytes.startIndex + self.offset + index])
            value |= byte << (8 * UInt32(self.isLittle ? index : 3 - index))
        }
        self.offset += 4
        return value
    }

    /// A string or an object path; invalid UTF-8 is repaired.
    package mutating func string() -> String? { self.integer().flatMap { self.text(Int($0)) } }

    package mutating func signature() -> String? { self.byte().flatMap { self.text(Int($0)) } }

    /// A text of a length, with its terminating zero byte.
    private mutating func text(_ length: Int) -> String? {
        let start = self.bytes.startIndex + self.offset
        guard self.skip(length) != nil, self.byte() == 0 else { return nil }
        return String(decoding: self.bytes[start..<(start + length)], as: UTF8.self)
    }
}
