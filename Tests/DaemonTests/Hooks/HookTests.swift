// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform
import Logging
import Testing
import TransferTesting

@testable import Daemon

/// The user's commands: their environment and input, and that no transfer waits for them.
@Suite(.timeLimit(.minutes(1)))
struct HookTests {
    private static func record(_ state: TransferRecord.State = .finished) throws -> TransferRecord {
        var record = TransferRecord(
            id: try #require(GID("00000000000000aa")),
            state: state,
            urls: ["https://example.com/a b?token=x"],
            directory: "/d",
            added: 1
        )
        record.path = "/d/it's \"here\"; rm -rf $HOME"
        record.bytes = 7
        record.total = 9
        return record
    }

    @Test("The command has the transfer in its environment and as JSON on its standard input")
    func facts() async throws {
        let directory = try TemporaryDirectory()
        let pipe = try NamedPipe(directory)
        defer { pipe.close() }
        let runner = HookRunner(
            HookCommands([
                .finish: #"printf '%s|%s|%s|%s|%s|%s\0' "$MARTLET_EVENT" "$MARTLET_ID" "$MARTLET_PATH" "#
                    + #""$MARTLET_BYTES" "$MARTLET_TOTAL" "$(cat)" > "# + pipe.path
            ]),
            logger: Logger(label: "test")
        )
        let record = try Self.record()
        runner.handle(.finished(record))
        let answer = try await pipe.messages(1)[0].split(separator: "|", maxSplits: 5)
        #expect(
            answer.dropLast().map(String.init)
                == ["finish", "00000000000000aa", "/d/it's \"here\"; rm -rf $HOME", "7", "9"]
        )
        let json = try JSON(parsing: String(answer[5]))
        #expect(json["event"] == "finish")
        #expect(json["transfer"].flatMap { TransferRecord(json: $0) } == record)
    }

    @Test("An upload is reported as one, and its file not as a downloaded file")
    func uploads() throws {
        var record = try Self.record()
        let download = HookCall(.finish, "true", record).environment
        #expect(download["MARTLET_KIND"] == "download" && download["MARTLET_PATH"] == record.path)
        record.upload = UploadSource([.file("/src")])
        let upload = HookCall(.finish, "true", record).environment
        #expect(upload["MARTLET_KIND"] == "upload" && upload["MARTLET_PATH"] == "")
        #expect(upload["MARTLET_SOURCE"] == "/src")
    }

    @Test("Each hook gets only its own events")
    func kinds() async throws {
        let directory = try TemporaryDirectory()
        let pipe = try NamedPipe(directory)
        defer { pipe.close() }
        let command = #"printf '%s %s\0' "$MARTLET_EVENT" "$MARTLET_ERROR_CODE" > "# + pipe.path
        let runner = HookRunner(
            HookCommands([.start: command, .failure: command, .drain: command]),
            logger: Logger(label: "test")
        )
        var failed = try Self.record(.failed)
        failed.failure = TransferRecord.Failure(code: 3, message: "gone")
        for event: ServiceEvent in [
            .queued(failed), .finished(failed), .progress([failed]), .started(failed), .failed(failed), .drained,
        ] {
            runner.handle(event)
        }
        #expect(try await pipe.messages(3).sorted() == ["drain ", "failure 3", "start 3"])
    }

    @Test("aria2's commands have its three arguments, whatever is in them")
    func aria2() async throws {
        let directory = try TemporaryDirectory()
        let pipe = try NamedPipe(directory)
        defer { pipe.close() }
        let program = directory.path("a program")
        let script =
            "#!/bin/sh\nprintf '%s|%s|%s|%s|%s\\0' \"$#\" \"$1\" \"$2\" \"$3\" \"$MARTLET_EVENT\" > \(pipe.path)\n"
        try directory.write(Array(script.utf8), to: "a program")
        #expect(chmod(program, 0o700) == 0)
        let runner = HookRunner(HookCommands(aria2: [.complete: program]), logger: Logger(label: "test"))
        let record = try Self.record()
        runner.handle(.finished(record))
        #expect(
            try await pipe.messages(1)
                == ["3|00000000000000aa|1|/d/it's \"here\"; rm -rf $HOME|on-download-complete"]
        )
    }

    @Test("aria2's stop command is for finished, failed and removed transfers, unless the event has its own command")
    func aria2Kinds() throws {
        var record = try Self.record()
        func names(_ hooks: [Aria2Hook], _ events: [ServiceEvent]) -> [String] {
            let commands = HookCommands(aria2: Dictionary(uniqueKeysWithValues: hooks.map { ($0, "x") }))
            return events.flatMap { commands.calls(for: $0).map(\.event) }
        }
        let events: [ServiceEvent] = [
            .started(record), .paused(record), .removed(record), .finished(record), .failed(record), .queued(record),
            .drained,
        ]
        #expect(names([.stop], events) == ["on-download-stop", "on-download-stop", "on-download-stop"])
        #expect(
            names(Aria2Hook.allCases, events) == [
                "on-download-start", "on-download-pause", "on-download-stop", "on-download-complete",
                "on-download-error",
            ]
        )
        record.session = "s"
        #expect(names(Aria2Hook.allCases, [.finished(record)]).isEmpty)
    }

    @Test("A command that never ends is ended, and a hundred of them delay no transfer")
    func endless() async throws {
        let directory = try TemporaryDirectory()
        let pipe = try NamedPipe(directory)
        defer { pipe.close() }
        let runner = HookRunner(
            HookCommands([
                .finish:
                    "exec 2> /dev/null; trap 'printf \"ended\\0\" > \(pipe.path); exit' TERM; while :; do sleep 0.01; done"
            ]),
            timeout: .milliseconds(200),
            logger: Logger(label: "test")
        )
        let record = try Self.record()
        let begun = ContinuousClock.now
        for _ in 0..<100 { runner.handle(.finished(record)) }
        #expect(ContinuousClock.now - begun < .seconds(5))
        #expect(try await pipe.messages(HookRunner.concurrency).allSatisfy { $0 == "ended" })
        runner.stop()
    }
}
