// SPDX-License-Identifier: Apache-2.0
import Control
import Testing

@testable import CommandLineTool

@Suite struct TopScreenTests {
    private func active(_ number: UInt64, name: String) -> TransferRecord {
        var record = TopWorld.record(number, .active, name: name)
        (record.bytes, record.total, record.rate, record.connections) = (450 << 20, 1000 << 20, 1 << 20, 2)
        return record
    }

    private func world(columns: Int, rows: Int) -> TopWorld {
        var world = TopWorld(columns: columns, rows: rows)
        var failed = TopWorld.record(3, .failed, name: "c.bin")
        failed.failure = .init(code: 3, message: "the server responded with 404", remedy: "check the URL", status: 404)
        var held = TopWorld.record(2, .waiting, name: "b.bin")
        held.hold = .init(
            host: "host2.example",
            reason: "unreachable",
            cause: "connection refused",
            message: "connection refused",
            since: 1_790_000_000,
            nextTry: 1_790_000_040
        )
        world.records = [self.active(1, name: "日本.iso"), held, failed]
        world.settle()
        return world
    }

    @Test func a80ColumnTerminalHasAllColumns() {
        let lines = self.world(columns: 80, rows: 24).lines()
        #expect(lines[3].hasPrefix("[1 All 3] 2 Active 1  3 Waiting 1  4 Paused 0  5 Failed 1  6 Done 0"))
        #expect(lines[4] == "   NAME                   HOST         STATE    DONE     SIZE       RATE    LEFT")
        #expect(lines[5] == ">  日本.iso               host1.…ample ███▌····  45% 0.98 GiB 1.00 MiB/s    9:10")
        #expect(lines[6].hasPrefix("   b.bin                  host2.…ample waiting: host unreachable since "))
        #expect(lines[7].hasPrefix("   c.bin                  host3.…ample failed: HTTP 404"))
        #expect(lines[23].hasPrefix(" q quit  ? keys  p pause  r resume"))
    }

    @Test func withoutTheDaemonNothingLooksLive() {
        var world = self.world(columns: 80, rows: 24)
        world.tick()
        world.answerLoad(ControlError(.unreachable, "gone"))
        let lines = world.lines()
        #expect(lines[0].contains("disconnected") && lines[5].contains(" 45% 0.98 GiB") && !lines[5].contains("/s"))
        world.settle()
        world.tick(3)
        world.tick(3)
        #expect(!world.lines()[5].contains("/s"))
    }

    @Test func aRetryingTransferSaysWhenAndWhy() {
        var world = self.world(columns: 80, rows: 24)
        world.records[0].state = .retrying
        world.records[0].retry = .init(code: "overloaded", message: "status 503", attempt: 1, nextTry: 1_790_000_600)
        world.tick()
        world.settle()
        #expect(world.lines()[3].hasPrefix("[1 All 3] 2 Active 1"))
        #expect(world.lines()[5].contains("retrying: next try in 5") && world.lines()[21].contains("status 503"))
    }

    @Test func theStatusSaysWhyTheSelectedTransferWaitsOrFailed() {
        var world = self.world(columns: 80, rows: 24)
        world.press(.down)
        #expect(world.lines()[21].hasPrefix(" host2.example unreachable since "))
        #expect(world.lines()[22].contains("connection refused"))
        world.press(.down)
        #expect(world.lines()[21].hasPrefix(" the server responded with 404 "))
        #expect(world.lines()[22].hasPrefix(" check the URL "))
    }

    @Test func theListShowsNoSecretsOfAURL() {
        var world = self.world(columns: 120, rows: 24)
        world.records[0].urls = ["http://user:password@host1.example/a.iso?token=secret"]
        world.tick()
        world.settle()
        let text = world.lines().joined(separator: "\n")
        #expect(text.contains("http://host1.example/a.iso"))
        #expect(!text.contains("password") && !text.contains("secret"))
    }

    @Test func smallTerminalsKeepWhatIsMostImportant() {
        let lines = self.world(columns: 40, rows: 10).lines()
        #expect(lines.count == 10)
        #expect(lines[3].hasPrefix(">  日本.iso "))
        #expect(lines[3].hasSuffix(" 45% 1.00 MiB/s"))
        #expect(self.world(columns: 20, rows: 1).lines() == [">  日本.iso      45%"])
        #expect(self.world(columns: 0, rows: 0).lines() == [])
        var single = self.world(columns: 30, rows: 1)
        single.type("d")
        #expect(single.lines()[0].hasPrefix(" remove 日本.iso?"))
    }

    @Test func withoutUnicodeEverythingIsASCII() {
        let lines = self.world(columns: 80, rows: 24).lines(unicode: false)
        #expect(lines.allSatisfy { $0.unicodeScalars.allSatisfy(\.isASCII) })
        #expect(lines[5].contains(" ###-----  45% "))
    }

    @Test func noColourMeansNoColour() {
        let frame = TopScreen(unicode: true).frame(self.world(columns: 80, rows: 24).model)
        for (colour, codes) in [(true, ["0", "1", "2", "7", "31", "32", "33", "36"]), (false, ["0", "1", "2", "7"])] {
            var painter = TopPainter(colour: colour)
            var terminal = TerminalDouble(columns: 80, rows: 24)
            terminal.write(painter.text(for: frame))
            #expect(terminal.attributes.isSubset(of: codes))
            #expect(colour == terminal.attributes.contains { $0.count == 2 })
        }
    }

    @Test func onlyChangedLinesAreWritten() {
        var world = self.world(columns: 80, rows: 24)
        let screen = TopScreen(unicode: true)
        var painter = TopPainter(colour: true)
        let all = painter.text(for: screen.frame(world.model))
        #expect(painter.text(for: screen.frame(world.model)) == "")
        world.records[0].bytes += 100 << 20
        world.tick()
        world.settle()
        let change = painter.text(for: screen.frame(world.model))
        #expect(change.contains("55%") && change.utf8.count < all.utf8.count / 2)
        #expect(!change.contains("c.bin"))
    }

    @Test func thePlotHasTheRatesOfTheLastMinutes() {
        var history = TopRateHistory()
        for second in 0..<600 { history.add(second < 450 ? 1000 : 500, at: Double(second)) }
        #expect(
            history.columns(10, until: 599, interval: 1).map { $0.map { Int($0) } } == [
                1000, 1000, 1000, 1000, 1000, 500, 500, 500, 500, 500,
            ]
        )
        #expect(history.peak(until: 599) == 1000)
        #expect(history.peak(until: 800) == 500)
        #expect(history.columns(4, until: 1000, interval: 1) == [nil, nil, nil, nil])
        #expect(history.columns(0, until: 1000, interval: 1) == [])
        var sparse = TopRateHistory()
        sparse.add(8, at: 0)
        sparse.add(8, at: 20)
        #expect(sparse.columns(30, until: 20, interval: 20).suffix(3) == [8, 8, 8])
        let plot = TopPlot(values: [nil, 0, 1, 8, 16], peak: 16, rows: 2, unicode: true)
        #expect(plot.lines == ["    █", "  ▁██"])
        #expect(TopPlot(values: [4, 8], peak: 8, rows: 1, unicode: false).lines == [":#"])
    }

    @Test func sessionsAreShownUnderTheirProgram() {
        var world = self.world(columns: 100, rows: 24)
        world.records[0].session = "s"
        world.tick()
        world.settle()
        world.tick(11)
        world.settle()
        #expect(world.lines()[5].hasPrefix(">  [program] 日本.iso"))
    }

    @Test func longTextsAreBrokenAtSpacesAndIndented() {
        #expect(TopText.wrapped("one two three", columns: 8, indent: 2) == ["one two", "  three"])
        #expect(TopText.wrapped("abcdefgh", columns: 3) == ["abc", "def", "gh"])
        #expect(TopText.wrapped("日本語", columns: 5) == ["日本", "語"])
        #expect(TopText.wrapped("日本", columns: 1) == ["日", "本"])
        #expect(TopText.wrapped("a\u{1B}b", columns: 9) == ["a\u{FFFD}b"])
        #expect(TopText.wrapped("x", columns: 0) == [])
    }
}
