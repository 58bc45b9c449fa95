// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore

/// Serializes the status line and the header fields of a response.
///
/// - Source: RFC 9112 §4, §5.
enum ResponseSerializer {
    /// Appends an interim response.
    static func write(interim status: Int, _ fields: HeaderFields, to buffer: inout ByteBuffer) {
        self.writeStatus(status, to: &buffer)
        self.write(fields, to: &buffer)
        buffer.writeStaticString("\r\n")
    }

    /// Appends the head of a final response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - date: The value of `Date`.
    ///   - isOld: Whether the client uses HTTP/1.0, where connections close by default.
    ///   - closes: Whether the connection closes after the response.
    ///   - buffer: The buffer to append to.
    static func write(_ response: Response, date: String, isOld: Bool, closes: Bool, to buffer: inout ByteBuffer) {
        self.writeStatus(response.status, to: &buffer)
        buffer.writeStaticString("Date: ")
        buffer.writeString(date)
        buffer.writeStaticString("\r\n")
        self.write(response.fields, to: &buffer)
        // 204 must not have it (RFC 9110 §8.6); a 304 would need the length of the 200 response.
        if response.content.isUnbounded {
            // Before HTTP/1.1, the end of the connection ends the content.
            if !isOld { buffer.writeStaticString("Transfer-Encoding: chunked\r\n") }
        } else if response.status != 204, response.status != 304 {
            buffer.writeStaticString("Content-Length: ")
            buffer.writeString(String(response.content.length))
            buffer.writeStaticString("\r\n")
        }
        if closes {
            buffer.writeStaticString("Connection: close\r\n")
        } else if isOld {
            buffer.writeStaticString("Connection: keep-alive\r\n")
        }
        buffer.writeStaticString("\r\n")
    }

    private static func writeStatus(_ status: Int, to buffer: inout ByteBuffer) {
        switch status {
        case 200: buffer.writeStaticString("HTTP/1.1 200 OK\r\n")
        case 206: buffer.writeStaticString("HTTP/1.1 206 Partial Content\r\n")
        default: buffer.writeString("HTTP/1.1 \(status) \(ReasonPhrase.of(status))\r\n")
        }
    }

    private static func write(_ fields: HeaderFields, to buffer: inout ByteBuffer) {
        fields.forEachLine { name, value in
            buffer.writeBytes(name)
            buffer.writeStaticString(": ")
            // A value may contain client data, as in Location: no byte of it may start another line.
            if value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
                buffer.writeBytes(value)
            } else {
                buffer.writeBytes(value.map { $0 >= 0x20 && $0 != 0x7F ? $0 : 0x20 })
            }
            buffer.writeStaticString("\r\n")
        }
    }
}
