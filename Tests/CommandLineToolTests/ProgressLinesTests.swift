// SPDX-License-Identifier: Apache-2.0
import Control
import Synchronization
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite("Progress without a terminal", .timeLimit(.minutes(1)))
struct ProgressLinesTests {
    private typealias Amounts = ProgressLines.Amounts

    private func running(_ files: [(bytes: Int64, total: Int64?)]) -> RunModel {
        var model = RunModel()
        for (index, file) in files.enumerated() {
            let id = TransferID(UInt64(index + 1))
            let progress = TransferEvent.Progress(
                bytes: file.bytes,
                total: file.total,
                rate: 1024,
                secondsLeft: nil,
                connections: 1
            )
            for kind in [TransferEvent.Kind.started(path: "d/\(index)"), .progress(progress)] {
                model.apply(TransferEvent(id: id, url: "http://h/\(index)", userInfo: nil, kind: kind))
            }
        }
        return model
    }

    @Test("A line is printed every ten seconds, none before, and one after a pause")
    func schedule() {
        var lines = ProgressLines()
        var times: [Double] = []
        for time in stride(from: 0.0, through: 46, by: 0.2) {
            // The process was stopped from 21 to 35 s.
            guard time < 21 || time >= 35 else { continue }
            if let line = lines.line(at: time, { "text" }) {
                #expect(line == "progress: text")
                times.append(time.rounded())
            }
        }
        #expect(times == [10, 20, 35, 45])
    }

    @Test("The line of one file has its bytes, with those of earlier runs")
    func oneFile() {
        let totals = ProgressFrame.Totals(waiting: 0, received: 1 << 20, rate: 1_048_576)
        let model = self.running([(bytes: 5 << 20, total: 10 << 20)])
        #expect(Amounts(model, totals).text == "0/1 file, 5.00/10.0 MiB, 50%, 1.00 MiB/s, 0:05 left")
    }

    @Test("The line of several files has the bytes of this run and what is left")
    func severalFiles() {
        var model = self.running([(bytes: 3 << 20, total: 5 << 20), (bytes: 1 << 20, total: 2 << 20)])
        model.fail("other", TransferFailure(.notFound, "404"))
        var totals = ProgressFrame.Totals(waiting: 0, received: 4 << 20, rate: 1_048_576)
        #expect(Amounts(model, totals).text == "0/3 files, 1 failed, 4.00/7.00 MiB, 57%, 1.00 MiB/s, 0:03 left")
        totals.waiting = 7
        totals.held = 2
        #expect(Amounts(model, totals).text == "0/10 files, 1 failed, 2 held, 4.00 MiB, 1.00 MiB/s")
        totals.complete = false
        #expect(Amounts(model, totals).text == "0 files, 1 failed, 2 held, 4.00 MiB, 1.00 MiB/s")
    }

    @Test("The counter of files is true without a rate and without a length")
    func unknown() {
        let model = self.running([(bytes: 100, total: nil)])
        #expect(Amounts(model, ProgressFrame.Totals(received: 100)).text == "0/1 file, 100 B, 0 B/s")
    }

    @Test("A wait prints a line of the transfers that it waits for")
    func waiting() async throws {
        let daemon = try await FakeDaemon.start()
        let ids = try ["a1", "a2", "a3"].map { try #require(GID("00000000000000" + $0)) }
        var records = ids.map {
            TransferRecord(id: $0, state: .active, urls: ["http://h/a"], directory: "/d", added: 1)
        }
        for index in records.indices {
            records[index].bytes = 1 << 20
            records[index].total = 4 << 20
            records[index].rate = 1 << 19
            daemon.put(records[index])
        }
        records[0].state = .finished
        let progress: JSON = ["kind": "progress", "transfers": .array(records.dropFirst().map(\.json))]
        let ended = records.map { record -> JSON in
            var record = record
            record.state = .finished
            return ["kind": "finished", "transfer": record.json]
        }
        daemon.give(events: [[ended[0], progress, progress, progress] + ended])
        let console = Console(keeping: ())
        let time = Mutex(0.0)
        let run = WaitRun(
            ControlClient(daemon.state),
            console,
            isQuiet: false,
            // Each event comes six seconds after the one before.
            clock: {
                time.withLock { time in
                    defer { time += 6 }
                    return time
                }
            }
        )
        #expect(try await run.wait(for: ids) == 0)
        #expect(console.text.errors == "progress: 1/3 files, 2.00/8.00 MiB, 25%, 1.00 MiB/s, 0:06 left\n")
    }

    @Test("A quiet wait prints none")
    func quiet() {
        let console = Console(keeping: ())
        let output = WaitProgress(console, isQuiet: true, clock: { 100 })
        output.show(["kind": "progress", "transfers": []], done: nil) { _ in true }
        #expect(console.text.errors == "")
    }
}
