// SPDX-License-Identifier: Apache-2.0
/// The elements of an array in a JSON text, found without building values.
///
/// A list of a million transfers is printed as it was received: parsing each element and writing it again would take
/// most of the time.
package struct JSONElements: Sendable {
    package let text: [UInt8]
    /// The places of the elements in ``text``, in order.
    package let ranges: [Range<Int>]

    /// Finds the elements of a member of an object.
    ///
    /// Only as much is checked as is needed to find their ends: what an element contains may be invalid. The result is
    /// `nil` if the text is not an object, or has no such member that is an array.
    ///
    /// - Parameters:
    ///   - name: The member's name, without characters that are escaped.
    ///   - text: An object.
    package init?(of name: String, in text: [UInt8]) {
        let wanted = Array("\"\(name)\"".utf8)
        let found: [Range<Int>]? = text.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(input: buffer)
            guard scanner.take(0x7B) else { return nil }
            while let member = scanner.value() {
                guard scanner.take(0x3A) else { return nil }
                if member.elementsEqual(wanted) { return scanner.elements() }
                guard scanner.value() != nil, scanner.take(0x2C) else { return nil }
            }
            return nil
        }
        guard let found else { return nil }
        self.text = text
        self.ranges = found
    }

    /// The first elements, each followed by a line feed.
    package func lines(_ most: Int = .max) -> [UInt8] {
        guard let first = self.ranges.first, let last = self.ranges.prefix(most).last else { return [] }
        var lines: [UInt8] = []
        lines.reserveCapacity(last.upperBound - first.lowerBound + 1)
        for range in self.ranges.prefix(most) {
            lines.append(contentsOf: self.text[range])
            lines.append(0x0A)
        }
        return lines
    }
}

/// Finds the ends of JSON values.
private struct JSONScanner {
    // Bounds: single bytes are read by `current` alone, which compares the position with the count. Slices begin at an earlier
    // position and end at one that is at most the count: only an unterminated string passes it, and that returns no value.
    let input: UnsafeBufferPointer<UInt8>
    var position = 0

    private var current: UInt8? { self.position < self.input.count ? self.input[self.position] : nil }

    private mutating func skipSpace() {
        while let byte = self.current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            self.position += 1
        }
    }

    /// Consumes white space and, if it follows, a byte.
    mutating func take(_ byte: UInt8) -> Bool {
        self.skipSpace()
        guard self.current == byte else { return false }
        self.position += 1
        return true
    }

    /// Consumes an array; returns the places of its elements, or `nil` if it is not one.
    mutating func elements() -> [Range<Int>]? {
        guard self.take(0x5B) else { return nil }
        var ranges: [Range<Int>] = []
        if self.take(0x5D) { return ranges }
        while true {
            guard let value = self.value() else { return nil }
            ranges.append(value.startIndex..<value.endIndex)
            if self.take(0x5D) { return ranges }
            guard self.take(0x2C) else { return nil }
        }
    }

    /// Consumes a value; returns its text, or `nil` if there is none or it does not end.
    mutating func value() -> Slice<UnsafeBufferPointer<UInt8>>? {
        self.skipSpace()
        let start = self.position
        var depth = 0
        while let byte = self.current {
            switch byte {
            case 0x22:
                guard self.string() else { return nil }
                if depth == 0 { return self.input[start..<self.position] }
                continue
            case 0x5B, 0x7B: depth += 1
            case 0x5D, 0x7D:
                depth -= 1
                if depth == 0 {
                    self.position += 1
                    return self.input[start..<self.position]
                }
                // The end of what contains a number or a literal.
                if depth < 0 { return self.position > start ? self.input[start..<self.position] : nil }
            case 0x2C, 0x3A, 0x20, 0x0A, 0x0D, 0x09:
                if depth == 0 { return self.position > start ? self.input[start..<self.position] : nil }
            default: break
            }
            self.position += 1
        }
        return nil
    }

    /// Consumes a string; returns false if it does not end.
    private mutating func string() -> Bool {
        self.position += 1
        while let byte = self.current {
            self.position += byte == 0x5C ? 2 : 1
            if byte == 0x22 { return true }
        }
        return false
    }
}
