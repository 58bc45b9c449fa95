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
        guard request.method == "GET" || Self.isToken(request.method) else { return nil }
        if proxy == nil, request.fields["Host"] == nil {
            return request.url.withRequestParts { target, host in
                self.encode(request, target, host, proxy, allocator)
            }
        }
        // A proxy needs the absolute form (RFC 9112 §3.2.2).
        var target = proxy == nil ? request.url.requestTarget : request.url.withoutUserInfo
        var host = request.fields["Host"] ?? request.url.hostField
        return target.withUTF8 { target in
            host.withUTF8 { host in
                self.encode(request, UnsafeRawBufferPointer(target), UnsafeRawBufferPointer(host), proxy, allocator)
            }
        }
    }

    private static func encode(
        _ request: ExchangeRequest,
        _ target: UnsafeRawBufferPointer,
        _ host: UnsafeRawBufferPointer,
        _ proxy: ProxyServer?,
        _ allocator: ByteBufferAllocator
    ) -> ByteBuffer? {
        guard Self.isVisible(target), Self.isVisible(host) else { return nil }
        let keepsCredentials = proxy != nil && proxy?.authorization == nil
        var length = request.method.utf8.count + target.count + host.count + 32
        var hasOurs = false
        request.fields.forEachLine { name, value in
            hasOurs = hasOurs || Self.isOurs(name, keepsCredentials: keepsCredentials)
            length += name.count + value.count + 4
        }
        let block = hasOurs ? nil : request.fields.withSendableBlock { $0.count }
        guard block != nil || Self.isValid(request.fields) else { return nil }
        var buffer = allocator.buffer(capacity: length + 256)
        // Bounds: of the 32 bytes, the request line and the Host field need 20 in addition to their parts; each field line needs
        // 4 more, as it has in the block.
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { bytes in
            var writer = HeadWriter(bytes)
            writer.write(request.method)
            writer.write(" ")
            writer.write(target)
            writer.write(" HTTP/1.1\r\nHost: ")
            writer.write(host)
            writer.write("\r\n")
            if block != nil {
                request.fields.withSendableBlock { writer.write($0) }
            } else {
                request.fields.forEachLine { name, value in
                    guard !Self.isOurs(name, keepsCredentials: keepsCredentials) else { return }
                    writer.write(name)
                    writer.write(": ")
                    writer.write(value)
                    writer.write("\r\n")
                }
            }
            return writer.count
        }
        if let authorization = proxy?.authorization { Self.writeProxyAuthorization(authorization, to: &buffer) }
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

    /// Whether bytes have no spaces and no control characters.
    private static func isVisible(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for byte in bytes where byte <= 0x20 || byte == 0x7F { return false }
        return true
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(Byte.isTokenCharacter)
    }

    private static func isValid(_ fields: HeaderFields) -> Bool {
        var isValid = true
        fields.forEachLine { name, value in
            isValid = isValid && Self.isName(name) && value.allSatisfy(Self.isFieldByte)
        }
        return isValid
    }

    private static func isName(_ name: UnsafeRawBufferPointer) -> Bool {
        for byte in name where !Byte.isTokenCharacter(byte) { return false }
        return !name.isEmpty
    }

    private static func isFieldByte(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0x00 }
}

/// Writes texts one after another.
private struct HeadWriter {
    private let bytes: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ bytes: UnsafeMutableRawBufferPointer) { self.bytes = bytes }

    mutating func write(_ part: UnsafeRawBufferPointer) {
        // Bounds: `part` checks that the written bytes end inside the buffer, and the copy that the new ones do.
        self.bytes.part(self.count..<self.bytes.count).copyMemory(from: part)
        self.count += part.count
    }

    mutating func write(_ text: StaticString) {
        text.withUTF8Buffer { self.write(UnsafeRawBufferPointer($0)) }
    }

    @_disfavoredOverload
    mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { self.write(UnsafeRawBufferPointer($0)) }
    }
}
