// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@Suite("Digests that the server sends")
struct DigestFieldTests {
    private let file = Served(length: Served.large)

    static func field(_ name: String, _ bytes: [UInt8]) -> HeaderFields {
        [name: "sha-256=:" + Base64.encode(MemoryStore.toyDigest(.sha256, bytes)) + ":"]
    }

    @Test("each part is compared with its Content-Digest")
    func parts() throws {
        let stage = Stage(perHost: 4)
        var file = self.file
        let pattern = file.pattern
        file.fields = { Self.field("Content-Digest", pattern.bytes($0)) }
        let answering = file
        stage.transport.onStart { answering.answer($0, cutAfter: 1_000_000) }
        let id = try stage.add("http://a/f")
        stage.run(until: id)
        #expect(stage.end(id) == "finished")
        #expect(stage.store.files["f"]?.bytes == file.bytes)
    }

    @Test("a part that differs from its Content-Digest fails, and nothing continues from it")
    func wrongPart() throws {
        let stage = Stage()
        var file = self.file
        let pattern = file.pattern
        file.fields = { range in
            range.lowerBound == 0 ? [:] : Self.field("Content-Digest", pattern.bytes(0..<range.lowerBound))
        }
        let id = try stage.add("http://a/f")
        try file.answer(stage.exchange(), cutAfter: 1_000_000)
        stage.clock.advance(by: .seconds(31))
        try file.answer(stage.exchange())
        stage.run(until: id, timers: 500)
        #expect(stage.failure(id)?.code == .checksumMismatch)
        #expect(stage.store.files["f"] == nil)
        #expect(stage.store.partials["f"] == nil)
        #expect(stage.store.files["f.martlet-bad"] != nil)
    }

    @Test(
        "a file of the user's own keeps its name where what continues it has a wrong digest",
        arguments: [true, false]
    )
    func continued(_ keepBad: Bool) throws {
        let stage = Stage()
        var file = self.file
        let pattern = file.pattern
        let own = file.pattern.bytes(0..<2_000_000)
        stage.store.add(MemoryStore.File(own), at: "f")
        file.fields = { range in
            Self.field("Content-Digest", pattern.bytes(0..<range.lowerBound))
        }
        let answering = file
        stage.transport.onStart { answering.answer($0) }
        let id = try stage.add("http://a/f") {
            $0.ifExists = .resume
            $0.keepBad = keepBad
        }
        stage.run(until: id, timers: 500)
        #expect(stage.failure(id)?.code == .checksumMismatch)
        #expect(stage.store.files["f"]?.bytes == own)
        #expect((stage.store.files["f.martlet-bad"] != nil) == keepBad)
    }

    @Test("Repr-Digest of a part is the whole file's", arguments: [true, false])
    func wholeOfPart(_ isRight: Bool) throws {
        let stage = Stage()
        var file = self.file
        let bytes = isRight ? file.bytes : Array(file.bytes.dropLast())
        let id = try stage.add("http://a/f")
        try file.answer(stage.exchange(), cutAfter: 1_000_000)
        file.fields = { _ in Self.field("Repr-Digest", bytes) }
        stage.clock.advance(by: .seconds(31))
        try file.answer(stage.exchange())
        if !isRight {
            // Two responses were joined: the file is fetched once more, in a single one.
            stage.clock.advance(by: .seconds(31))
            #expect(try stage.exchange()["Range"] == nil)
            try file.answer(stage.exchange())
        }
        stage.run(until: id, timers: 500)
        #expect(isRight ? stage.end(id) == "finished" : stage.failure(id)?.code == .checksumMismatch)
    }

    @Test("a digest in the trailers counts", arguments: [true, false], ["Repr-Digest", "Content-Digest"])
    func trailers(_ isRight: Bool, _ name: String) throws {
        let stage = Stage()
        let bytes = self.file.bytes
        let id = try stage.add("http://a/f")
        let exchange = try stage.exchange()
        exchange.respond(200, ["ETag": "\"one\""], framing: .chunked)
        exchange.body(self.file.pattern, 0..<self.file.length)
        exchange.end(trailers: Self.field(name, isRight ? bytes : Array(bytes.dropLast())))
        stage.run(until: id, timers: 500)
        #expect(isRight ? stage.end(id) == "finished" : stage.failure(id)?.code == .checksumMismatch)
    }
}
