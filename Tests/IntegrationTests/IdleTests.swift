// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import TransferTesting

#if os(Linux)
/// A program with an open list and session that has nothing to do.
@Suite("Idle programs", .timeLimit(.minutes(1)))
struct IdleTests {
    @Test func nothingWakesUp() async throws {
        let place = try TemporaryDirectory()
        let program = try BuiltProgram(
            ["offline-list", "--program", place.path],
            of: "Examples",
            environment: ["MARTLET_STATE_DIR": place.path("state")],
            // Held open: at its end the program would end, too.
            input: Pipe()
        )
        #expect(await program.said().contains("choose"))
        // How often its threads have waited: theirs, which poll, do so 100 times a second.
        try await Task.sleep(for: .milliseconds(300))
        let before = try Self.waits(of: program.identifier)
        try await Task.sleep(for: .seconds(1))
        let after = try Self.waits(of: program.identifier)
        #expect(before > 0 && after - before <= 10)
        await program.endAtOnce()
    }

    /// The voluntary context switches of all threads of a process.
    private static func waits(of process: Int32) throws -> Int {
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
        return try threads.reduce(0) { sum, thread in
            let text = try String(contentsOfFile: "/proc/\(process)/task/\(thread)/status", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
            return sum + (line.flatMap { Int($0.split(separator: "\t").last ?? "") } ?? 0)
        }
    }
}
#endif
