// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

/// The result of a parser for some input.
struct ParsedRequests: Equatable {
    var heads: [String] = []
    var bodies: [[UInt8]] = []
    var ended = 0
    var error: RequestError?

    /// Parses input in pieces of some size.
    init(_ text: String, pieces: Int = .max, limits: RequestParser.Limits = .init()) {
        self.init(Array(text.utf8), pieces: pieces, limits: limits)
    }

    init(_ bytes: [UInt8], pieces: Int = .max, limits: RequestParser.Limits = .init()) {
        var parser = RequestParser(limits: limits)
        var start = 0
        do throws(RequestError) {
            while start < bytes.count {
                let piece = Array(bytes[start..<min(bytes.count, start + min(pieces, bytes.count))])
                start += piece.count
                var consumed = 0
                feeding: while true {
                    var isDone = false
                    let result = piece.withUnsafeBytes { input in
                        Result { () throws(RequestError) in try parser.next(input, consumed: &consumed) }
                    }
                    switch try result.get() {
                    case .needMore: isDone = true
                    case .head(let head):
                        self.heads.append("\(head.method) \(head.target) \(head.framing) \(head.keepsAlive)")
                        self.bodies.append([])
                    case .body(let range): self.bodies[self.bodies.count - 1] += piece[range]
                    case .end: self.ended += 1
                    }
                    if isDone { break feeding }
                }
            }
        } catch {
            self.error = error
        }
    }
}

@Suite("A request parser")
struct RequestParserTests {
    @Test("reads requests one after the other, whatever pieces they come in", arguments: [1, 2, 3, 7, 64, Int.max])
    func pipelined(pieces: Int) {
        let parsed = ParsedRequests(
            "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\nPUT /c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
                + "POST /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: x\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nA: b\r\n\r\n"
                + "\r\nGET /e HTTP/1.0\r\n\r\n",
            pieces: pieces
        )
        #expect(
            parsed.heads == [
                "GET /a?b none true", "PUT /c length(5) true", "POST /d chunked true", "GET /e none false",
            ]
        )
        #expect(parsed.bodies.map { String(decoding: $0, as: UTF8.self) } == ["", "hello", "abcde", ""])
        #expect(parsed.ended == 4)
        #expect(parsed.error == nil)
    }

    @Test(
        "refuses what two readers could take in two ways",
        arguments: [
            ("GET / HTTP/1.1\nHost: x\n\n", RequestError.invalidRequestLine),
            ("GET / HTTP/1.1\r\nHost: x\n\r\n", .invalidField),
            ("GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", .invalidField),
            ("GET / HTTP/1.1\r\nA : b\r\n\r\n", .invalidField),
            ("GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", .invalidField),
            ("GET / HTTP/1.1\r\nA: b\u{0}c\r\n\r\n", .invalidField),
            ("GET  / HTTP/1.1\r\n\r\n", .invalidRequestLine), ("GET /a b HTTP/1.1\r\n\r\n", .invalidRequestLine),
            ("GET / HTTP/2.0\r\n\r\n", .unsupportedVersion), ("GET / HTTP/1.1x\r\n\r\n", .invalidRequestLine),
            ("PUT / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", .ambiguousLength),
            ("PUT / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", .ambiguousLength),
            ("PUT / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", .ambiguousLength),
            ("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .ambiguousLength),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .unsupportedTransferCoding),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", .invalidChunk),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", .invalidChunk),
            ("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", .invalidChunk),
            ("\u{16}\u{3}\u{1}\r\n\r\n", .invalidRequestLine),
        ]
    )
    func hostile(text: String, error: RequestError) {
        for pieces in [1, 5, Int.max] { #expect(ParsedRequests(text, pieces: pieces).error == error) }
    }

    @Test("bounds the head, the target, the fields and the empty lines before it")
    func limits() {
        var limits = RequestParser.Limits()
        limits.headBytes = 200
        limits.targetBytes = 50
        limits.fields = 3
        let long = String(repeating: "a", count: 60)
        #expect(ParsedRequests("GET /\(long) HTTP/1.1\r\n\r\n", limits: limits).error == .targetTooLong)
        #expect(
            ParsedRequests("GET / HTTP/1.1\r\nA: \(long)\(long)\(long)\(long)", limits: limits).error == .headTooLarge
        )
        #expect(
            ParsedRequests("GET / HTTP/1.1\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\n\r\n", limits: limits).error
                == .tooManyFields
        )
        #expect(ParsedRequests(String(repeating: "\r\n", count: 300), limits: limits).error == .headTooLarge)
    }

    @Test("is the same whatever pieces mutated requests come in, and traps on none")
    func mutations() {
        let seeds = [
            "GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
            "PUT /c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
            "POST /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na;x=y\r\n0123456789\r\n0\r\nA: b\r\n\r\n",
        ]
        var generator = SeededGenerator(seed: 5)
        for round in 0..<3000 {
            var bytes = Array(seeds[round % seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                default: bytes.insert([0x0A, 0x0D, 0x20, 0x3A, 0x30, 0x39][round % 6], at: place)
                }
            }
            let whole = ParsedRequests(bytes)
            #expect(ParsedRequests(bytes, pieces: 1) == whole)
            #expect(ParsedRequests(bytes, pieces: 3) == whole)
        }
    }
}
