// SPDX-License-Identifier: Apache-2.0
/// Serializes ASN.1 values with the Distinguished Encoding Rules, as far as certificates need them.
///
/// - Source: ITU-T X.690 §8, §10.
enum DER {
    static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + self.length(content.count) + content }

    /// A constructed value.
    static func value(_ tag: UInt8, _ parts: [[UInt8]]) -> [UInt8] { self.value(tag, parts.flatMap { $0 }) }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { self.value(0x30, parts) }
    static func set(_ parts: [UInt8]...) -> [UInt8] { self.value(0x31, parts) }
    /// A constructed value with a context-specific tag.
    static func context(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { self.value(0xA0 | number, content) }
    static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] { self.value(0x03, [unusedBits] + bytes) }
    static func octetString(_ bytes: [UInt8]) -> [UInt8] { self.value(0x04, bytes) }
    /// OBJECT IDENTIFIER from its encoded content.
    static func identifier(_ bytes: UInt8...) -> [UInt8] { self.value(0x06, bytes) }
    static func text(_ text: String) -> [UInt8] { self.value(0x0C, Array(text.utf8)) }
    static func boolean(_ value: Bool) -> [UInt8] { self.value(0x01, [value ? 0xFF : 0]) }

    /// Non-negative INTEGER from its big-endian bytes.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = Array(bytes.drop { $0 == 0 })
        if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
        return self.value(0x02, bytes)
    }

    /// A time of a certificate: UTCTime, `YYMMDDHHMMSSZ`, through 2049, and GeneralizedTime, `YYYYMMDDHHMMSSZ`, from
    /// 2050.
    ///
    /// - Source: RFC 5280 §4.1.2.5.
    static func time(_ seconds: Int64) -> [UInt8] {
        let text = Timestamp.compact(seconds).filter { $0 != "-" } + "Z"
        guard seconds < self.startOf2050 else { return self.value(0x18, Array(text.utf8)) }
        return self.value(0x17, Array(text.utf8.dropFirst(2)))
    }

    /// 2050-01-01T00:00:00Z, in seconds since 1970.
    private static let startOf2050: Int64 = 2_524_608_000

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(truncatingIfNeeded: count)] }
        var bytes: [UInt8] = []
        var rest = count
        while rest > 0 {
            bytes.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}
