// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite struct ProgressFrameTests {
    private func model(_ names: [String], bytes: Int64 = 5 << 20, total: Int64? = 10 << 20) -> RunModel {
        var model = RunModel()
        for (index, name) in names.enumerated() {
            let id = TransferID(UInt64(index + 1))
            let progress = TransferEvent.Progress(
                bytes: bytes,
                total: total,
                rate: 1_048_576,
                secondsLeft: total.map { Double($0 - bytes) / 1_048_576 },
                connections: 1
            )
            model.apply(
                TransferEvent(id: id, url: "http://h/\(index)", userInfo: nil, kind: .started(path: "d/" + name))
            )
            model.apply(TransferEvent(id: id, url: "http://h/\(index)", userInfo: nil, kind: .progress(progress)))
        }
        return model
    }

    private let totals = ProgressFrame.Totals(waiting: 2, received: 5 << 20, rate: 1_048_576, complete: true)

    @Test func aLineHasNameBarPercentSizeRateAndTimeLeft() {
        let lines = ProgressFrame(columns: 80, rows: 24).lines(self.model(["file.bin"]), self.totals)
        #expect(
            lines == [
                "file.bin               [██████░░░░░░]   50%  5.00/10.0 MiB  1.00 MiB/s     0:05",
                "0/3 files  5.00 MiB  1.00 MiB/s",
            ]
        )
    }

    @Test func heldFilesAreCountedOnceAndDoNotHideRunningOnes() {
        var model = self.model((0..<30).map { "f\($0)" })
        for id in 1...29 {
            let failure = TransferFailure(.overloaded, "502")
            let kind = TransferEvent.Kind.retrying(failure, attempt: 1, delay: .seconds(8))
            model.apply(TransferEvent(id: TransferID(UInt64(id)), url: "http://h", userInfo: nil, kind: kind))
        }
        let totals = ProgressFrame.Totals(waiting: 70, held: 99)
        let lines = ProgressFrame(columns: 80, rows: 6).lines(model, totals)
        #expect(lines.first?.hasPrefix("f29 ") == true)
        #expect(lines.last == "0/100 files  99 held  0 B  0 B/s")
    }

    @Test func withoutALengthThereIsNoPercentAndNoTime() {
        let lines = ProgressFrame(columns: 80, rows: 24, unicode: false)
            .lines(self.model(["file.bin"], total: nil), self.totals)
        #expect(
            lines[0] == "file.bin               [------------]             5.00 MiB  1.00 MiB/s         ".dropLast(0)
        )
    }

    @Test(arguments: [1, 5, 12, 20, 33, 40, 60, 80, 100, 132, 200])
    func noLineIsWiderThanTheTerminal(columns: Int) {
        let names = [
            "日本語のとても長い名前のファイル.tar.gz", "👨‍👩‍👧‍👦 family.jpg", "e\u{301}e\u{301}.txt", String(repeating: "long", count: 60),
        ]
        var model = self.model(names)
        model.apply(
            TransferEvent(
                id: TransferID(2),
                url: "http://h/1",
                userInfo: nil,
                kind: .retrying(
                    TransferFailure(.network, "http://h/1: connection reset by the server"),
                    attempt: 2,
                    delay: .seconds(3)
                )
            )
        )
        for unicode in [true, false] {
            let frame = ProgressFrame(columns: columns, rows: 24, unicode: unicode)
            for line in frame.lines(model, self.totals) {
                #expect(DisplayWidth.of(line) <= max(1, columns - 1), "\(line)")
            }
        }
    }

    @Test func linesOfOneFrameAreAligned() {
        let lines = ProgressFrame(columns: 100, rows: 24).lines(self.model(["a", "日本語", "ccc.bin"]), self.totals)
        #expect(Set(lines.dropLast().map { DisplayWidth.of($0) }).count == 1)
    }

    @Test func moreFilesThanRowsAreCounted() {
        let lines = ProgressFrame(columns: 80, rows: 10).lines(self.model((0..<30).map { "f\($0)" }), self.totals)
        #expect(lines.count == 9)
        #expect(lines[7] == "… and 23 more")
        #expect(lines[8].hasPrefix("0/32 files"))
    }

    @Test func aHostileNameIsShownWithoutItsControls() {
        let lines = ProgressFrame(columns: 80, rows: 24).lines(self.model(["a\u{1B}[2Jb\n.bin"]), self.totals)
        #expect(lines.allSatisfy { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
    }

    @Test func theWholeRunsTimeIsToldWhenEverythingRuns() {
        let totals = ProgressFrame.Totals(waiting: 0, received: 5 << 20, rate: 1_048_576, complete: true)
        let lines = ProgressFrame(columns: 80, rows: 24).lines(self.model(["a", "b"]), totals)
        #expect(lines.last == "0/2 files  5.00 MiB  1.00 MiB/s  0:10 left")
    }

    @Test func theModelForgetsEndedFilesAndKeepsTwentyFailures() {
        var model = RunModel()
        for number in 1...50 {
            let id = TransferID(UInt64(number))
            let url = "http://h/\(number)"
            model.apply(TransferEvent(id: id, url: url, userInfo: nil, kind: .started(path: "f\(number)")))
            model.apply(
                TransferEvent(
                    id: id,
                    url: url,
                    userInfo: nil,
                    kind: .failed(TransferFailure(.notFound, "gone", remedy: "look"))
                )
            )
        }
        model.apply(
            TransferEvent(
                id: TransferID(51),
                url: "http://h/51",
                userInfo: nil,
                kind: .finished(.init(path: "x", bytes: 1, received: 0, duration: .zero, skipped: true))
            )
        )
        #expect(model.rows.isEmpty && model.failed == 50 && model.failures.count == 20 && model.skipped == 1)
        #expect(model.failures[0] == .init(name: "f1", reason: "gone; look"))
        #expect(model.failureStatus.status == 3)
        let only = Summary(failed: 1, failures: [.init(name: "f", reason: "gone")])
        #expect(only.lines().count == 1, "printed already, in the line above")
        let summary = Summary(
            finished: 0,
            skipped: 1,
            failed: 50,
            received: 1 << 20,
            elapsed: .seconds(2),
            failures: model.failures
        )
        let lines = summary.lines()
        #expect(lines[0] == "0 finished, 1 skipped, 50 failed; 1.00 MiB in 2.00 s, 512 KiB/s")
        #expect(lines[1] == "  f1: gone; look")
        #expect(lines.last == "  and 30 more")
    }

    @Test func receivedBytesLeaveOutThoseOfAnEarlierRun() {
        var model = RunModel()
        let event = { (kind: TransferEvent.Kind) in
            TransferEvent(id: TransferID(1), url: "http://h/a", userInfo: nil, kind: kind)
        }
        model.apply(event(.started(path: "a")))
        model.apply(event(.response(.init(status: 206, fields: [:], expected: 100, path: "a", resumedFrom: 40))))
        model.apply(event(.progress(.init(bytes: 70, total: 100, rate: 1, secondsLeft: 1, connections: 1))))
        #expect(model.receivedBytes == 30)
        model.apply(event(.failed(TransferFailure(.network, "cut"))))
        #expect(model.receivedBytes == 30)
    }
}
