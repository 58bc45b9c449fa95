// SPDX-License-Identifier: Apache-2.0
import NIOCore
import Testing
import TransferCore

@testable import HTTPServer

@Suite("Response heads")
struct ResponseSerializerTests {
    private static func head(_ response: Response, _ form: ResponseForm = ResponseForm()) -> String {
        var buffer = ByteBuffer()
        ResponseSerializer.write(response, form, date: "Thu, 26 Nov 2026 16:36:44 GMT", to: &buffer)
        return String(buffer: buffer)
    }

    @Test("have the fields of the response between those of the connection")
    func fields() {
        #expect(
            Self.head(Response(200, ["ETag": "\"a\""], .bytes(Array(repeating: 0, count: 1234)))) == """
                HTTP/1.1 200 OK\r\nDate: Thu, 26 Nov 2026 16:36:44 GMT\r\nETag: "a"\r\nContent-Length: 1234\r\n\r\n
                """
        )
        #expect(Self.head(Response(404)).hasPrefix("HTTP/1.1 404 Not Found\r\nDate: "))
        #expect(!Self.head(Response(204)).contains("Content-Length"))
    }

    @Test("state what the connection does where it is not the version's default")
    func connection() {
        #expect(Self.head(Response(200), ResponseForm(closes: true)).hasSuffix("\r\nConnection: close\r\n\r\n"))
        #expect(Self.head(Response(200), ResponseForm(isOld: true)).hasSuffix("\r\nConnection: keep-alive\r\n\r\n"))
    }

    @Test("have one line for each field, whatever its value")
    func controlCharacters() {
        var fields = HeaderFields()
        Array("Location".utf8)
            .withUnsafeBytes { name in
                Array("/a\r\nSet-Cookie: b\u{7F}\u{0}é".utf8).withUnsafeBytes { fields.append(name: name, value: $0) }
            }
        #expect(Self.head(Response(301, fields)).contains("\r\nLocation: /a  Set-Cookie: b  é\r\nContent-Length"))
    }

    @Test("are written however many fields there are")
    func manyFields() {
        let fields = HeaderFields((0..<500).map { ("Field-\($0)", String(repeating: "v", count: $0)) })
        let head = Self.head(Response(500, fields))
        #expect(head.contains("\r\nField-499: \(String(repeating: "v", count: 499))\r\n"))
        #expect(head.hasSuffix("\r\n\r\n"))
    }
}
