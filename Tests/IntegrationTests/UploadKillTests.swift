// SPDX-License-Identifier: Apache-2.0
import Foundation
import Platform
import Testing
import TransferTesting

/// Resumable uploads from `martlet put` to `martlet serve`, cut again and again.
///
/// Scripts/kill-uploads does this longer, to another server, too, and counts every byte.
@Suite("Uploads that are killed", .serialized, .timeLimit(.minutes(5)))
struct UploadKillTests {
    private enum Cut: CaseIterable {
        case client
        case server
        case connection
    }

    private static let size = 4_000_000

    private static func serve(_ directory: TemporaryDirectory, port: Int) async throws -> BuiltProgram {
        let arguments = ["serve", directory.path, "--listen", "127.0.0.1:\(port)", "--access-log", "none"]
        let program = try BuiltProgram(arguments, environment: [:])
        let greeting = await program.said()
        try #require(greeting.contains(":\(port)"), "\(greeting)")
        return program
    }

    @Test(
        "of either side, or of the connection between: the right bytes, none again that were there, none seen too early",
        arguments: ["tus", "ietf-6"]
    )
    func kills(by way: String) async throws {
        var random = SeededGenerator(seed: way == "tus" ? 5 : 6)
        let (source, place) = (try TemporaryDirectory(), try TemporaryDirectory())
        let pattern = TestPattern(seed: 9)
        try source.write(pattern.bytes(0..<Int64(Self.size)), to: "file.bin")
        let held = try RefusingPort(isShared: true)
        var server = try await Self.serve(place, port: held.port)
        let relay = try await RelayServer.start(to: held.port)
        // Nothing goes before it is said how much.
        await relay.advance(by: 0)
        // More attempts than a server that takes its time to start again can cost.
        let arguments = [
            "put", "-q", "--protocol", way, "--limit-rate", "4M", "--retries", "20", source.path("file.bin"),
            "http://127.0.0.1:\(relay.port)/file.bin",
        ]
        let environment = ["MARTLET_STATE_DIR": source.path("state"), "no_proxy": "*"]
        var client = try BuiltProgram(arguments, environment: environment)
        for cut in Cut.allCases.shuffled(using: &random) + [.server] {
            // In all less than the file, so that it cannot end before.
            await relay.advance(by: Int.random(in: 0..<Self.size / 12, using: &random))
            #expect(!place.contains("file.bin"))
            switch cut {
            case .client:
                await client.endAtOnce()
                client = try BuiltProgram(arguments, environment: environment)
            case .server:
                await server.endAtOnce()
                server = try await Self.serve(place, port: held.port)
            case .connection: await relay.closeConnections()
            }
        }
        relay.letGo()
        #expect(await client.status == 0)
        #expect(pattern.holds(try place.read("file.bin"), Int64(Self.size)))
        // Bytes that the server had were never sent again.
        #expect(!relay.appends.isEmpty && relay.appends.allSatisfy { $0.offset >= $0.acknowledged }, "\(relay.appends)")
        #expect(TemporaryDirectory.entries(of: source.path("state/uploads")).isEmpty)
        await server.endAtOnce()
    }
}
