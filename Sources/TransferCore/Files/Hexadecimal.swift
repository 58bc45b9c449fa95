// SPDX-License-Identifier: Apache-2.0
/// Hexadecimal digits.
package enum Hexadecimal {
    /// The bytes, or `nil` if there is another character or an odd number of digits.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 2 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count / 2)
        var high: UInt8?
        for byte in text {
            guard let value = PercentEncoding.value(byte) else { return nil }
            if let first = high {
                output.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return output
    }

    /// The lower-case digits of bytes.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
