// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine
import TransferTesting

/// Digests of the served pattern, made by `sha256sum` and `openssl`.
enum Known {
    static func sha256(of length: Int64) -> ExpectedDigest {
        let text = length == 200_000 ? "WBm5VAkaSEernBzZ1p+F15PMWmv/gjnfXqeUd55Gfnk=" : Self.sha256Base64
        return ExpectedDigest(algorithm: .sha256, bytes: Base64.decode(text.utf8) ?? [], source: "--checksum")
    }

    static let sha256Base64 = "baRfpnKdWdDtsAWYOClmOb4Mlyg6oAP6Z3WuVKbuNHM="
    static let sha512Base64 =
        "wQH8VkIFrq4qlUGJjqhSZdVbzjVXUCQGJGPrr6/2wkUHRbuz035pVTqSop3PVeliW7eb+TSbQSB/37kzwWydSg=="
}

/// Verification before a file gets its name.
@Suite(.timeLimit(.minutes(5)))
struct DigestTests {
    private static let wrong = ExpectedDigest(
        algorithm: .sha256,
        bytes: [UInt8](repeating: 1, count: 32),
        source: "--checksum"
    )

    @Test("a digest that agrees", arguments: [200_000, fileLength])
    func agrees(_ length: Int64) async throws {
        let harness = try Harness()
        let file = ServedFile(length: length)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.expected = [Known.sha256(of: length)]
            $0.options.reportDigest = .sha256
        }
        harness.expectWhole(outcome, file)
        #expect(outcome.completion?.digest == Known.sha256(of: length).bytes)
        await server.stop()
    }

    @Test("a digest over segments is computed at the end")
    func segments() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.rate = 2_000_000
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.expected = [Known.sha256(of: fileLength)]
            $0.options.connections = .fixed(3)
        }
        harness.expectWhole(outcome, file)
        await server.stop()
    }

    @Test("a digest over a resumed file")
    func resumed() async throws {
        let harness = try Harness()
        let served = Served(ServedFile(length: fileLength))
        let server = try await serve(served)
        try await harness.leavePartial(served, server.text("file.bin"))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.expected = [Known.sha256(of: fileLength)] }
        harness.expectWhole(outcome, served.file)
        await server.stop()
    }

    @Test("a mismatch: an error, the file kept as NAME.martlet-bad", arguments: [200_000, fileLength])
    func mismatch(_ length: Int64) async throws {
        let harness = try Harness()
        let file = ServedFile(length: length)
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.expected = [Self.wrong] }
        harness.expectFailure(outcome, .checksumMismatch)
        #expect(harness.directory.entries() == ["file.bin.martlet-bad"], "\(outcome.story)")
        let difference = file.pattern.difference(
            fromFileAt: harness.directory.path("file.bin.martlet-bad"),
            length: length
        )
        #expect(difference == nil)
        await server.stop()
    }

    @Test("a mismatch: deleted where asked", arguments: [200_000, fileLength])
    func deleted(_ length: Int64) async throws {
        let harness = try Harness()
        let server = try await serve(Served(ServedFile(length: length)))
        let outcome = try await harness.fetch(server.text("file.bin")) {
            $0.expected = [Self.wrong]
            $0.options.keepBad = false
        }
        harness.expectFailure(outcome, .checksumMismatch)
        #expect(harness.directory.entries().isEmpty)
        await server.stop()
    }

    @Test(
        "what the server says of its representation is verified",
        arguments: [
            ("Repr-Digest", "sha-256=:\(Known.sha256Base64):"), ("Repr-Digest", "sha-512=:\(Known.sha512Base64):"),
            ("Repr-Digest", "unknown=:AAAA:, sha-256=:\(Known.sha256Base64):"),
            ("Content-Digest", "sha-256=:\(Known.sha256Base64):"), ("Digest", "SHA-256=\(Known.sha256Base64)"),
        ]
    )
    func server(_ field: String, _ value: String) async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.fields = [(field, value)]
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        #expect(server.requests.first?["Want-Repr-Digest"] != nil)
        await server.stop()
    }

    @Test(
        "a representation that differs from the server's digest fails",
        arguments: ["Repr-Digest", "Content-Digest"]
    )
    func serverMismatch(_ field: String) async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.fields = [(field, "sha-256=:WBm5VAkaSEernBzZ1p+F15PMWmv/gjnfXqeUd55Gfnk=:")]
        let server = try await serve(Served(file))
        let outcome = try await harness.fetch(server.text("file.bin")) { $0.options.retries = 1 }
        harness.expectFailure(outcome, .checksumMismatch)
        await server.stop()
    }

    @Test("Repr-Digest of a 206 is the whole file's")
    func partDigest() async throws {
        let harness = try Harness()
        var file = ServedFile(length: fileLength)
        file.fields = [("Repr-Digest", "sha-256=:\(Known.sha256Base64):")]
        let served = Served(file)
        let server = try await serve(served)
        try await harness.leavePartial(served, server.text("file.bin"))
        let outcome = try await harness.fetch(server.text("file.bin"))
        harness.expectWhole(outcome, file)
        await server.stop()
    }
}
