// SPDX-License-Identifier: Apache-2.0
extension JSON {
    /// The value as JSON text in one line.
    public var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// The value as UTF-8 JSON text in one line.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        self.write(to: &bytes)
        return bytes
    }

    /// Appends the value as UTF-8 JSON text.
    public func write(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): Self.write(value, to: &bytes)
        case .number(let value):
            bytes.append(contentsOf: (value.isFinite ? "\(value)" : "null").utf8)
        case .literal(let text): bytes.append(contentsOf: text.utf8)
        case .string(let value): Self.write(value, to: &bytes)
        case .array(let elements):
            bytes.append(0x5B)
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                element.write(to: &bytes)
            }
            bytes.append(0x5D)
        case .object(let members):
            bytes.append(0x7B)
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(0x2C) }
                Self.write(member.name, to: &bytes)
                bytes.append(0x3A)
                member.value.write(to: &bytes)
            }
            bytes.append(0x7D)
        }
    }

    private static func write(_ integer: Int64, to bytes: inout [UInt8]) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = integer.magnitude
        repeat {
            bytes.append(UInt8(truncatingIfNeeded: 0x30 + rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    private static func write(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(0x22)
        var string = string
        string.withUTF8 { buffer in
            // Most strings have nothing to escape: they are looked through and copied whole.
            var escapes = false
            for byte in buffer where byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F { escapes = true }
            guard escapes else { return bytes.append(contentsOf: buffer) }
            // Bounds: `start` is after an earlier index, so at most the current one, and at most the count after the loop.
            var start = 0
            for (index, byte) in buffer.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F {
                bytes.append(contentsOf: buffer[start..<index])
                Self.escape(byte, to: &bytes)
                start = index + 1
            }
            bytes.append(contentsOf: buffer[start...])
        }
        bytes.append(0x22)
    }

    private static func escape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(0x5C)
        switch byte {
        case 0x22, 0x5C: bytes.append(byte)
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(Self.digit(byte >> 4))
            bytes.append(Self.digit(byte & 0xF))
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x61 + value - 10 }
}
