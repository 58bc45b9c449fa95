// SPDX-License-Identifier: Apache-2.0
/// Hexadecimal digits.
package enum Hexadecimal {
    /// The bytes, or `nil` if there is another character or an odd number of digits.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        // An array: other modules cannot specialize this function.
        let text = Array(text)
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
        let bytes = Array(bytes)
        return String(unsafeUninitializedCapacity: bytes.count * 2) { output in
            for (index, byte) in bytes.enumerated() {
                output[2 * index] = Self.digit(byte >> 4)
                output[2 * index + 1] = Self.digit(byte & 15)
            }
            return bytes.count * 2
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
