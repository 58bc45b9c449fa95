// SPDX-License-Identifier: Apache-2.0
import Datasets
import Testing
import TransferCore

@testable import CommandLineTool

@Suite struct RowCountsTests {
    private static func counts(_ change: (inout DatasetSummary) -> Void = { _ in }) -> RowCounts {
        var summary = DatasetSummary()
        summary.rows = 1000
        summary.done = 400
        summary.stored = 120
        summary.failed = ["timeout": 4, "not-found": 30, "overloaded": 4]
        change(&summary)
        return RowCounts(summary: summary, received: 5 << 20, rate: 1_048_576, rowRate: 12.34, isComplete: false)
    }

    @Test func theCountsHaveOpenShardsRatesAndReasons() {
        #expect(
            Self.counts().lines == [
                "1000+ rows: 400 done, 120 in an open shard, 38 failed  12 rows/s  5.00 MiB  1.00 MiB/s",
                "failed: not-found 30, overloaded 4, timeout 4",
            ]
        )
        let first = RowCounts(rowRate: 0.25)
        #expect(first.lines == ["0 rows: 0 done  0.3 rows/s  0 B  0 B/s"])
    }

    @Test func aTableIsShownByItsRows() {
        let totals = ProgressFrame.Totals(waiting: 2, rows: Self.counts())
        let lines = ProgressFrame(columns: 40, rows: 24).lines(RunModel(), totals)
        #expect(lines.count == 2 && lines.allSatisfy { $0.count < 40 })
        #expect(lines.first?.hasPrefix("1000+ rows: 400 done") == true)
    }

    @Test func aProgramGetsThemAsJSON() throws {
        let json = try JSON(parsing: Array(JSONEvents.counts(Self.counts { $0.reportedBefore = 7 }).utf8))
        #expect(json["event"] == "counts" && json["rows"] == 1000 && json["done"] == 400 && json["stored"] == 120)
        #expect(json["failed"] == ["not-found": 30, "overloaded": 4, "timeout": 4])
        #expect(json["reportedBefore"] == 7 && json["rowRate"]?.double == 12.34 && json["complete"] == false)
    }

    @Test func theyArePrintedOnceASecondIfTheyHaveChangedAndAtTheEnd() {
        var schedule = CountsSchedule()
        let (first, second) = (Self.counts(), Self.counts { $0.done += 1 })
        let printed = [
            schedule.line(first, at: 0), schedule.line(second, at: 0.9), schedule.line(second, at: 1),
            schedule.line(second, at: 5), schedule.line(first, at: 5.2), schedule.line(first, at: 5.3, isLast: true),
        ]
        #expect(printed.map { $0 != nil } == [true, false, true, false, true, true])
    }
}
