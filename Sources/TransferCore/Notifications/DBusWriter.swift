// SPDX-License-Identifier: Apache-2.0
/// Marshals values of D-Bus in little-endian order.
///
/// Alignment counts from the start of the bytes, so each message and each body is written by one writer that starts at a
/// multiple of eight.
///
/// - Source: D-Bus Specification 0.42, "Marshaling (Wire Format)".
package struct DBusWriter {
    package private(set) var bytes: [UInt8] = []

    /// An empty message.
    package init() {}

    package mutating func align(to boundary: Int) { while self.bytes.count % boundary != 0 { self.bytes.append(0) } }

    package mutating func byte(_ value: UInt8) { self.bytes.append(value) }

    package mutating func integer(_ value: UInt32) {
        self.align(to: 4)
        for shift in stride(from: 0 as UInt32, to: 32, by: 8) {
            self.bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// A string or an object path; zero bytes, which D-Bus does not allow, are left out.
    package mutating func string(_ text: String) {
        let utf8 = text.utf8.filter { $0 != 0 }
        self.integer(UInt32(truncatingIfNeeded: utf8.count))
        self.bytes += utf8
        self.bytes.append(0)
    }

    /// A signature, of at most 255 bytes.
    package mutating func signature(_ text: StaticString) {
        self.bytes.append(UInt8(truncatingIfNeeded: text.utf8CodeUnitCount))
        text.withUTF8Buffer { self.bytes += $0 }
        self.bytes.append(0)
    }

    /// An array, whose elements have an alignment and are written by `elements`.
    package mutating func array(alignedTo boundary: Int, _ elements: (inout DBusWriter) -> Void) {
        self.integer(0)
        let place = self.bytes.count - 4
        // The padding before the first element does not belong to the length.
        self.align(to: boundary)
        let start = self.bytes.count
        elements(&self)
        let length = UInt32(truncatingIfNeeded: self.bytes.count - start)
        for index in 0..<4 { self.bytes[place + index] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(index))) }
    }

    package mutating func append(_ more: [UInt8]) { self.bytes += more }
}
