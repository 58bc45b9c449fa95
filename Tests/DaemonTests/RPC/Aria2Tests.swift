// SPDX-License-Identifier: Apache-2.0
import Control
import Synchronization
import Testing
import TransferCore

@testable import Daemon

@Suite("aria2's methods")
struct Aria2Tests {
    let bench = RPCBench()

    private func add(_ options: JSON = ["pause": "true"], _ urls: JSON = ["http://h/x"]) async -> String {
        await self.bench.call("aria2.addUri", [urls, options]).result?.string ?? ""
    }

    @Test("addUri says what is wrong with its parameters, in aria2's words")
    func addErrors() async {
        let cases: [(JSON, String)] = [
            ([], "The parameter at 0 is required but missing."), (["http://x"], "The parameter at 0 has wrong type."),
            ([[]], "URI is not provided."), ([["http://h/x"], 5], "The parameter at 1 has wrong type."),
            ([["http://h/x"], [:], "p"], "The parameter at 2 has wrong type."),
            ([["http://h/x"], [:], -5], "Position must be greater than or equal to 0."),
        ]
        for (params, message) in cases {
            let answer = await self.bench.call("aria2.addUri", params)
            #expect(answer.status == 400)
            #expect(answer.message == message)
        }
        #expect(await self.bench.call("aria2.addUri", [["nope"]]).message?.hasPrefix("No URI to download.") == true)
        #expect(self.bench.service.counts == QueueCounts())
    }

    @Test(
        "an option's value is checked, and the message names the option",
        arguments: [
            ("split", "zz"), ("min-split-size", "zz"), ("continue", "zz"), ("timeout", "-1"), ("checksum", "zz"),
            ("checksum", "sha-256=00"), ("gid", "zz"), ("header", "no colon"), ("position", "-1"), ("dir", "a\0b"),
            ("max-download-limit", "1Q"), ("user-agent", "a\r\nb: c"), ("header", "a: b\u{1}"), ("priority", "high"),
            ("if-exists", "maybe"), ("split", "99999999999999999999"),
        ]
    )
    func badOptions(_ name: String, _ value: String) async {
        let answer = await self.bench.call(
            "aria2.addUri",
            [["http://h/x"], .object([JSON.Member(name, .string(value))])]
        )
        #expect(answer.status == 400)
        #expect(
            answer.message?.hasPrefix("We encountered a problem while processing the option '--\(name)'.") == true
        )
    }

    @Test("a secret option's value is not repeated in the message")
    func secretOptions() async {
        let answer = await self.bench.call("aria2.addUri", [["http://h/x"], ["http-passwd": "pass\u{1}word"]])
        #expect(answer.status == 400)
        #expect(answer.message?.contains("pass\u{1}word") == false)
        #expect(answer.message?.contains("http-passwd") == true)
    }

    @Test("options become members, unknown ones and empty ones are left out, sizes become bytes")
    func addOptions() async throws {
        let options: JSON = [
            "gid": "00000000000000AB", "pause": "true", "position": "0", "bogus": "x", "dir": "", "out": "f",
            "max-download-limit": "1K", "header": ["A: b", "C: d"], "timeout": 5, "bt-max-peers": "55",
        ]
        _ = await self.add()
        #expect(await self.add(options) == "00000000000000ab")
        let record = try #require(await self.bench.service.list(ListQuery()).first)
        #expect(record.id.description == "00000000000000ab")
        #expect(record.state == .paused)
        #expect(
            record.options
                == TransferOptions([
                    "out": ["f"], "max-download-limit": ["1024"], "header": ["A: b", "C: d"], "timeout": ["5"],
                ])
        )
    }

    @Test("a status has aria2's members, all texts")
    func status() async throws {
        let gid = await self.add(["pause": "true", "out": "f"], ["http://h/x", "http://h/y"])
        let answer = await self.bench.call("aria2.tellStatus", [.string(gid)])
        #expect(
            answer.result?.text
                == #"{"completedLength":"0","connections":"0","dir":"/downloads","downloadSpeed":"0","files":[{"index":"1","path":"/downloads/f","length":"0","completedLength":"0","selected":"true","uris":[{"uri":"http://h/x","status":"waiting"},{"uri":"http://h/y","status":"waiting"}]}],"gid":"\#(gid)","numPieces":"0","pieceLength":"1048576","status":"paused","totalLength":"0","uploadLength":"0","uploadSpeed":"0"}"#
        )
        let id = try #require(GID(gid))
        self.bench.service.set(id) { record in
            record.state = .active
            record.total = 5_000_000
            record.bytes = 1_490_944
            record.connections = 2
            record.rate = 99
            record.path = "/downloads/f.1"
        }
        let keys: JSON = ["bitfield", "numPieces", "connections", "downloadSpeed", "status", "totalLength"]
        #expect(
            await self.bench.call("aria2.tellStatus", [.string(gid), keys]).result
                == [
                    "bitfield": "80", "connections": "2", "downloadSpeed": "99", "numPieces": "5", "status": "active",
                    "totalLength": "5000000",
                ]
        )
        #expect(
            await self.bench.call("aria2.getServers", [.string(gid)]).result
                == [
                    [
                        "index": "1",
                        "servers": [["currentUri": "http://h/x", "downloadSpeed": "99", "uri": "http://h/x"]],
                    ]
                ]
        )
        #expect(await self.bench.call("aria2.getUris", [.string(gid)]).result?[0]?["status"] == "used")
        self.bench.service.end(id, .failed, TransferRecord.Failure(code: 3, message: "gone"))
        let ended = await self.bench.call("aria2.tellStatus", [.string(gid), ["errorCode", "errorMessage", "status"]])
        #expect(ended.result == ["errorCode": "3", "errorMessage": "gone", "status": "error"])
        #expect(await self.bench.call("aria2.getPeers", [.string(gid)]).result == [])
    }

    @Test("a failure's errorCode is aria2's number, whatever its name")
    func errorCode() {
        var record = TransferRecord(id: .random(), state: .failed, urls: [], directory: "/", added: 0)
        for (failure, number) in [
            (TransferRecord.Failure(.certificateExpired, "m"), "6"), (.init(.connectionRefused, "m"), "6"),
            (.init(.nameResolution, "m"), "19"), (.init(code: 32, message: "m"), "32"), (nil, "1"),
        ] {
            record.failure = failure
            #expect(Aria2Status(record: record).json(["errorCode"])["errorCode"]?.string == number)
        }
    }

    @Test("a bit field covers its pieces", arguments: [(0, "00"), (3, "e0"), (4, "f0"), (9, "ff80"), (12, "fff0")])
    func bitfield(_ pieces: Int64, _ text: String) {
        var record = TransferRecord(id: .random(), state: .active, urls: [], directory: "/", added: 0)
        record.total = (pieces > 8 ? 12 : 8) << 20
        record.bytes = pieces << 20
        if pieces == 4 || pieces == 3 || pieces == 0 { record.total = 5 << 20 }
        #expect(Aria2Status(record: record).json(["bitfield"])["bitfield"]?.string == text)
        record.total = 1 << 60
        record.bytes = -5
        #expect(
            Aria2Status(record: record).json(["bitfield"])["bitfield"]?.string.map { $0.utf8.count <= 4096 } == true
        )
    }

    @Test("identifiers: a unique beginning does, and errors are aria2's")
    func identifiers() async {
        _ = await self.add(["gid": "00000000000000ab", "pause": "true"])
        _ = await self.add(["gid": "0000000000000fab", "pause": "true"])
        func message(_ gid: JSON) async -> String? {
            await self.bench.call("aria2.tellStatus", [gid, ["gid"]]).message
        }
        #expect(await message("00000000000000a") == nil)
        #expect(await message("00000000000000AB") == nil)
        #expect(await message("00") == "GID 00 is not unique")
        #expect(await message("zz") == "Invalid GID zz")
        #expect(await message("") == "Invalid GID ")
        #expect(await message("abcdef0123456789") == "GID abcdef0123456789 is not found")
        #expect(await message(5) == "The parameter at 0 has wrong type.")
    }

    @Test("what a state does not allow is said in aria2's words")
    func wrongStates() async throws {
        let gid = await self.add(["pause": "false"])
        let id = try #require(GID(gid))
        func message(_ method: String, _ more: JSON...) async -> String? {
            await self.bench.call("aria2.\(method)", .array([.string(gid)] + more)).message
        }
        #expect(await message("unpause") == "GID#\(gid) cannot be unpaused now")
        #expect(await message("removeDownloadResult") == "Could not remove download result of GID#\(gid)")
        #expect(await message("getServers") == "No active download for GID#\(gid)")
        #expect(await self.bench.call("aria2.forcePause", [.string(gid)]).result == .string(gid))
        #expect(await message("pause") == "GID#\(gid) cannot be paused now")
        self.bench.service.end(id, .finished)
        #expect(await message("remove") == "Active Download not found for GID#\(gid)")
        #expect(await message("changeOption", ["split": "2"]) == "Cannot change option for GID#\(gid)")
        #expect(await message("changeUri", 1, [], []) == "Cannot remove URIs from GID#\(gid)")
        #expect(await message("changePosition", 0, "POS_SET") == "GID#\(gid) not found in the waiting queue.")
        #expect(await message("removeDownloadResult") == nil)
    }

    @Test("getOption's answer can be given to addUri again")
    func optionsAgain() async throws {
        let gid = await self.add(["pause": "true", "out": "f", "header": ["A: b", "C: d"], "gid": "00000000000000ab"])
        let options = try #require(await self.bench.call("aria2.getOption", [.string(gid)]).result)
        #expect(options["header"] == "A: b\nC: d\n")
        #expect(options["dir"] == "/downloads")
        #expect(options["max-tries"] == "5")
        #expect(options["gid"] == nil)
        #expect(options.object?.allSatisfy { $0.value.string != nil } == true)
        let again = await self.bench.call("aria2.addUri", [["http://h/x"], options])
        #expect(again.status == 200)
        let id = try #require(again.result?.string.flatMap { GID($0) })
        #expect(try await self.bench.service.record(id).options[all: .header] == ["A: b", "C: d"])
    }

    @Test("options of the queue are changed and given with their defaults")
    func globalOptions() async {
        let change: JSON = [
            "max-concurrent-downloads": "3", "bogus": "x", "max-overall-download-limit": "1M", "out": "x",
        ]
        #expect(await self.bench.call("aria2.changeGlobalOption", [change]).result == "OK")
        #expect(
            self.bench.service.globalOptions
                == TransferOptions(["max-concurrent-downloads": ["3"], "max-overall-download-limit": ["1048576"]])
        )
        let options = await self.bench.call("aria2.getGlobalOption").result
        #expect(options?["max-concurrent-downloads"] == "3")
        #expect(options?["max-download-result"] == "1000")
        #expect(options?["outage-timeout"] == "86400")
        #expect(options?["dir"] == "/downloads")
        let wrong = await self.bench.call("aria2.changeGlobalOption", [["max-concurrent-downloads": "0"]])
        #expect(wrong.status == 400)
        #expect(wrong.message?.contains("--max-concurrent-downloads") == true)
    }

    @Test("positions, from the beginning, from where it is, and from the end")
    func positions() async {
        let first = await self.add()
        _ = await self.add()
        _ = await self.add()
        func move(_ offset: JSON, _ how: String) async -> JSON? {
            await self.bench.call("aria2.changePosition", [.string(first), offset, .string(how)]).result
        }
        #expect(await move(0, "POS_END") == 2)
        #expect(await move(-1, "POS_CUR") == 1)
        #expect(await move(-5, "POS_SET") == 0)
        #expect(await move(.integer(.max), "POS_CUR") == 2)
        #expect(await move(.integer(.min), "POS_END") == 0)
        #expect(await move("0", "POS_SET") == nil)
        #expect(
            await self.bench.call("aria2.changePosition", [.string(first), 0, "POS_X"]).message == "Illegal argument."
        )
    }

    @Test("lists go backwards from a negative offset, and give the keys asked for")
    func lists() async {
        for number in 1...3 { _ = await self.add(["gid": .string("000000000000000\(number)"), "pause": "true"]) }
        func ids(_ params: JSON) async -> String? {
            await self.bench.call("aria2.tellWaiting", params).result?.array?
                .compactMap { $0["gid"]?.string?.last.map(String.init) }.joined()
        }
        #expect(await ids([0, 1, ["gid"]]) == "1")
        #expect(await ids([1, 100]) == "23")
        #expect(await ids([-1, 2]) == "32")
        #expect(await ids([-3, 2]) == "1")
        #expect(await ids([-30, 100]) == "")
        #expect(await ids([0, 0]) == "")
        #expect(await self.bench.call("aria2.tellWaiting", ["0", 1]).message == "The parameter at 0 has wrong type.")
        #expect(
            await self.bench.call("aria2.tellWaiting", [0, -1]).message
                == "The integer parameter at 1 has invalid value: the value must be greater than or equal to 0."
        )
        #expect(await ids([.integer(.min), .integer(.max)]) == "")
        let stat = await self.bench.call("aria2.getGlobalStat", [[], [:]]).result
        #expect(stat?["numWaiting"] == "3")
        #expect(stat?["uploadSpeed"] == "0")
    }

    @Test("changeUri takes off and adds")
    func changeURI() async {
        let gid = await self.add(["pause": "true"], ["http://h/x", "http://h/y", "http://h/x"])
        func change(_ params: JSON...) async -> RPCBench.Answer {
            await self.bench.call("aria2.changeUri", .array([.string(gid)] + params))
        }
        #expect(await change(1, ["http://h/x", "http://h/none"], ["http://h/n"], 0).result == [1, 1])
        let urls = await self.bench.call("aria2.getUris", [.string(gid)]).result?.array?
            .compactMap { $0["uri"]?.string }
        #expect(urls == ["http://h/n", "http://h/y", "http://h/x"])
        #expect(await change(2, [], ["http://h/z"]).message == "fileIndex is out of range")
        #expect(await change(0, [], []).message?.contains("greater than or equal to 1") == true)
        #expect(await change(1, [], ["nope"]).status == 400)
        #expect(await change(1, ["http://h/n", "http://h/y", "http://h/x"], []).status == 400)
    }

    @Test("everything at once, and the daemon itself")
    func rest() async {
        let gid = await self.add(["pause": "false"])
        #expect(await self.bench.call("aria2.pauseAll").result == "OK")
        #expect(self.bench.service.counts.paused == 1)
        #expect(await self.bench.call("aria2.unpauseAll").result == "OK")
        #expect(self.bench.service.counts.waiting == 1)
        #expect(await self.bench.call("aria2.remove", [.string(gid)]).result == .string(gid))
        #expect(await self.bench.call("aria2.tellStopped", [0, 5, ["status"]]).result == [["status": "removed"]])
        #expect(await self.bench.call("aria2.purgeDownloadResult").result == "OK")
        #expect(self.bench.service.counts.removed == 0)
        #expect(await self.bench.call("aria2.saveSession").result == "OK")
        let session = await self.bench.call("aria2.getSessionInfo").result?["sessionId"]?.string
        #expect(session?.utf8.count == 40)
        #expect(
            await self.bench.call("aria2.addTorrent", ["AAAA"]).message == "BitTorrent is not supported by this daemon"
        )
        #expect(await self.bench.call("aria2.addMetalink", ["AAAA"]).status == 400)
        #expect(await self.bench.call("aria2.shutdown").result == "OK")
        #expect(await self.bench.call("aria2.forceShutdown").result == "OK")
        #expect(self.bench.service.state.withLock { $0.stops } == [false, true])
    }

    @Test("transfers of background sessions are not in aria2's lists")
    func sessions() async throws {
        _ = try await self.bench.service.add([NewTransfer(urls: ["http://h/x"], session: "s")], at: nil)
        #expect(await self.bench.call("aria2.tellWaiting", [0, 10]).result == [])
        #expect(await self.bench.call("martlet.list", [["session": "s"]]).result?.array?.count == 1)
    }

    @Test("the service's own failures come through with status 400")
    func failures() async {
        self.bench.service.state.withLock {
            $0.failure = ControlError(.diskFull, "the disk is full", remedy: "make room")
        }
        let answer = await self.bench.call("aria2.addUri", [["http://h/x"]])
        #expect(answer.status == 400)
        #expect(answer.message == "the disk is full")
        #expect(answer.reason == nil)
        let own = await self.bench.call("martlet.add", [["entries": [["urls": ["http://h/x"]]]]])
        #expect(own.reason == "diskFull")
    }
}
