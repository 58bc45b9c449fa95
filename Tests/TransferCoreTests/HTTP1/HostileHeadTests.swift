// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("A response parser refuses what is dangerous")
struct HostileHeadTests {
    @Test(
        "the frames of an HTTP/2 server are recognized, however they are split",
        arguments: [
            // SETTINGS without a setting, with one, and a GOAWAY with an explanation; the last one has an empty line.
            [0, 0, 0, 4, 0, 0, 0, 0, 0], [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100],
            [0, 0, 9, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x78],
            [0, 0, 0, 4, 0, 0, 0, 0, 0, 10, 10],
        ] as [[UInt8]]
    )
    func http2(bytes: [UInt8]) {
        for split in 0...bytes.count {
            var parser = ResponseParser(isHeadRequest: false)
            #expect(throws: HTTP1Error.onlyHTTP2, "\(split)") {
                for part in [bytes[..<split], bytes[split...]] where !part.isEmpty {
                    var consumed = 0
                    try Array(part).withUnsafeBytes { bytes in _ = try parser.next(bytes, consumed: &consumed) }
                }
            }
        }
    }

    @Test(
        "other bytes that start with a zero are no frame",
        arguments: [
            [0, 0, 0, 4, 0, 0, 0, 0, 1, 10, 10], [0, 0, 0, 5, 0, 0, 0, 0, 0, 10, 10], [0, 0, 10, 10],
            [0, 0x80, 0, 4, 0, 0, 0, 0, 0, 10, 10],
        ] as [[UInt8]]
    )
    func noFrame(bytes: [UInt8]) {
        var parser = ResponseParser(isHeadRequest: false)
        #expect(throws: HTTP1Error.invalidStatusLine) {
            var consumed = 0
            try bytes.withUnsafeBytes { bytes in _ = try parser.next(bytes, consumed: &consumed) }
        }
    }

    @Test(
        "a malformed head is an error, not a trap",
        arguments: [
            ("HTTP/2 200 OK\r\n\r\n", HTTP1Error.invalidStatusLine),
            ("HTTP/1.1 099 X\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1 20\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1 2000 X\r\n\r\n", .invalidStatusLine),
            ("HTTP/1.1 2x0 X\r\n\r\n", .invalidStatusLine),
            ("ICY 200 OK\r\n\r\n", .invalidStatusLine),
            ("\u{1}\u{2}\u{3}\n\n", .invalidStatusLine),
            ("HTTP/1.1 101 Switching\r\n\r\n", .unexpectedUpgrade),
            ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\n: b\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\n folded: first\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\nA: b\r\n c\0\r\n\r\n", .invalidField),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .invalidContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", .invalidContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", .invalidContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0x10\r\n\r\n", .invalidContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", .invalidContentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .conflictingContentLengths),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", .conflictingContentLengths),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .unsupportedTransferCoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", .unsupportedTransferCoding),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
                .unsupportedTransferCoding
            ),
        ]
    )
    func head(text: String, error: HTTP1Error) {
        #expect(ParsedResponse(text).ending == .failed(error))
    }

    @Test(
        "malformed chunk framing is an error",
        arguments: [
            ("x\r\n", HTTP1Error.invalidChunk),
            ("\r\n", .invalidChunk),
            ("-1\r\n", .invalidChunk),
            ("1 1\r\n", .invalidChunk),
            ("1\rx", .invalidChunk),
            ("1;\0\r\n", .invalidChunk),
            ("1\r\nab", .invalidChunk),
            ("8000000000000000\r\n", .chunkSizeOverflow),
            ("fffffffffffffffff\r\n", .chunkSizeOverflow),
            ("0\r\nA b\r\n\r\n", .invalidField),
        ]
    )
    func chunk(text: String, error: HTTP1Error) {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(ParsedResponse(head + text).ending == .failed(error))
    }

    @Test("equal lengths may be repeated, and an exabyte is a length")
    func lengths() {
        #expect(
            ParsedResponse("HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\nContent-Length: 1\r\n\r\nx").ending == .ended
        )
        let exabytes = ParsedResponse("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nx")
        #expect(exabytes.framing == .length(.max))
        #expect(exabytes.ending == .truncated)
    }

    @Test("a head is bounded, whole or in pieces")
    func headSize() {
        let endless = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 300_000)
        #expect(ParsedResponse(endless).ending == .failed(.headTooLarge))
        #expect(ParsedResponse(endless + "\r\n\r\n").ending == .failed(.headTooLarge))
        let bytes = Array(endless.utf8)
        let pieces = stride(from: 0, to: bytes.count, by: 1000).map { bytes[$0..<min($0 + 1000, bytes.count)] }
        #expect(ParsedResponse(pieces: pieces).ending == .failed(.headTooLarge))
        #expect(ParsedResponse(String(repeating: "\r\n", count: 200_000)).ending == .failed(.headTooLarge))
    }

    @Test("interim responses are bounded in number and in size")
    func interimResponses() {
        let one = "HTTP/1.1 102 Processing\r\n\r\n"
        #expect(ParsedResponse(String(repeating: one, count: 64)).ending == .truncated)
        #expect(ParsedResponse(String(repeating: one, count: 65)).ending == .failed(.tooManyInterimResponses))
        let large = "HTTP/1.1 103 Early Hints\r\nA: " + String(repeating: "a", count: 100_000) + "\r\n\r\n"
        #expect(ParsedResponse(large + large).ending == .truncated)
        #expect(ParsedResponse(large + large + large).ending == .failed(.headTooLarge))
    }

    @Test("chunk extensions and trailers are bounded")
    func chunkedSizes() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(
            ParsedResponse(head + "1;" + String(repeating: "a", count: 20_000)).ending == .failed(.chunkLineTooLong)
        )
        #expect(ParsedResponse(head + String(repeating: "0", count: 20_000)).ending == .failed(.chunkLineTooLong))
        let trailers = String(repeating: "A: b\r\n", count: 20_000)
        #expect(ParsedResponse(head + "0\r\n" + trailers).ending == .failed(.trailersTooLarge))
    }
}
