// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore
internal import TransferEngine

/// Serializes the head of a request.
///
/// - Source: RFC 9112 §3.
enum RequestHeadEncoder {
    /// Serializes a request's head; `nil` if a part of it would break the framing.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - proxy: The proxy that receives the request, or `nil` for the origin.
    ///   - allocator: The allocator of the buffer.
    /// - Returns: The head, including its empty line.
    static func encode(
        _ request: ExchangeRequest,
        forwardedBy proxy: ProxyServer? = nil,
        allocator: ByteBufferAllocator
    ) -> ByteBuffer? {
        guard !request.method.isEmpty, request.method.utf8.allSatisfy(Byte.isTokenCharacter) else { return nil }
        // A proxy needs the absolute form (RFC 9112 §3.2.2).
        let target = proxy == nil ? request.url.requestTarget : request.url.withoutUserInfo
        let host = request.fields["Host"] ?? request.url.hostField
        guard Self.isVisible(target), Self.isVisible(host) else { return nil }
        var buffer = allocator.buffer(capacity: 512)
        buffer.writeString(request.method)
        buffer.writeStaticString(" ")
        buffer.writeString(target)
        buffer.writeStaticString(" HTTP/1.1\r\nHost: ")
        buffer.writeString(host)
        buffer.writeStaticString("\r\n")
        if let authorization = proxy?.authorization { Self.writeProxyAuthorization(authorization, to: &buffer) }
        let keepsCredentials = proxy != nil && proxy?.authorization == nil
        var isValid = true
        request.fields.forEachLine { name, value in
            isValid =
                isValid && !name.isEmpty && name.allSatisfy(Byte.isTokenCharacter) && value.allSatisfy(Self.isFieldByte)
            guard !Self.isOurs(name, keepsCredentials: keepsCredentials) else { return }
            let count = name.count + value.count + 4
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { line in
                // Bounds: NIO passes at least the `count` bytes that are asked for.
                line.copyMemory(from: name)
                line[name.count] = 0x3A
                line[name.count + 1] = 0x20
                line.part((name.count + 2)..<line.count).copyMemory(from: value)
                line[count - 2] = 0x0D
                line[count - 1] = 0x0A
                return count
            }
        }
        guard isValid else { return nil }
        if let length = request.content.map(\.length) ?? request.body.map({ Int64($0.count) }) {
            buffer.writeStaticString("Content-Length: ")
            buffer.writeString(String(length))
            buffer.writeStaticString("\r\n")
        } else if request.content != nil {
            buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
        }
        if request.continueTimeout != nil { buffer.writeStaticString("Expect: 100-continue\r\n") }
        buffer.writeStaticString("\r\n")
        return buffer
    }

    /// Serializes a CONNECT request.
    ///
    /// - Source: RFC 9110 §9.3.6.
    static func encodeConnect(
        to origin: Origin,
        by proxy: ProxyServer,
        userAgent: String?,
        allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        let place = Peer(origin).place
        var buffer = allocator.buffer(capacity: 512)
        buffer.writeString("CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n")
        if let authorization = proxy.authorization { Self.writeProxyAuthorization(authorization, to: &buffer) }
        if let userAgent, userAgent.utf8.allSatisfy(Self.isFieldByte) {
            buffer.writeString("User-Agent: \(userAgent)\r\n")
        }
        buffer.writeStaticString("\r\n")
        return buffer
    }

    private static func writeProxyAuthorization(_ value: String, to buffer: inout ByteBuffer) {
        buffer.writeStaticString("Proxy-Authorization: ")
        buffer.writeString(value)
        buffer.writeStaticString("\r\n")
    }

    /// Whether the transport writes a field itself or omits it.
    ///
    /// Checks the length first, because it distinguishes most fields.
    private static func isOurs(_ name: UnsafeRawBufferPointer, keepsCredentials: Bool) -> Bool {
        switch name.count {
        case 4: Self.equals(name, "host")
        case 10: Self.equals(name, "connection")
        case 14: Self.equals(name, "content-length")
        case 16: Self.equals(name, "proxy-connection")
        case 17: Self.equals(name, "transfer-encoding")
        case 19: !keepsCredentials && Self.equals(name, "proxy-authorization")
        default: false
        }
    }

    /// Whether a name equals a lower-case name of the same length, ignoring case.
    private static func equals(_ name: UnsafeRawBufferPointer, _ other: StaticString) -> Bool {
        // Bounds: the caller compared the lengths.
        other.withUTF8Buffer { other in
            for index in 0..<other.count where ASCII.lowercase(name[index]) != other[index] { return false }
            return true
        }
    }

    /// Whether a text has no spaces and no control characters.
    private static func isVisible(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
    }

    private static func isFieldByte(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0x00 }
}
