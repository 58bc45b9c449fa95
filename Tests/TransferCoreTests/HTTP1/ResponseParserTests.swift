// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("A response parser")
struct ResponseParserTests {
    static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\nhello",
        "HTTP/1.1 206 Partial Content\nContent-Length:3\n\nabc",
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n1 \r\n!\r\n0\r\nDigest: x\r\nB: y\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nServer: a\r\n\r\n",
        "\r\n\r\nHTTP/1.1 200\r\nX: a\r\n b\r\n\tc  \r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: \0\r\n\r\nxx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
    ]

    @Test("gives the same parts wherever the input is split", arguments: Self.responses)
    func splits(_ text: String) {
        let bytes = Array(text.utf8)
        let whole = ParsedResponse(text)
        for first in 0...bytes.count {
            let second = first + (bytes.count - first) / 2
            let split = ParsedResponse(pieces: [bytes[..<first], bytes[first..<second], bytes[second...]])
            #expect(split == whole, "split at \(first) and \(second)")
        }
        let single = ParsedResponse(pieces: bytes.indices.map { bytes[$0...$0] })
        #expect(single == whole)
    }

    @Test("reads a response with a declared length")
    func declaredLength() {
        let response = ParsedResponse(Self.responses[0])
        #expect(response.status == 200)
        #expect(response.reason == "OK")
        #expect(response.fields == ["content-length: 5", "etag: \"a\""])
        #expect(response.framing == .length(5))
        #expect(response.body == Array("hello".utf8))
        #expect(response.ending == .ended)
        #expect(response.keepsAlive)
    }

    @Test("skips interim responses and reads a body that the connection's end ends")
    func interim() {
        let response = ParsedResponse(Self.responses[2])
        #expect(response.status == 200)
        #expect(response.body == Array("until the end".utf8))
        #expect(response.ending == .endedByClose)
        #expect(!response.keepsAlive)
    }

    @Test("removes the chunked coding and its extensions, and keeps the trailers (RFC 9112 §7.1)")
    func chunked() {
        let response = ParsedResponse(Self.responses[3])
        #expect(response.body == Array("hello!".utf8))
        #expect(response.trailers == ["digest: x", "b: y"])
        #expect(response.framing == .chunked)
        #expect(response.ending == .ended)
    }

    @Test("joins folded lines with a space (RFC 9112 §5.2)")
    func folding() {
        #expect(ParsedResponse(Self.responses[5]).fields == ["x: a b c", "content-length: 0"])
    }

    @Test("counts bytes behind the response as not its own")
    func rest() {
        let response = ParsedResponse(Self.responses[9])
        #expect(response.body == Array("hello".utf8))
        #expect(response.rest == 9)
    }

    @Test("takes no body where there is none, whatever is declared (RFC 9112 §6.3)")
    func noBody() {
        #expect(ParsedResponse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", isHeadRequest: true).ending == .ended)
        for status in [204, 205, 304] {
            let response = ParsedResponse("HTTP/1.1 \(status) X\r\nContent-Length: 9\r\n\r\n")
            #expect(response.framing == BodyFraming.none)
            #expect(response.ending == .ended)
        }
        #expect(ParsedResponse("HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n").keepsAlive)
        #expect(!ParsedResponse("HTTP/1.1 205 X\r\nContent-Length: 9\r\n\r\n").keepsAlive)
    }

    @Test(
        "decides whether the connection persists (RFC 9112 §9.3)",
        arguments: [
            ("1.1", "Content-Length: 0", true),
            ("1.1", "Content-Length: 0\r\nConnection: Close", false),
            ("1.1", "Content-Length: 0\r\nConnection: x, close , y", false),
            ("1.0", "Content-Length: 0", false),
            ("1.0", "Content-Length: 0\r\nConnection: Keep-Alive", true),
            ("1.1", "Transfer-Encoding: chunked", true),
            ("1.1", "Transfer-Encoding: chunked\r\nContent-Length: 7", false),
            ("1.0", "Transfer-Encoding: chunked\r\nConnection: keep-alive", false),
            ("1.1", "X: y", false),
        ]
    )
    func persistence(version: String, fields: String, keepsAlive: Bool) {
        #expect(ParsedResponse("HTTP/\(version) 200 OK\r\n\(fields)\r\n\r\n").keepsAlive == keepsAlive)
    }

    @Test("prefers chunked framing to a declared length (RFC 9112 §6.3)")
    func bothLengths() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
        #expect(ParsedResponse(text).body == [0x61])
    }

    @Test("can be used for one response after another")
    func reset() throws {
        var parser = ResponseParser(isHeadRequest: false)
        for _ in 0..<3 {
            try Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
                .withUnsafeBytes { bytes in
                    var consumed = 0
                    guard case .head = try parser.next(bytes, consumed: &consumed) else { return #expect(Bool(false)) }
                    guard case .end = try parser.next(bytes, consumed: &consumed) else { return #expect(Bool(false)) }
                }
            parser.reset(isHeadRequest: false)
            #expect(!parser.hasBegun)
        }
    }
}
