// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@Suite("A response parser agrees with llhttp")
struct DifferentialTests {
    private static let seeds = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a\"\r\nServer: x\r\n\r\nhello",
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-2/9\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nuntil the end",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\na;x=y\r\n0123456789\r\n0\r\nA: b\r\n\r\n",
        "HTTP/1.1 204 No Content\r\nServer: a\r\n\r\n",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\nA:b\r\nA: c\r\nContent-Length: 0\r\n\r\n",
    ]

    private static let snippets = [
        "\r\n", "\n", "\r", " ", "\t", ":", ",", "0", "1", "9", "f", ";", "\0", "\u{7F}", "Content-Length: 5\r\n",
        "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "HTTP/1.1 ", "\r\n ", "-",
        "99999999999999999999", "Transfer-Encoding: gzip\r\n", "identity", "chunked", ", ", "\r\n\r\n", "0\r\n\r\n",
    ]

    private static func mutated(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let place = Int.random(in: 0...bytes.count, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0 where place < bytes.count:
                bytes[place] = UInt8.random(in: 0...255, using: &generator)
            case 1 where place < bytes.count:
                bytes.remove(at: place)
            case 2:
                let end = min(bytes.count, place + Int.random(in: 0...12, using: &generator))
                bytes.insert(
                    contentsOf: Array(bytes[place..<end]),
                    at: Int.random(in: 0...bytes.count, using: &generator)
                )
            case 3:
                bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...12, using: &generator)))
            default:
                let snippet = Self.snippets[Int.random(in: 0..<Self.snippets.count, using: &generator)]
                bytes.insert(contentsOf: snippet.utf8, at: place)
            }
        }
        return bytes
    }

    @Test("what both accept, both read alike; what only llhttp accepts is on the list of stricter rules")
    func differential() {
        let rounds = getenv("MARTLET_FUZZ_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 4000
        var generator = SeededGenerator(seed: 20_261_121)
        var agreed = 0
        for round in 0..<rounds {
            let bytes = Self.mutated(Array(Self.seeds[round % Self.seeds.count].utf8), &generator)
            let text = String(decoding: bytes, as: UTF8.self).debugDescription
            let ours = ParsedResponse(pieces: [bytes[...]])
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            #expect(ParsedResponse(pieces: [bytes[..<cut], bytes[cut...]]) == ours, "split at \(cut): \(text)")
            let reference = ReferenceResponse(bytes)
            guard reference.hasEnded, !Self.differsByIntent(ours, bytes) else { continue }
            switch ours.ending {
            case .ended, .endedByClose:
                agreed += 1
                #expect(ours.status == reference.status, "\(text)")
                #expect(ours.body == reference.body, "\(text)")
                #expect(Self.normal(ours.fields) == Self.normal(reference.fields), "\(text)")
                #expect(Self.normal(ours.trailers) == Self.normal(reference.trailers), "\(text)")
            case .truncated:
                Issue.record("llhttp takes for complete what is truncated here: \(text)")
            case .failed(let error):
                #expect(Self.isStricterByIntent(error, bytes), "\(error): \(text)")
            }
        }
        #expect(agreed > rounds / 10)
    }

    /// Blanks within a value count as one: a folded line is joined in another way.
    private static func normal(_ fields: [String]) -> [String] {
        fields.map { $0.split { $0 == " " || $0 == "\t" }.joined(separator: " ") }
    }

    /// Where both may accept and this parser keeps closer to the RFC.
    private static func differsByIntent(_ ours: ParsedResponse, _ bytes: [UInt8]) -> Bool {
        // A 205 has no content (RFC 9110 §15.3.6); llhttp reads what is declared.
        if ours.status == 205 { return true }
        // A blank or an empty element behind `chunked` changes nothing (RFC 9110 §5.6.1); llhttp reads until the close.
        if Self.contains(bytes, "chunked\t") || Self.contains(bytes, "chunked,") { return true }
        // A bare CR ends no line (RFC 9112 §2.2); behind a status line llhttp takes it for an end.
        return zip(bytes, bytes.dropFirst()).contains { $0 == 0x0D && $1 != 0x0A }
    }

    /// Inputs that this parser refuses on purpose and llhttp accepts.
    private static func isStricterByIntent(_ error: HTTP1Error, _ bytes: [UInt8]) -> Bool {
        switch error {
        // An undecoded coding would be written as if it were the body.
        case .unsupportedTransferCoding: true
        // Nobody asked for another protocol.
        case .unexpectedUpgrade: true
        // A NUL in the reason phrase is not text, and statuses start at 100 (RFC 9112 §4, RFC 9110 §15).
        case .invalidStatusLine:
            bytes.contains(0) || Self.contains(bytes, "HTTP/1.1 0") || Self.contains(bytes, "HTTP/1.0 0")
        default: false
        }
    }

    private static func contains(_ bytes: [UInt8], _ text: StaticString) -> Bool {
        let wanted = text.withUTF8Buffer { Array($0) }
        guard bytes.count >= wanted.count else { return false }
        return (0...bytes.count - wanted.count).contains { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) }
    }
}
