// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import Martlet
import Platform
import Synchronization
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

@Suite("The wake commands of background sessions", .timeLimit(.minutes(2)))
struct WakeTests {
    /// A program that reports its start, runs until it is released, and reports its end.
    private struct Program {
        let reports: NamedPipe
        private let gate: NamedPipe
        let command: [String]

        init(_ directory: TemporaryDirectory) throws {
            self.reports = try NamedPipe(directory)
            self.gate = try NamedPipe(directory, "gate")
            let script = #"""
                printf 'start %s %s\0' "$MARTLET_SESSION" "$MARTLET_STATE_DIR" >"$0"
                read -r line <"$1"
                printf 'end\0' >"$0"
                """#
            self.command = ["/bin/sh", "-c", script, self.reports.path, self.gate.path]
        }

        func release() { self.gate.sendLine() }

        func close() {
            self.reports.close()
            self.gate.close()
        }
    }

    private static func harness(
        _ directory: TemporaryDirectory? = nil,
        _ change: (inout CoreConfiguration) -> Void = { _ in }
    ) async throws -> CoreHarness {
        try await CoreHarness(directory) { configuration in
            // Nothing is waited for: neither programs that reconnect, nor after a failed start.
            configuration.sessionLease = 0
            configuration.wake.firstPause = 1
            configuration.wake.starts = 1000
            change(&configuration)
        }
    }

    private static func configure(_ harness: CoreHarness, _ command: [String]) async throws {
        _ = try await CoreSessionTests.open(harness, "a", ["wakeCommand": .array(command.map { .string($0) })])
    }

    /// The number of the session's last event.
    private static func last(_ harness: CoreHarness) async throws -> Int64 {
        try #require(await harness.core.sessions["s"]?.last)
    }

    private static func transfer(_ harness: CoreHarness, _ url: String) async throws {
        let id = try await harness.add(url, session: "s")
        try await harness.events.wait("finished \(id)")
    }

    /// Returns the state of the wake command when it meets a condition.
    ///
    /// It changes when the program ends, and with every line that the core logs about it.
    private static func summary(
        _ harness: CoreHarness,
        until isMet: (WakeSummary) -> Bool
    ) async throws -> WakeSummary {
        while true {
            let lines = harness.events.lineCount
            let summary = try #require(try await harness.core.sessions().first?.wake)
            if isMet(summary) { return summary }
            _ = await harness.core.tick()
            if let program = await harness.core.woken["s"], !program.isEnding, let id = program.stored["pid"]?.integer {
                await self.end(of: Int32(id))
            } else {
                try await harness.events.wait(forLineAfter: lines)
            }
        }
    }

    /// Waits for the end of a child, whose exit status remains for the core (waitid(2), `WNOWAIT`).
    private static func end(of child: Int32) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global()
                .async {
                    var facts = siginfo_t()
                    while waitid(P_PID, id_t(child), &facts, WEXITED | WNOWAIT) != 0, errno == EINTR {}
                    continuation.resume()
                }
        }
    }

    @Test("A program is started for a batch of events, never twice at a time, and again for those in between")
    func batches() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await Self.harness()
        let program = try Program(harness.directory)
        defer { program.close() }
        try await Self.configure(harness, program.command)
        try await Self.transfer(harness, server.text("one"))
        let start = "start s \(harness.directory.path)"
        #expect(try await program.reports.messages(1) == [start])
        let running = try await Self.summary(harness) { $0.state == .running }
        #expect(running == WakeSummary(state: .running, failures: 0, problem: nil))
        // The program handles what it was started for; another transfer ends.
        let last = try await Self.last(harness)
        try await harness.core.acknowledge("s", upTo: last)
        try await Self.transfer(harness, server.text("two"))
        for _ in 0..<50 { _ = await harness.core.tick() }
        program.release()
        // A second start while the first program ran would be reported before its end.
        #expect(try await program.reports.messages(2) == ["end", start])
        let second = try await Self.last(harness)
        try await harness.core.acknowledge("s", upTo: second)
        program.release()
        #expect(try await program.reports.messages(1) == ["end"])
        #expect(try await Self.summary(harness) { $0.state != .running }.state == .idle)
        await harness.stop()
    }

    @Test("The program is started when all transfers have ended, or some time after the first end")
    func gathering() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            request.target == "/slow" ? Reply([.waitUntil(gate)]) : .response(200, text: "x")
        }
        let harness = try await Self.harness { $0.wake.gathering = 3_600_000_000_000 }
        let program = try Program(harness.directory)
        defer { program.close() }
        try await Self.configure(harness, program.command)
        try await Self.transfer(harness, server.text("one"))
        // Started at once when nothing is left to run.
        #expect(try await program.reports.messages(1).count == 1)
        program.release()
        #expect(try await program.reports.messages(1) == ["end"])
        let last = try await Self.last(harness)
        try await harness.core.acknowledge("s", upTo: last)
        _ = try await Self.summary(harness) { $0.state == .idle }
        let slow = try await harness.add(server.text("slow"), session: "s")
        await server.waitForRequests(2)
        try await Self.transfer(harness, server.text("two"))
        for _ in 0..<50 { _ = await harness.core.tick() }
        #expect(try await Self.summary(harness) { _ in true }.state == .gathering)
        _ = try await harness.core.perform(.remove(deletesPartial: true), on: .ids([slow]))
        #expect(try await program.reports.messages(1).count == 1)
        program.release()
        gate.open()
        await harness.stop()
    }

    @Test("A program that crashes without opening the session is started a limited number of times, until another end")
    func crashes() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await Self.harness { $0.wake.starts = 3 }
        let reports = try NamedPipe(harness.directory)
        defer { reports.close() }
        try await Self.configure(harness, ["/bin/sh", "-c", #"printf 'start\0' >"$0"; kill -SEGV $$"#, reports.path])
        try await Self.transfer(harness, server.text("one"))
        let first = try await Self.summary(harness) { $0.state == .exhausted }
        #expect(first.failures == 3)
        #expect(first.problem == "the program ended without opening the session (signal 11)")
        try await Self.transfer(harness, server.text("two"))
        _ = try await Self.summary(harness) { $0.state == .exhausted }
        #expect(try await reports.messages(5) == Array(repeating: "start", count: 5))
        try await harness.events.wait(forLine: "the program that was woken for a session ended without opening")
        try await harness.events.wait(forLine: "the wake command is not started again until another transfer")
        await harness.stop()
    }

    @Test("A command that does not exist is a warning, and in the session's summary")
    func missing() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await Self.harness { $0.wake.starts = 1 }
        try await Self.configure(harness, ["/nonexistent/reader"])
        try await Self.transfer(harness, server.text("one"))
        let summary = try await Self.summary(harness) { $0.state == .exhausted }
        #expect(summary.problem == "'/nonexistent/reader' could not be started: No such file or directory")
        try await harness.events.wait(forLine: "the wake command of a session failed: '/nonexistent/reader'")
        await harness.stop()
    }

    @Test("No program is started for a batch that a program completed, although its events are not acknowledged")
    func completed() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await Self.harness()
        let program = try Program(harness.directory)
        defer { program.close() }
        try await Self.configure(harness, program.command)
        try await Self.transfer(harness, server.text("one"))
        #expect(try await program.reports.messages(1).count == 1)
        let last = try await Self.last(harness)
        try await harness.core.finishEvents("s", upTo: last + 7, acknowledging: 1)
        program.release()
        #expect(try await Self.summary(harness) { $0.state != .running }.state == .idle)
        let summary = try #require(try await harness.core.sessions().first)
        #expect(summary.unacknowledged == Int(last) - 1)
        // Another end is another batch.
        try await Self.transfer(harness, server.text("two"))
        let messages = try await program.reports.messages(2)
        #expect(messages.first == "end" && messages.last?.hasPrefix("start") == true)
        program.release()
        await harness.stop()
    }

    @Test("A program that deleted its session, which is then created again, has not failed")
    func recreated() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await Self.harness { $0.wake.firstPause = 3_600_000_000_000 }
        let program = try Program(harness.directory)
        defer { program.close() }
        try await Self.configure(harness, program.command)
        try await Self.transfer(harness, server.text("one"))
        #expect(try await program.reports.messages(1).count == 1)
        let last = try await Self.last(harness)
        try await harness.core.finishEvents("s", upTo: last, acknowledging: last)
        try await harness.core.closeSession("s", instance: "a", keepsTransfers: true)
        #expect(try await harness.core.sessions().isEmpty)
        try await Self.configure(harness, program.command)
        try await Self.transfer(harness, server.text("two"))
        program.release()
        let messages = try await program.reports.messages(2)
        #expect(messages.first == "end" && messages.last?.hasPrefix("start") == true)
        program.release()
        await harness.stop()
    }

    @Test("A program that is still running when the daemon starts again is not started a second time")
    func restart() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let first = try await Self.harness()
        let program = try Program(first.directory)
        defer { program.close() }
        try await Self.configure(first, program.command)
        try await Self.transfer(first, server.text("one"))
        #expect(try await program.reports.messages(1).count == 1)
        await first.stop()
        let second = try await Self.harness(first.directory)
        for _ in 0..<50 { _ = await second.core.tick() }
        #expect(try await Self.summary(second) { _ in true }.state == .running)
        program.release()
        // Nothing was handled: it is started again, after its end.
        let messages = try await program.reports.messages(2)
        #expect(messages.first == "end" && messages.last?.hasPrefix("start") == true)
        program.release()
        await second.stop()
    }

    @Test("After the daemon was killed the program is started again for the unhandled events")
    func killed() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let directory = try TemporaryDirectory()
        let program = try Program(directory)
        defer { program.close() }
        let first = try await DaemonUnderTest.start(directory)
        let opening: JSON = [
            "identifier": "s", "instance": "a", "program": "test",
            "configuration": ["wakeCommand": .array(program.command.map { .string($0) })],
        ]
        _ = try await first.client.call("martlet.openSession", opening)
        _ = try await first.client.add([NewTransfer(urls: [server.text("one")], session: "s")])
        _ = try await first.client.call(
            "martlet.closeSession",
            ["identifier": "s", "instance": "a", "keepTransfers": true]
        )
        #expect(try await program.reports.messages(1).count == 1)
        first.kill()
        program.release()
        #expect(try await program.reports.messages(1) == ["end"])
        let second = try await DaemonUnderTest.start(directory)
        #expect(try await program.reports.messages(1).first?.hasPrefix("start s ") == true)
        _ = second.terminate()
        program.release()
        #expect(try await program.reports.messages(1) == ["end"])
    }

    @Test("A program's completion reaches the daemon")
    func completion() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let bench = try await SessionBench()
        var configuration = bench.configuration
        configuration.acknowledgesEvents = .manually
        configuration.wakeCommand = ["/bin/true"]
        let before = try await TransferSession.open(configuration)
        _ = try await before.download(from: server.text("one"), to: .file(bench.harness.directory.path("one")))
        await before.close()
        let observer = Completing()
        // A delegate without the method does not say that the events are handled.
        let first = try await TransferSession.open(configuration, delegate: Silent())
        try await first.handOver()
        await first.close()
        #expect(await bench.harness.core.sessions["s"]?.wake.standing != .idle)
        let session = try await TransferSession.open(configuration, delegate: observer)
        await observer.gate.wait()
        // The daemon has the completion.
        try await session.handOver()
        #expect(try await Self.summary(bench.harness) { $0.state == .idle }.failures == 0)
        #expect(try await bench.harness.core.sessions().first?.unacknowledged ?? 0 > 0)
        await session.close()
        await bench.stop()
    }

    @Test("So does that of a program that ended before the daemon had it")
    func completionInSpool() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try await Self.harness()
        let program = try Program(harness.directory)
        defer { program.close() }
        try await Self.configure(harness, program.command)
        try await Self.transfer(harness, server.text("one"))
        #expect(try await program.reports.messages(1).count == 1)
        var spool: CommandSpool? = try CommandSpool.make(
            in: harness.directory.path("spools"),
            name: "s.1",
            opening: ["identifier": "s", "configuration": [:]]
        )
        let last = try await Self.last(harness)
        try spool?
            .append(
                SpooledCall(
                    number: 1,
                    key: "events",
                    method: "martlet.finishEvents",
                    parameters: ["identifier": "s", "upTo": .integer(last), "acknowledged": .integer(last)]
                )
            )
        spool = nil
        program.release()
        // The spool is read before the program's end counts.
        let summary = try await Self.summary(harness) { $0.state != .running }
        #expect(summary == WakeSummary(state: .idle, failures: 0, problem: nil))
        #expect(try await harness.core.sessions().first?.unacknowledged == 0)
        await harness.stop()
    }
}

/// Implements no methods.
private final class Silent: TransferDelegate {}

/// Completes the events at once.
private final class Completing: TransferDelegate {
    let gate = Gate()

    func sessionDidFinishEvents(_ session: TransferSession, completion: @escaping @Sendable () -> Void) {
        completion()
        self.gate.open()
    }
}
