// SPDX-License-Identifier: Apache-2.0
/// A message of D-Bus, as far as a caller of one method needs it.
///
/// - Source: D-Bus Specification 0.42, "Message Protocol".
package struct DBusMessage: Hashable, Sendable {
    /// The types of messages.
    package enum Kind: UInt8, Hashable, Sendable {
        case call = 1
        case reply = 2
        case error = 3
        case signal = 4
    }

    /// The type; `nil` for one of a later version of the protocol, which is to be ignored.
    package var kind: Kind?
    /// The serial number of the call that this replies to.
    package var replySerial: UInt32?
    /// The name of the error, such as `org.freedesktop.DBus.Error.ServiceUnknown`.
    package var errorName: String?
    /// The first value of the body, if it is a string.
    package var text: String?
    /// The first value of the body, if it is an unsigned integer.
    package var number: UInt32?

    // MARK: Receiving

    /// The maximum size of a received message in bytes; the protocol allows 128 MiB.
    package static let longest = 64 << 10

    /// The result of looking for a message at the start of received bytes.
    package enum Parsing: Hashable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// A message, and its size in bytes.
        case message(DBusMessage, size: Int)
        /// The bytes are not a message, or too large a one.
        case invalid
    }

    /// Parses the message at the start of received bytes; nothing that they contain traps.
    package static func parse(_ bytes: ArraySlice<UInt8>) -> Parsing {
        guard let order = bytes.first else { return .incomplete }
        guard order == UInt8(ascii: "l") || order == UInt8(ascii: "B") else { return .invalid }
        let isLittle = order == UInt8(ascii: "l")
        var reader = DBusReader(bytes, isLittleEndian: isLittle)
        guard reader.skip(1) != nil, let kind = reader.byte(), reader.skip(1) != nil, let version = reader.byte(),
            let bodyLength = reader.integer(), reader.integer() != nil, let fieldsLength = reader.integer()
        else { return .incomplete }
        guard version == 1, bodyLength <= Self.longest, fieldsLength <= Self.longest else { return .invalid }
        let fieldsEnd = 16 + Int(fieldsLength)
        let bodyStart = (fieldsEnd + 7) / 8 * 8
        let size = bodyStart + Int(bodyLength)
        guard size <= Self.longest else { return .invalid }
        guard bytes.count >= size else { return .incomplete }
        let start = bytes.startIndex
        var message = DBusMessage()
        message.kind = Kind(rawValue: kind)
        var signature = ""
        var fields = DBusReader(bytes[start..<(start + fieldsEnd)], isLittleEndian: isLittle)
        guard fields.skip(16) != nil else { return .invalid }
        while !fields.isAtEnd {
            guard fields.align(to: 8) != nil, let code = fields.byte(), let type = fields.signature() else {
                return .invalid
            }
            switch type {
            case "s", "o":
                guard let text = fields.string() else { return .invalid }
                if code == 4 { message.errorName = text }
            case "g":
                guard let text = fields.signature() else { return .invalid }
                if code == 8 { signature = text }
            case "u":
                guard let number = fields.integer() else { return .invalid }
                if code == 5 { message.replySerial = number }
            default: return .invalid
            }
        }
        var body = DBusReader(bytes[(start + bodyStart)..<(start + size)], isLittleEndian: isLittle)
        switch signature.first {
        case "s": message.text = body.string()
        case "u": message.number = body.integer()
        default: break
        }
        return .message(message, size: size)
    }

    // MARK: Sending

    /// Marshals a method call.
    ///
    /// - Parameters:
    ///   - serial: Its serial number, not 0.
    ///   - destination: The name of the service.
    ///   - path: The object.
    ///   - interface: The interface.
    ///   - member: The method.
    ///   - signature: The types of the arguments; empty without any.
    ///   - body: Writes the arguments.
    /// - Returns: The bytes of the message.
    static func call(
        serial: UInt32,
        destination: String,
        path: String,
        interface: String,
        member: String,
        signature: StaticString = "",
        body: (inout DBusWriter) -> Void = { _ in }
    ) -> [UInt8] {
        var arguments = DBusWriter()
        body(&arguments)
        var message = DBusWriter()
        for byte in [UInt8(ascii: "l"), Kind.call.rawValue, 0, 1] { message.byte(byte) }
        message.integer(UInt32(truncatingIfNeeded: arguments.bytes.count))
        message.integer(serial)
        message.array(alignedTo: 8) { fields in
            for (code, type, text) in [
                (1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination),
            ] as [(UInt8, StaticString, String)] {
                fields.align(to: 8)
                fields.byte(code)
                fields.signature(type)
                fields.string(text)
            }
            if signature.utf8CodeUnitCount > 0 {
                fields.align(to: 8)
                fields.byte(8)
                fields.signature("g")
                fields.signature(signature)
            }
        }
        message.align(to: 8)
        message.append(arguments.bytes)
        return message.bytes
    }
}
