// SPDX-License-Identifier: Apache-2.0
import Platform
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing
import TransferCore
import TransferTesting

/// What NIO's parser (llhttp) finds in some input.
struct ReferenceRequests {
    var heads: [String] = []
    var bodies: [[UInt8]] = []
    var ended = 0
    var hasFailed = false

    init(_ bytes: [UInt8]) {
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish() }
        try? channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes))
        )
        do { try channel.writeInbound(ByteBuffer(bytes: bytes)) } catch { self.hasFailed = true }
        while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head):
                self.heads.append("\(head.method.rawValue) \(head.uri)")
                self.bodies.append([])
            case .body(let buffer): self.bodies[self.bodies.count - 1] += buffer.readableBytesView
            case .end: self.ended += 1
            }
        }
    }
}

@Suite("A request parser agrees with llhttp")
struct RequestDifferentialTests {
    private static let seeds = [
        "GET /a?b=c HTTP/1.1\r\nHost: x\r\nRange: bytes=0-4\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
        "PUT /c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /d HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
        "PATCH /f HTTP/1.1\r\nHost: x\r\nUpload-Offset: 0\r\nContent-Length: 1\r\n\r\nx",
    ]
    private static let snippets = [
        "\r\n", "\n", "\r", " ", "\t", ":", ",", "0", "1", "9", "f", ";", "\0", "\u{7F}", "Content-Length: 5\r\n",
        "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "\r\n ", "-",
        "99999999999999999999", "Transfer-Encoding: gzip\r\n", "\r\n\r\n", "0\r\n\r\n",
    ]

    // Where two readers of one stream of bytes would find different requests, one of them can be smuggled.
    @Test("what it accepts, llhttp reads in the same way, byte for byte")
    func differential() {
        var random = SeededGenerator(seed: 20_261_122)
        var agreed = 0
        let rounds = getenv("MARTLET_FUZZ_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 6000
        for round in 0..<rounds {
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1 where bytes.count > 1: bytes.remove(at: place)
                default:
                    let snippet = Self.snippets[Int.random(in: 0..<Self.snippets.count, using: &random)]
                    bytes.insert(contentsOf: snippet.utf8, at: place)
                }
            }
            let ours = ParsedRequests(bytes)
            let pieces = Int.random(in: 1...bytes.count, using: &random)
            #expect(
                ParsedRequests(bytes, pieces: pieces) == ours,
                "in pieces of \(pieces): \(String(decoding: bytes, as: UTF8.self).debugDescription)"
            )
            let theirs = ReferenceRequests(bytes)
            guard ours.error == nil, !theirs.hasFailed else { continue }
            agreed += 1
            let heads = ours.heads.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
            #expect(heads == theirs.heads, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(ours.bodies == theirs.bodies, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(ours.ended == theirs.ended)
        }
        // Otherwise the comparison says nothing.
        #expect(agreed > rounds / 6)
    }
}
