internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// Writes a request's head as it goes over the wire.
///
/// - Source: RFC 9112 §3.
enum RequestHead {
    /// The bytes of a request without content, or `nil` where a part of it would break the framing.
    static func encode(_ request: ExchangeRequest, allocator: ByteBufferAllocator) -> ByteBuffer? {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(Self.isToken) else { return nil }
        let target = request.url.requestTarget
        let host = request.url.hostField
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return nil }
        var buffer = allocator.buffer(capacity: 512)
        buffer.writeString(request.method)
        buffer.writeStaticString(" ")
        buffer.writeString(target)
        buffer.writeStaticString(" HTTP/1.1\r\nHost: ")
        buffer.writeString(host)
        buffer.writeStaticString("\r\n")
        var isValid = true
        request.fields.forEachLine { name, value in
            isValid =
                isValid && !name.isEmpty && name.allSatisfy(Self.isToken) && value.allSatisfy(Self.isFieldByte)
            buffer.writeBytes(name)
            buffer.writeStaticString(": ")
            buffer.writeBytes(value)
            buffer.writeStaticString("\r\n")
        }
        guard isValid else { return nil }
        buffer.writeStaticString("\r\n")
        return buffer
    }

    private static func isFieldByte(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0x00 }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
