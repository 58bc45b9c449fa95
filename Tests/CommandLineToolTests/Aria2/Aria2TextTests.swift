// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferEngine

@testable import CommandLineTool

@Suite("aria2c's output") struct Aria2TextTests {
    private let text = Aria2Text()

    private func row(_ number: Int, _ bytes: Int64, of total: Int64?, rate: Double, left: Double?) -> RunModel.Row {
        var model = RunModel()
        let id = TransferID(UInt64(number))
        let gid = GID(rawValue: UInt64(number) << 40)
        model.apply(TransferEvent(id: id, url: "http://h/a", userInfo: gid, kind: .started(path: "/d/a")))
        var progress = TransferEvent.Progress(bytes: bytes, total: total, rate: rate, secondsLeft: left, connections: 2)
        progress.connections = 2
        return model.apply(TransferEvent(id: id, url: "http://h/a", userInfo: nil, kind: .progress(progress)))
            ?? RunModel.Row(id: id, name: "")
    }

    @Test(
        "sizes are abbreviated as by aria2",
        arguments: [
            (0, "0"), (921, "921"), (922, "0.9Ki"), (1024, "1.0Ki"), (5_000_000, "4.7Mi"), (540_672, "528Ki"),
            (454_033_408, "433Mi"), (1 << 40, "1024Gi"), (-5, "0"),
        ] as [(Int64, String)]
    )
    func sizes(count: Int64, text: String) {
        #expect(self.text.size(count) == text)
        #expect(Aria2Text(isHumanReadable: false).size(count) == "\(count)")
    }

    @Test("times are abbreviated as by aria2", arguments: [(3, "3s"), (60, "1m"), (3661, "1h1m1s"), (0, "0s")])
    func times(seconds: Int, text: String) { #expect(self.text.time(seconds) == text) }

    @Test("a file's progress is on a line that programs parse")
    func progress() {
        let row = self.row(0x91cbab, 1 << 20, of: 5_000_000, rate: 1_048_576, left: 3.7)
        #expect(self.text.progress(row) == "[#91cbab 1.0MiB/4.7MiB(20%) CN:2 DL:1.0MiB ETA:3s]")
        let unknown = self.row(0x91cbab, 10, of: nil, rate: 0, left: nil)
        #expect(self.text.progress(unknown) == "[#91cbab 10B/0B CN:2 DL:0B]")
        #expect(self.text.readout([], rate: 0) == "")
        let rows = (1...7).map { self.row($0, 1024, of: 2048, rate: 1, left: nil) }
        #expect(
            self.text.readout(Array(rows.prefix(2)), rate: 2048)
                == "[DL:2.0KiB][#000001 1.0KiB/2.0KiB(50%)][#000002 1.0KiB/2.0KiB(50%)]"
        )
        #expect(self.text.readout(rows, rate: 0).hasSuffix("[#000005 1.0KiB/2.0KiB(50%)](+2)"))
    }

    @Test("messages have aria2's form")
    func messages() {
        let line = Aria2Text.line(.notice, "Download complete: /d/a", at: "11/27 06:17:13", isColoured: false)
        #expect(line == "\n11/27 06:17:13 [NOTICE] Download complete: /d/a")
        #expect(Aria2Text.line(.error, "x", at: "t", isColoured: true) == "\nt [\u{1B}[1;31mERROR\u{1B}[0m] x")
        let failure = TransferFailure(.notFound, "the server responded with 404")
        #expect(
            Aria2Text.failure(failure, url: "http://h/a")
                == "Download aborted. URI=http://h/a\nException: errorCode=3 URI=http://h/a\n"
                + "  -> errorCode=3 the server responded with 404"
        )
    }

    @Test("the remedies name aria2's options")
    func remedies() {
        for setting in TransferFailure.Setting.allCases where setting != .addresses {
            #expect(!Aria2Text.option(setting).contains("martlet"))
        }
    }

    @Test("the table of results is that of aria2")
    func results() {
        var results = Aria2Results(limit: 2)
        #expect(results.lines(self.text, isFull: false).count == 4)
        results.add(.init(id: "aaaaaa", state: .complete, rate: 1, percent: 100, place: "dropped"))
        results.add(.init(id: "8324a8", state: .complete, rate: 454_033_408, percent: 100, place: "/d/a.bin"))
        #expect(!results.hasFailures)
        results.add(.init(id: "c785db", state: .failed, rate: nil, percent: nil, place: "http://h/b"))
        #expect(results.hasFailures)
        #expect(
            results.lines(self.text, isFull: false) == [
                "", "Download Results:", "gid   |stat|avg speed  |path/URI",
                "======+====+===========+=======================================================",
                "8324a8|OK  |   433MiB/s|/d/a.bin", "c785db|ERR |        n/a|http://h/b", "", "Status Legend:",
                "(OK):download completed.(ERR):error occurred.",
            ]
        )
        #expect(
            results.lines(self.text, isFull: true)[2...5] == [
                "gid   |stat|avg speed  |  %|path/URI",
                "======+====+===========+===+===================================================",
                "8324a8|OK  |   433MiB/s|100|/d/a.bin", "c785db|ERR |        n/a|  -|http://h/b",
            ]
        )
    }

    @Test("the version begins as aria2's, and the help can be searched")
    func help() throws {
        let version = try #require(Aria2Help.text(try Aria2Settings(parsing: ["-v"])))
        #expect(version.hasPrefix("aria2 version 1.36.0 (martlet "))
        let help = try #require(Aria2Help.text(try Aria2Settings(parsing: ["--help=continue"])))
        #expect(help.contains(" -c, --continue[=true|false]") && !help.contains("--split"))
        #expect(try #require(Aria2Help.text(try Aria2Settings(parsing: ["-h#all"]))).contains("Refused:"))
        #expect(Aria2Help.text(Aria2Settings()) == nil)
    }

    @Test("the name selects the command")
    func name() {
        #expect(CommandLineTool.words(of: ["/usr/bin/aria2c", "-c"]) == ["aria2c", "-c"])
        let result = CommandLineTool.run(["aria2c", "--bogus"])
        #expect(result.status == 28 && result.output == "" && result.errors.hasPrefix("aria2c: unrecognized option"))
        #expect(CommandLineTool.run(["aria2c", "-i", "/nonexistent/list"]).status == 1)
        #expect(
            CommandLineTool.run(["aria2c", "--conf-path=/nonexistent", "http://h/"]).errors.contains("is not found")
        )
    }
}
