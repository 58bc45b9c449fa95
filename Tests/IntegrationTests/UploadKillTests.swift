// SPDX-License-Identifier: Apache-2.0
import Foundation
import Platform
import Testing
import TransferTesting

/// A program that was built beside the tests, in a process of its own.
private final class Program: Sendable {
    private let process: Process
    private let output: FileHandle
    private let end: Task<Int32, Never>

    init(_ arguments: [String], environment: [String: String]) throws {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = Self.folder.appendingPathComponent("martlet")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        self.process = process
        self.output = pipe.fileHandleForReading
        self.end = Task { await ends.first { _ in true } ?? -1 }
    }

    private static var folder: URL {
        URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingLastPathComponent()
    }

    var status: Int32 { get async { await self.end.value } }

    /// What it writes next.
    func said() async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async { continuation.resume(returning: String(decoding: self.output.availableData, as: UTF8.self)) }
        }
    }

    /// Ends it with SIGKILL, and returns when it has ended.
    func endAtOnce() async {
        _ = kill(self.process.processIdentifier, SIGKILL)
        _ = await self.status
    }
}

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

    private static func serve(_ directory: TemporaryDirectory, port: Int) async throws -> Program {
        let arguments = ["serve", directory.path, "--listen", "127.0.0.1:\(port)", "--access-log", "none"]
        let program = try Program(arguments, environment: [:])
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
        var client = try Program(arguments, environment: environment)
        for cut in Cut.allCases.shuffled(using: &random) + [.server] {
            // In all less than the file, so that it cannot end before.
            await relay.advance(by: Int.random(in: 0..<Self.size / 12, using: &random))
            #expect(!place.contains("file.bin"))
            switch cut {
            case .client:
                await client.endAtOnce()
                client = try Program(arguments, environment: environment)
            case .server:
                await server.endAtOnce()
                server = try await Self.serve(place, port: held.port)
            case .connection: await relay.closeConnections()
            }
        }
        relay.letGo()
        #expect(await client.status == 0)
        #expect(pattern.holds(try place.read("file.bin"), Int64(Self.size)))
        // What the server had was never sent again.
        #expect(!relay.appends.isEmpty && relay.appends.allSatisfy { $0.offset >= $0.acknowledged }, "\(relay.appends)")
        #expect(TemporaryDirectory.entries(of: source.path("state/uploads")).isEmpty)
        await server.endAtOnce()
    }
}
