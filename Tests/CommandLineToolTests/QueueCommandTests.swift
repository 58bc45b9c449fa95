// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import Logging
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite(.timeLimit(.minutes(1))) struct QueueCommandTests {
    private let id = "00000000000000ab"

    private func record(_ id: String, _ state: TransferRecord.State, code: Int? = nil) throws -> TransferRecord {
        var record = TransferRecord(
            id: try #require(GID(id)),
            state: state,
            urls: ["http://user:secret@host/dir/a.bin?token=secret"],
            directory: "/d",
            added: 1
        )
        record.failure = code.map { .init(code: $0, message: "it broke", remedy: "mend it") }
        return record
    }

    private func event(_ kind: String, _ record: TransferRecord) -> JSON {
        ["kind": .string(kind), "transfer": record.json]
    }

    @Test(
        arguments: [
            ["list"], ["show", "ab"], ["pause", "--all"], ["resume", "ab"], ["retry", "ab"], ["remove", "ab"],
            ["forget", "--all"], ["move", "ab", "--top"], ["limit"], ["wait", "ab"], ["stop"],
            ["add", "--no-start", "http://h/a"],
        ]
    )
    func withoutADaemonEveryCommandSaysSoAndHowToStartOne(arguments: [String]) async throws {
        let temporary = try TemporaryDirectory()
        let result = try await commandResult(arguments + ["--state-dir", temporary.path + "/state"])
        #expect(result.status == 69)
        #expect(result.output == "")
        #expect(
            result.errors.hasPrefix(
                "martlet: no daemon runs for \(temporary.path)/state; start one with martlet daemon"
            )
        )
    }

    @Test("add -i adds a paused entry paused, under its id")
    func pausedEntry() async throws {
        let daemon = try await FakeDaemon.start()
        try daemon.temporary.write(
            Array("http://h/a\n gid=00000000000000ab\n pause=true\n split=3\nhttp://h/b\n pause=false\n".utf8),
            to: "list"
        )
        let result = try await daemon.run("add", "--paused", "-i", daemon.temporary.path("list"))
        #expect(result.status == 0 && result.output.hasPrefix("00000000000000ab\n"), "\(result)")
        let entries = daemon.calls(of: "martlet.add").first?["entries"]?.array ?? []
        #expect(entries.first?["paused"] == true && entries.first?["options"]?["split"] == "3")
        #expect(entries.last?["paused"] == nil)
    }

    @Test("an id that the queue has already costs only its own entry")
    func knownID() async throws {
        let daemon = try await FakeDaemon.start()
        try daemon.temporary.write(
            Array("http://h/a\n gid=00000000000000ab\nhttp://h/b\n gid=00000000000000ac\n".utf8),
            to: "list"
        )
        daemon.answer("martlet.add") { params in
            let ids = (params["entries"]?.array ?? []).compactMap { $0["id"]?.string }
            if ids.contains("00000000000000ab") { return .failure(ControlError(.duplicate, "known", remedy: "")) }
            return .success(.array(ids.map { .string($0) }))
        }
        let result = try await daemon.run("add", "-i", daemon.temporary.path("list"))
        #expect(result.status == 28 && result.output == "00000000000000ac\n")
        #expect(result.errors.contains("the id 00000000000000ab is in the queue already"))
    }

    @Test func webPrintsTheLinkOrSaysWhyThereIsNone() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.answer("martlet.pageTicket", .success(["url": "http://127.0.0.1:6800/?ticket=ab", "expires": 60]))
        let result = try await daemon.run("web", "--no-open")
        #expect(result.status == 0 && result.errors == "")
        #expect(result.output == "http://127.0.0.1:6800/?ticket=ab\n")
        let error = ControlError(.wrongState, "the daemon does not listen on TCP", remedy: "start it with --listen")
        daemon.answer("martlet.pageTicket", .failure(error))
        let refused = try await daemon.run("web", "--no-open")
        #expect(refused.status != 0 && refused.output == "")
        #expect(refused.errors.contains("does not listen on TCP") && refused.errors.contains("--listen"))
    }

    @Test func addPrintsTheIdsAndSendsWhatTheOptionsSay() async throws {
        let daemon = try await FakeDaemon.start()
        let digest = String(repeating: "ab", count: 32)
        let result = try await daemon.run(
            "add",
            "http://h/a b",
            "-d",
            "down",
            "-o",
            "sub/x.bin",
            "--checksum",
            "sha256:" + digest,
            "-H",
            "X-One: 1",
            "--header",
            "X-Two:2",
            "--referer",
            "http://r/",
            "-A",
            "me/1",
            "--paused",
            "--priority=-3",
            "--position",
            "0",
            "-x4",
            "--limit-rate",
            "1K",
            "--id",
            self.id,
            "--mirror",
            "http://m/a",
            "--if-exists",
            "rename",
            "--if-running",
            "wait",
            "--retries",
            "2",
            "--max-time",
            "60",
            "--outage-timeout",
            "90"
        )
        #expect(result.status == 0)
        #expect(result.output == self.id + "\n")
        let params = try #require(daemon.calls(of: "martlet.add").first)
        #expect(params["position"] == 0)
        let entry = try #require(params["entries"]?[0])
        #expect(entry["id"] == .string(self.id))
        #expect(entry["urls"] == ["http://h/a%20b", "http://m/a"])
        #expect(entry["paused"] == true)
        let options = TransferOptions(json: try #require(entry["options"]))
        #expect(options[.dir] == PosixPath.absolute("down/sub"))
        #expect(options[.out] == "x.bin")
        #expect(options[.checksum] == "sha-256=" + digest)
        #expect(options[all: .header] == ["X-One: 1", "X-Two: 2"])
        #expect(options[.referer] == "http://r/" && options[.userAgent] == "me/1")
        #expect(options[.priority] == "-3" && options[.ifExists] == "rename")
        #expect(options[.ifRunning] == "wait")
        #expect(options[.split] == "4" && options[.maxConnectionPerServer] == "4")
        #expect(options[.outageTimeout] == "90")
        #expect(options[.maxDownloadLimit] == "1024" && options[.maxTries] == "3" && options[.resourceTimeout] == "60")
    }

    @Test func addLeavesTheDirectoryToTheDaemonUnlessItIsGiven() async throws {
        let daemon = try await FakeDaemon.start()
        _ = try await daemon.run("add", "http://h/a", "http://h/b", "-q")
        let entries = try #require(daemon.calls(of: "martlet.add").first?["entries"]?.array)
        #expect(entries.count == 2 && entries.allSatisfy { $0["options"] == nil })
        _ = try await daemon.run("add", "http://h/a", "-o", "sub/x")
        let options = try #require(daemon.calls(of: "martlet.add").last?["entries"]?[0]?["options"])
        #expect(options["dir"] == .string(PosixPath.absolute("sub")))
    }

    @Test func addSendsFilesWhereItIsAskedTo() async throws {
        let daemon = try await FakeDaemon.start()
        let files = try TemporaryDirectory()
        try files.write([1], to: "a b")
        try files.write([2], to: "c")
        let result = try await daemon.run(
            "add",
            "--upload",
            files.path("a b"),
            files.path("c"),
            "http://h/in/",
            "--cookie",
            "k=v",
            "--type",
            "x/y",
            "--protocol",
            "ietf-6",
            "--upload-checksum",
            "sha256",
            "--no-expect",
            "--limit-rate",
            "1K",
            "--max-time",
            "9"
        )
        #expect(result.status == 0, "\(result.errors)")
        let entries = try #require(daemon.calls(of: "martlet.add").first?["entries"]?.array)
        #expect(entries.map { $0["urls"] } == [["http://h/in/a%20b"], ["http://h/in/c"]])
        let upload = try #require(entries.first?["upload"].flatMap { UploadSource(json: $0) })
        #expect(upload.path == files.path("a b") && upload.type == "x/y" && upload.collection == "http://h/in/")
        #expect(upload.resumption == "ietf-6" && upload.checksum == "sha256" && !upload.asksFirst)
        let options = TransferOptions(json: try #require(entries.first?["options"]))
        #expect(options[all: .header] == ["Cookie: k=v"] && options[.method] == nil && options[.dir] == nil)
        #expect(options[.maxUploadLimit] == "1024" && options[.maxDownloadLimit] == nil)
        #expect(options[.resourceTimeout] == "9")
    }

    @Test func addSendsAFormAndAListOfFiles() async throws {
        let daemon = try await FakeDaemon.start()
        let files = try TemporaryDirectory()
        try files.write([1], to: "f")
        try files.write(Array("\(files.path("f"))\n\n\(files.path("gone"))\n/dev/null\n".utf8), to: "list")
        let form = try await daemon.run(
            "add",
            "--upload",
            "http://h/form",
            "--form",
            "a=1",
            "--form",
            "f=@" + files.path("f")
        )
        #expect(form.status == 0, "\(form.errors)")
        let first = daemon.calls(of: "martlet.add").first?["entries"]?[0]?["upload"].flatMap { UploadSource(json: $0) }
        #expect(first?.isForm == true && first?.files == [files.path("f")])
        let list = try await daemon.run("add", "--upload", "-i", files.path("list"), "http://h/in/", "-X", "POST")
        #expect(list.status == 28)
        #expect(list.errors.contains(":3: ") && list.errors.contains("gone"))
        #expect(list.errors.contains(":4: /dev/null is not a regular file"))
        let entries = try #require(daemon.calls(of: "martlet.add").last?["entries"]?.array)
        #expect(entries.count == 1 && entries[0]["upload"]?["file"] == .string(files.path("f")))
        #expect(entries[0]["options"]?["method"] == "POST" && entries[0]["urls"] == ["http://h/in/"])
    }

    @Test func addReadsAListInBatchesAndSkipsBadLines() async throws {
        let daemon = try await FakeDaemon.start()
        var list =
            "# files\nhttp://h/first\n dir=down\n out=sub/x\n checksum=md5=\(String(repeating: "0", count: 32))\n"
        list += " user-agent=me\n header=X: 1\nno url\n"
        for number in 0..<1100 { list += "http://h/\(number)\thttp://m/\(number)\n" }
        try daemon.temporary.write(Array(list.utf8), to: "list")
        let result = try await daemon.run("add", "-i", daemon.temporary.path("list"), "--position", "7")
        #expect(result.status == 28)
        #expect(result.output.split(separator: "\n").count == 1101)
        #expect(result.errors.contains("/list:8: "))
        let calls = daemon.calls(of: "martlet.add")
        #expect(calls.map { $0["entries"]?.array?.count } == [500, 500, 101])
        #expect(calls.map { $0["position"]?.integer } == [7, 507, 1007])
        let options = TransferOptions(json: try #require(calls[0]["entries"]?[0]?["options"]))
        #expect(options[.dir] == PosixPath.absolute("down") && options[.out] == "sub/x")
        #expect(options[.checksum] == "md5=" + String(repeating: "0", count: 32))
        #expect(options[.userAgent] == "me" && options[all: .header] == ["X: 1"])
        #expect(calls[0]["entries"]?[1]?["urls"] == ["http://h/0", "http://m/0"])
    }

    @Test(
        arguments: [
            ["add"], ["add", "ftp://h/a"], ["add", "http://h/a", "http://h/b", "-o", "x"],
            ["add", "http://h/a", "-o", "-"], ["add", "http://h/a", "-i", "f"],
            ["add", "http://h/a", "http://h/b", "--id", "00000000000000ab"], ["add", "http://h/a", "-d", ""],
            ["add", "--upload"], ["add", "--upload", "http://h/"], ["add", "--upload", "/nonexistent/f", "http://h/"],
            ["add", "--upload", "-", "http://h/f"], ["add", "--upload", "/etc/passwd", "/etc/group", "http://h/f"],
            ["add", "--upload", "/etc/passwd", "http://h/", "-o", "x"], ["add", "http://h/", "--type", "a/b"],
            ["add", "--upload", "/etc/passwd", "/etc/group", "http://h/", "--id", "00000000000000ab"],
            ["pause"], ["pause", "ab", "--all"], ["pause", "ab", "--session", "s"], ["move", "ab"],
            ["move", "ab", "3", "--top"], ["limit", "--host", "h"], ["limit", "--schedule", "22:00"],
            ["limit", "--schedule", "24:00-07:00"], ["limit", "--days", "mon"],
            ["limit", "--schedule", "22:00-07:00", "--days", "mon-"],
            ["limit", "ab", "--downloads", "3"], ["wait"], ["limit", "ab", "--notify", "none"],
            ["wait", "ab", "--all"],
        ]
    )
    func contradictionsAreToldBeforeAnythingIsAsked(arguments: [String]) async throws {
        let temporary = try TemporaryDirectory()
        let result = try await commandResult(arguments + ["--state-dir", temporary.path + "/state"])
        #expect(result.status == 28)
        #expect(result.errors.hasPrefix("Error: "))
    }

    @Test func theDaemonsErrorsAreToldWithTheirRemedy() async throws {
        let daemon = try await FakeDaemon.start()
        for (code, status) in [
            (ControlError.Code.ambiguous, Int32(28)), (.notFound, 28), (.wrongState, 28), (.duplicate, 28),
            (.diskFull, 9),
            (.storage, 1), (.stopping, 69),
        ] {
            daemon.answer("martlet.pause", .failure(ControlError(code, "what", remedy: "how")))
            let result = try await daemon.run("pause", "ab")
            #expect(result.status == status)
            #expect(result.errors == "martlet: what; how\n")
        }
    }

    @Test func aSelectionIsSentAsTheUserWroteIt() async throws {
        let daemon = try await FakeDaemon.start()
        #expect(try await daemon.run("pause", "ab", "cd").output == "2 paused\n")
        #expect(try await daemon.run("remove", "--all", "--session", "s", "--delete-partial").output == "2 removed\n")
        #expect(daemon.calls(of: "martlet.pause") == [["ids": ["ab", "cd"]]])
        #expect(daemon.calls(of: "martlet.remove") == [["all": true, "session": "s", "deletePartial": true]])
        for (command, method) in [("resume", "resume"), ("retry", "retry"), ("forget", "forget")] {
            #expect(try await daemon.run(command, "--all").status == 0)
            #expect(daemon.calls(of: "martlet." + method) == [["all": true]])
        }
    }

    @Test func aMoveSaysWhereFrom() async throws {
        let daemon = try await FakeDaemon.start()
        for arguments in [["5"], ["--top"], ["--bottom"], ["--up"], ["--down"]] {
            let result = try await commandResult(["move", "ab"] + arguments + ["--state-dir", daemon.state.path])
            #expect(result.output == "at position 3\n")
        }
        #expect(
            daemon.calls(of: "martlet.move").map { "\($0["position"]?.integer ?? -9) \($0["how"]?.string ?? "")" }
                == ["5 POS_SET", "0 POS_SET", "0 POS_END", "-1 POS_CUR", "1 POS_CUR"]
        )
    }

    @Test func limitsAreSetAndShown() async throws {
        let daemon = try await FakeDaemon.start()
        _ = try await daemon.run(
            "limit",
            "--rate",
            "1M",
            "--downloads",
            "3",
            "--host",
            "h=2",
            "--host",
            "i=0",
            "--schedule",
            "22:00-07:30"
        )
        #expect(
            daemon.calls(of: "martlet.setLimits")
                == [["options": ["max-concurrent-downloads": "3", "max-overall-download-limit": "1048576"]]]
        )
        #expect(
            daemon.calls(of: "martlet.setHostLimit") == [
                ["host": "h", "connections": 2], ["host": "i", "connections": .null],
            ]
        )
        _ = try await daemon.run("limit", "--schedule", "none")
        _ = try await daemon.run("limit", "--schedule", "22:00-07:30", "--days", "fri-MON,wed")
        #expect(
            daemon.calls(of: "martlet.schedule") == [
                [["start": "22:00", "end": "07:30"]], [.null],
                [["start": "22:00", "end": "07:30", "days": ["mon", "wed", "fri", "sat", "sun"]]],
            ]
        )
        _ = try await daemon.run("limit", "--notify", "finished,failed,finished")
        #expect(daemon.calls(of: "martlet.setLimits").last == ["options": ["notify": "finished,failed"]])
        _ = try await daemon.run("limit", "ab", "--rate", "2K")
        #expect(
            daemon.calls(of: "martlet.setOptions")
                == [["id": "ab", "options": ["max-download-limit": "2048", "max-upload-limit": "2048"]]]
        )
        daemon.answer(
            "martlet.limits",
            .success(
                [
                    "options": ["max-concurrent-downloads": "5", "max-overall-download-limit": "20M", "timeout": "60"],
                    "hosts": ["h": 2],
                    "schedule": ["start": "22:00", "end": "07:00", "days": ["mon", "tue"]],
                ]
            )
        )
        #expect(
            try await daemon.run("limit").output
                == "rate: 20.0 MiB/s\ndownloads: 5\nhost h: 2 connections\nschedule: 22:00-07:00 mon,tue\n"
        )
    }

    @Test func aListIsATableOrObjectsOneALine() async throws {
        let daemon = try await FakeDaemon.start()
        #expect(try await daemon.run("list").output == "")
        var active = try self.record(self.id, .active)
        active.bytes = 512 << 10
        active.total = 1 << 20
        active.rate = 256 << 10
        daemon.put(active)
        for number in 0..<700 {
            daemon.put(try self.record("00000000000001" + String(100 + number % 100).suffix(2), .waiting))
        }
        let lines = try await daemon.run("list").output.split(separator: "\n")
        #expect(lines.count == 102)
        #expect(lines[0].split(separator: " ") == ["ID", "STATE", "DONE", "SIZE", "RATE", "LEFT", "NAME", "REASON"])
        #expect(lines[1].contains("active") && lines[1].contains("50%") && lines[1].contains("1.00 MiB"))
        #expect(lines[1].contains("256 KiB/s") && lines[1].contains("0:02") && lines[1].hasSuffix("a.bin"))
        let objects = try await daemon.run("list", "--json", "--limit", "1", "--state", "active", "--session", "s")
            .output
        #expect(objects == active.json.text + "\n")
        let params = try #require(daemon.calls(of: "martlet.list").last)
        #expect(params["states"] == ["active"] && params["session"] == "s" && params["limit"] == 1)
        #expect(try await daemon.run("list", "--watch").status == 28)
    }

    @Test func aListIsReadPageByPage() async throws {
        let daemon = try await FakeDaemon.start()
        for number in 1...1100 {
            daemon.put(try self.record("000000000000" + String(number + 0x1000, radix: 16), .waiting))
        }
        let output = try await daemon.run("list", "--json").output
        #expect(output.split(separator: "\n").count == 1100)
        // One list that nothing changes, to its end.
        #expect(daemon.calls(of: "martlet.openList").count == 1)
        #expect(daemon.calls(of: "martlet.readList").compactMap { $0["list"]?.string } == ["l1", "l1", "l1"])
        let some = try await daemon.run("list", "--json", "--limit", "1050").output
        #expect(some.split(separator: "\n").count == 1050)
    }

    @Test("the details of a transfer have its attempts, header fields and log, and no control character of a server")
    func details() throws {
        let evil = "<img src=x>\u{1B}[2J\u{202E}"
        var record = TransferRecord(
            id: try #require(GID(rawValue: 7)),
            state: .failed,
            urls: ["http://h/a"],
            directory: "/d",
            added: 1_000_000_000
        )
        var attempt = TransferDetails.Attempt(started: 1_000_000_001, url: "http://h/a")
        (attempt.ended, attempt.status, attempt.resumedFrom, attempt.bytes) = (1_000_000_003.5, 206, 1024, 2048)
        (attempt.outcome, attempt.message, attempt.nextTry) = ("retrying", evil, .infinity)
        let field = TransferDetails.Field(name: "X-Evil", value: evil)
        record.details = TransferDetails(
            attempts: [attempt],
            response: TransferDetails.Response(
                at: 1_000_000_002,
                status: 206,
                fields: [field, TransferDetails.Field(name: "Set-Cookie", value: nil)]
            ),
            started: 1_000_000_001,
            log: [TransferDetails.Line(at: .nan, text: evil)]
        )
        let lines = TransferText.lines(record)
        let text = lines.joined(separator: "\n")
        #expect(text.contains("2.50 s, status 206, from 1.00 KiB, 2.00 KiB, retrying, <img src=x>"))
        #expect(text.contains("header:       X-Evil: <img") && text.contains("Set-Cookie: (not shown)"))
        #expect(lines.last?.hasPrefix("log:          ? <img") == true)
        #expect(!text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
    }

    @Test func columnsKeepTheirWidthAndTheReasonIsOne() throws {
        var waiting = try self.record(self.id, .waiting)
        waiting.waitingFor = .diskFull
        var failed = try self.record(self.id, .failed, code: 3)
        failed.failure?.status = 503
        var held = waiting
        held.waitingFor = .host
        held.hold = TransferRecord.Hold(
            host: "a.example:80",
            reason: "unreachable",
            cause: "connection refused",
            message: "a.example:80 refused the connection",
            since: 1_000_000_000,
            nextTry: 1_000_000_100
        )
        let since = TransferText.timeOfDay(1_000_000_000)
        let sentence = "unreachable since \(since), next try in 40 s: connection refused"
        var table = TransferTable()
        table.now = 1_000_000_060
        let lines = [table.heading] + [waiting, failed, held].map { table.line($0) }
        // The names, and the reasons, which come last, begin in one column.
        let reasons = ["REASON", "disk-full", "HTTP 503", "host " + sentence]
        #expect(zip(lines, reasons).allSatisfy { $0.hasSuffix("  " + $1) })
        #expect(Set(zip(lines, reasons).map { $0.count - $1.count }).count == 1)
        let narrow = TransferTable(columns: 80, now: 1_000_000_060)
        #expect(lines.allSatisfy { $0.contains("  a.bin  ") || $0.contains("  NAME  ") })
        #expect(narrow.line(held).contains("  a.bin  ") && DisplayWidth.of(narrow.line(held)) < 80)
        let details = TransferText.lines(held, now: 1_000_000_060)
        #expect(details.contains("waits:        a.example:80 " + sentence))
        #expect(details.contains("last attempt: a.example:80 refused the connection"))
        #expect(TransferRecord(json: held.json) == held)
        var retrying = try self.record(self.id, .retrying)
        retrying.retry = .init(code: "http-status", message: "status 503", attempt: 2, nextTry: 1_000_000_100)
        #expect(table.line(retrying).hasSuffix("next try in 40 s: status 503"))
        #expect(TransferText.lines(retrying, now: 1_000_000_060).contains("waits:        next try in 40 s: status 503"))
        #expect(TransferRecord(json: retrying.json) == retrying)
        held.hold?.nextTry = .infinity
        #expect(table.line(held).contains("next try in 0 s"))
        held.hold?.nextTry = nil
        held.hold?.reason = "network"
        #expect(table.line(held).hasSuffix("network unreachable since \(since), trying now: connection refused"))
    }

    @Test func aNarrowTableLeavesOutColumnsBeforeItShortensNumbers() throws {
        var running = try self.record(self.id, .active)
        running.bytes = 36 << 20
        running.total = 100 << 20
        running.rate = 952 << 10
        for columns in [80, 68, 60, 50, 40, 38] {
            let table = TransferTable(columns: columns)
            let line = table.line(running)
            #expect(DisplayWidth.of(line) < columns)
            #expect(line.contains("  36%  ") && line.hasSuffix("  a.bin") && !line.contains("…"), "\(columns): \(line)")
            #expect(table.heading.contains("RATE") == (columns >= 50))
            #expect(table.heading.contains("LEFT") == (columns > 68))
        }
    }

    @Test func showTellsAllDetails() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, .failed, code: 3))
        let text = try await daemon.run("show", "0000000000").output
        #expect(text.contains("id:           \(self.id)\n"))
        #expect(text.contains("error:        it broke (3)\n") && text.contains("remedy:       mend it\n"))
        let object = try await daemon.run("show", "0000000000", "--json").output
        #expect(object == (try self.record(self.id, .failed, code: 3)).json.text + "\n")
        let missing = try await daemon.run("show", "ff")
        #expect(missing.status == 28 && missing.errors == "martlet: there is no transfer 'ff'\n")
    }

    @Test(arguments: [(nil, Int32(0)), (3, 3), (24, 24), (0, 1)]) func waitEndsWithTheTransfersStatus(
        code: Int?,
        status: Int32
    ) async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, .active))
        let ended = try self.record(self.id, code == nil ? .finished : .failed, code: code)
        let other = try self.record("00000000000000cd", .failed, code: 9)
        daemon.give(events: [[self.event("failed", other), self.event(ended.state.rawValue, ended)]])
        let result = try await daemon.run("wait", "00000000000000a")
        #expect(result.status == status)
        #expect(result.errors == (code == nil ? "" : "failed: a.bin: it broke\n"))
    }

    @Test func waitKnowsWhatHadEndedBefore() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, .finished))
        daemon.put(try self.record("00000000000000cd", .removed))
        #expect(try await daemon.run("wait", self.id).status == 0)
        #expect(try await daemon.run("wait", self.id, "00000000000000cd").status == 7)
    }

    @Test func waitSurvivesTheDaemonsRestart() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, .active))
        let ended = try self.record(self.id, .failed, code: 22)
        daemon.give(events: [
            [self.event("started", try self.record(self.id, .active))], [], [self.event("failed", ended)],
        ])
        let result = try await daemon.run("wait", self.id)
        #expect(result.status == 22)
        #expect(result.errors.contains("lost the connection to the daemon"))
    }

    @Test func waitLooksAtAllWhoseEndIsNotKnownAfterALoss() async throws {
        let daemon = try await FakeDaemon.start()
        let ids = (1...1001).map { number in String(String(UInt64(number) | 1 << 60, radix: 16)) }
        // The first six hundred have ended at the first check; no event reports the ends of the others.
        for (index, id) in ids.enumerated() { daemon.put(try self.record(id, index < 600 ? .finished : .active)) }
        daemon.give(events: Array(repeating: [], count: 300))
        let waiting = Task {
            try await commandResult(["wait", "--state-dir", daemon.state.path] + ids)
        }
        let end = ContinuousClock.now + .seconds(20)
        while daemon.calls(of: "martlet.show").count < 3, ContinuousClock.now < end { await Task.yield() }
        for id in ids[600...] { daemon.put(try self.record(id, .finished)) }
        #expect(try await waiting.value.status == 0)
    }

    @Test func waitEndsForOneThatIsForgottenMeanwhile() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, .active))
        daemon.give(events: Array(repeating: [], count: 300))
        let waiting = Task { try await daemon.run("wait", self.id) }
        let end = ContinuousClock.now + .seconds(20)
        while daemon.calls(of: "martlet.show").isEmpty, ContinuousClock.now < end { await Task.yield() }
        daemon.forgetAll()
        #expect(try await waiting.value.status == 7)
    }

    @Test func waitForAllEndsWhenNothingIsLeft() async throws {
        let daemon = try await FakeDaemon.start()
        #expect(try await daemon.run("wait", "--all").status == 0)
        daemon.put(try self.record(self.id, .waiting))
        daemon.give(events: [[self.event("failed", try self.record(self.id, .failed, code: 8)), ["kind": "drained"]]])
        #expect(try await daemon.run("wait", "--all").status == 8)
    }

    @Test(arguments: [TransferRecord.State.retrying, .held])
    func waitForAllIncludesTheStartedOnesThatWait(_ state: TransferRecord.State) async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, state))
        daemon.give(events: [[self.event("failed", try self.record(self.id, .failed, code: 6)), ["kind": "drained"]]])
        #expect(try await daemon.run("wait", "--all").status == 6)
    }

    @Test func waitForAllNamesPausedTransfers() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.put(try self.record(self.id, .paused))
        let result = try await daemon.run("wait", "--all")
        #expect(result.status == 7 && result.errors.contains("1 transfer is paused; martlet resume --all"))
    }

    @Test func addWithWaitEndsAsTheTransferDoes() async throws {
        let daemon = try await FakeDaemon.start()
        daemon.give(events: [[self.event("failed", try self.record(self.id, .failed, code: 6))]])
        let result = try await daemon.run("add", "http://h/a", "--id", self.id, "--wait")
        #expect(result.status == 6 && result.output == self.id + "\n")
    }

    @Test func noNameTellsASecretOrMovesTheCursor() throws {
        var record = try self.record(self.id, .waiting)
        #expect(TransferTable.name(of: record) == "a.bin")
        record.urls = ["http://user:secret@host/?token=secret"]
        #expect(TransferTable.name(of: record) == "host")
        record.urls = ["http://user:secret@host"]
        #expect(TransferTable.name(of: record) == "host")
        record.urls = []
        #expect(TransferTable.name(of: record) == "?")
        record.path = "/d/a\u{1B}[2J"
        #expect(!TransferTable().line(record).contains("\u{1B}"))
        #expect(DisplayWidth.of(TransferTable(columns: 40).line(record)) < 40)
    }

    @Test func aDetachedDaemonGetsTheSameOptions() throws {
        let command = try #require(
            try QueueRun.command([
                "daemon", "--detach", "--dir", "down", "--listen", "none", "--allow-dir", "/a", "--allow-dir", "b",
                "--on-finish", "echo done", "--on-start=--dashes", "-j3", "--log-level", "debug", "--rpc-secret",
                "token",
                "--insecure-notifications", "--rpc-allow-host", "h", "--on-download-complete", "./done",
                "--save-session",
                "session", "--save-session-interval", "60", "--notify", "done,failed",
            ]) as? DaemonCommand
        )
        #expect(
            command.arguments == [
                "--dir=" + PosixPath.absolute("down"), "--save-session=" + PosixPath.absolute("session"),
                "--save-session-interval=60", "--allow-dir=/a", "--allow-dir=" + PosixPath.absolute("b"),
                "--listen=none", "--rpc-allow-host=h", "--insecure-notifications", "--notify=failed,done",
                "--max-concurrent-downloads=3", "--on-start=--dashes", "--on-finish=echo done",
                "--on-download-complete=./done", "--log-level=debug",
            ]
        )
        #expect(!command.arguments.contains { $0.contains("token") })
        // Read by the daemon itself, they mean the same.
        let first = try command.settings()
        let other = try #require(try QueueRun.command(["daemon"] + command.arguments) as? DaemonCommand)
        let second = try other.settings()
        #expect(first.directory == second.directory && first.allowedDirectories == second.allowedDirectories)
        #expect(first.listening == .none && second.listening == .none && first.hooks == second.hooks)
        #expect(first.options == second.options && first.logLevel == .debug && second.logLevel == .debug)
        #expect(second.hooks.own == [.start: "--dashes", .finish: "echo done"])
        #expect(second.hooks.aria2 == [.complete: "./done"] && second.allowsOpenNotifications)
    }

    @Test func theNameMartletdIsTheDaemon() throws {
        for name in ["martletd", "/usr/bin/martletd", "./martletd"] {
            #expect(CommandLineTool.words(of: [name, "-j", "3"]) == ["daemon", "-j", "3"])
        }
        #expect(CommandLineTool.words(of: ["/usr/bin/martlet", "get"]) == ["get"])
        #expect(CommandLineTool.words(of: []) == [])
        let version = CommandLineTool.run(["daemon", "--version"])
        #expect(version.status == 0 && version.output == "martletd \(MartletVersion.text)\n")
    }

    @Test(arguments: ["1 h", "70000", "[::1", "::1:6800", "x:"])
    func anAddressThatCannotBeListenedOnIsRefused(_ text: String) async throws {
        let result = try await commandResult(["daemon", "--listen", text])
        #expect(result.status == 28 && result.errors.contains("--listen '\(text)'"))
    }

    @Test func aTokenIsGivenInOneWayOnly() async throws {
        let result = try await commandResult(["daemon", "--detach", "--rpc-secret", "a", "--rpc-secret-file", "/b"])
        #expect(result.status == 28)
    }
}
