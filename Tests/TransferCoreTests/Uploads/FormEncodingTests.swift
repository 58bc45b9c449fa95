// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Forms")
struct FormEncodingTests {
    @Test("parts stand between boundaries; names cannot break out of their quotes (RFC 7578)")
    func framing() {
        let encoding = FormEncoding(random: [0xAB, 0x01])
        #expect(encoding.type == "multipart/form-data; boundary=martlet-ab01")
        var bytes = encoding.head("a", fileName: nil, type: nil, isFirst: true) + Array("1".utf8)
        bytes += encoding.head("f\"\r\n", fileName: "x\"y.bin", type: "text/plain\r\nX: 1", isFirst: false)
        bytes += Array("2".utf8) + encoding.tail(isEmpty: false)
        let wanted = """
            --martlet-ab01\r
            Content-Disposition: form-data; name="a"\r
            \r
            1\r
            --martlet-ab01\r
            Content-Disposition: form-data; name="f%22%0D%0A"; filename="x%22y.bin"\r
            Content-Type: text/plainX: 1\r
            \r
            2\r
            --martlet-ab01--\r

            """
        #expect(String(decoding: bytes, as: UTF8.self) == wanted)
        #expect(String(decoding: encoding.tail(isEmpty: true), as: UTF8.self) == "--martlet-ab01--\r\n")
    }
}
