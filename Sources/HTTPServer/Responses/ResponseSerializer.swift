// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore

/// Serializes the status line and the header fields of a response.
///
/// - Source: RFC 9112 §4, §5.
enum ResponseSerializer {
    /// The maximum number of bytes of a head without the response's own fields.
    private static let fixedBytes = 256

    /// Appends an interim response.
    static func write(interim status: Int, _ fields: HeaderFields, to buffer: inout ByteBuffer) {
        self.write(atMost: self.fixedBytes + fields.encodedBound, to: &buffer) { output in
            self.writeStatus(status, to: &output)
            self.write(fields, to: &output)
            output.append("\r\n")
        }
    }

    /// Appends the head of a final response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - form: The form that the request asks for.
    ///   - date: The value of `Date`.
    ///   - buffer: The buffer to append to.
    static func write(_ response: Response, _ form: ResponseForm, date: String, to buffer: inout ByteBuffer) {
        self.write(atMost: self.fixedBytes + response.fields.encodedBound, to: &buffer) { output in
            self.writeStatus(response.status, to: &output)
            output.append("Date: ")
            output.append(date)
            output.append("\r\n")
            self.write(response.fields, to: &output)
            // 204 must not have it (RFC 9110 §8.6); a 304 would need the length of the 200 response.
            if response.content.isUnbounded {
                // Before HTTP/1.1, the end of the connection ends the content.
                if !form.isOld { output.append("Transfer-Encoding: chunked\r\n") }
            } else if response.status != 204, response.status != 304 {
                output.append("Content-Length: ")
                output.append(String(response.content.length))
                output.append("\r\n")
            }
            if form.closes {
                output.append("Connection: close\r\n")
            } else if form.isOld {
                output.append("Connection: keep-alive\r\n")
            }
            output.append("\r\n")
        }
    }

    /// Writes in place: each call that appends to a NIO buffer checks its storage and its capacity again.
    private static func write(atMost count: Int, to buffer: inout ByteBuffer, _ body: (inout HeadOutput) -> Void) {
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
            var output = HeadOutput(space)
            body(&output)
            return output.count
        }
    }

    private static func writeStatus(_ status: Int, to output: inout HeadOutput) {
        switch status {
        case 200: output.append("HTTP/1.1 200 OK\r\n")
        case 206: output.append("HTTP/1.1 206 Partial Content\r\n")
        default:
            output.append("HTTP/1.1 ")
            output.append("\(status) \(ReasonPhrase.of(status))")
            output.append("\r\n")
        }
    }

    private static func write(_ fields: HeaderFields, to output: inout HeadOutput) {
        fields.forEachLine { name, value in
            output.append(name)
            output.append(": ")
            output.append(value: value)
            output.append("\r\n")
        }
    }
}

/// Appends the parts of a head to a space that is large enough for them.
private struct HeadOutput {
    private let space: UnsafeMutableRawBufferPointer
    /// The number of bytes written.
    private(set) var count = 0

    init(_ space: UnsafeMutableRawBufferPointer) { self.space = space }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        self.next(bytes.count).copyMemory(from: bytes)
    }

    mutating func append(_ text: StaticString) {
        self.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @_disfavoredOverload
    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { self.append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends a value, which may contain client data, as in Location: no byte of it may start another line.
    mutating func append(value: UnsafeRawBufferPointer) {
        // Bounds: both have the same length.
        let target = self.next(value.count)
        for index in 0..<value.count {
            let byte = value[index]
            target[index] = byte >= 0x20 && byte != 0x7F ? byte : 0x20
        }
    }

    private mutating func next(_ count: Int) -> UnsafeMutableRawBufferPointer {
        defer { self.count += count }
        return self.space.part(self.count..<self.count + count)
    }
}
