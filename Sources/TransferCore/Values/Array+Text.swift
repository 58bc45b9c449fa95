// SPDX-License-Identifier: Apache-2.0
extension [UInt8] {
    /// Appends the bytes of a text.
    ///
    /// `append(contentsOf: text.utf8)` iterates over a view, which costs about three times as much for a short text.
    package mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { self.append(contentsOf: $0) }
    }

    /// Appends a number in decimal digits.
    package mutating func append(decimal number: Int64) {
        if number < 0 { self.append(0x2D) }
        let magnitude = number.magnitude
        var unit: UInt64 = 1
        while magnitude / unit >= 10 { unit *= 10 }
        while unit > 0 {
            self.append(0x30 + UInt8(truncatingIfNeeded: magnitude / unit % 10))
            unit /= 10
        }
    }
}
