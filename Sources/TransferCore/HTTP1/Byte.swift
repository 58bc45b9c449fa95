// SPDX-License-Identifier: Apache-2.0
/// The bytes named in HTTP/1's grammar.
package enum Byte {
    static let nul: UInt8 = 0x00
    static let tab: UInt8 = 0x09
    static let lf: UInt8 = 0x0A
    static let cr: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let comma: UInt8 = 0x2C
    static let zero: UInt8 = 0x30
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B

    @inline(__always)
    static func isBlank(_ byte: UInt8) -> Bool { byte == Self.space || byte == Self.tab }

    /// Whether the byte is valid in a token (RFC 9110 §5.6.2).
    @inline(__always)
    package static func isTokenCharacter(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        // One bit for each of `!#$%&'*+-.^_`|~`, digits and letters.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        return (byte < 0x40 ? low >> UInt64(byte) : high >> UInt64(byte - 0x40)) & 1 == 1
    }

    /// The value of a hexadecimal digit, or `nil`.
    @inline(__always)
    static func hexValue(_ byte: UInt8) -> Int64? {
        switch byte {
        case 0x30...0x39: Int64(byte - 0x30)
        case 0x41...0x46: Int64(byte - 0x41 + 10)
        case 0x61...0x66: Int64(byte - 0x61 + 10)
        default: nil
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The offset of the first byte from `start` on that is less than 0x0E, such as NUL, HT, LF and CR; `count` if there is none.
    ///
    /// Eight bytes at a time: of the differences `byte - 0x0E`, the first that borrows marks such a byte.
    ///
    /// - Precondition: `start` is in `0...count`.
    @inline(__always)
    func firstControl(from start: Int) -> Int {
        // Bounds: a word is loaded only if eight bytes are left, a byte only if one is.
        var index = start
        while self.count - index >= 8 {
            let word = UInt64(littleEndian: self.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let marks = (word &- 0x0E0E_0E0E_0E0E_0E0E) & ~word & 0x8080_8080_8080_8080
            if marks != 0 { return index + marks.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < self.count, self[index] >= 0x0E { index += 1 }
        return index
    }

    /// The bytes without leading and trailing blanks.
    func trimmed() -> UnsafeRawBufferPointer {
        // Bounds: 0 <= start <= end <= count throughout; a byte is read only if start < end.
        var start = 0
        var end = self.count
        while start < end, Byte.isBlank(self[start]) { start += 1 }
        while end > start, Byte.isBlank(self[end - 1]) { end -= 1 }
        return self.part(start..<end)
    }

    /// Whether the bytes equal this lower-case text, ignoring ASCII case.
    func matches(_ text: StaticString) -> Bool {
        guard self.count == text.utf8CodeUnitCount else { return false }
        // Bounds: both have the same count.
        return text.withUTF8Buffer { wanted in
            for index in 0..<self.count where ASCII.lowercase(self[index]) != wanted[index] { return false }
            return true
        }
    }

    /// Calls `body` with each non-empty element of a comma-separated list.
    func forEachListElement<Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var start = 0
        while start <= self.count {
            var end = start
            while end < self.count, self[end] != Byte.comma { end += 1 }
            let element = self.part(start..<end).trimmed()
            if !element.isEmpty { try body(element) }
            start = end + 1
        }
    }
}
