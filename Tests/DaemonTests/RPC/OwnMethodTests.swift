// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Synchronization
import Testing

@testable import Daemon

@Suite("Martlet's own methods")
struct OwnMethodTests {
    let bench = RPCBench()

    private func add(_ id: String, from caller: Caller = RPCBench.local) async -> RPCBench.Answer {
        await self.bench.call(
            "martlet.add",
            ["entries": [["urls": ["http://h/x"], "id": .string(id), "options": ["out": "f"], "paused": true]]],
            from: caller
        )
    }

    @Test("add takes all entries or none, by name or in a list, and names the entry that is wrong")
    func adding() async {
        #expect(await self.add("00000000000000ab").result == ["00000000000000ab"])
        let again = await self.add("00000000000000ab")
        #expect(again.status == 400)
        #expect(again.reason == "duplicate")
        let wrong = await self.bench.call(
            "martlet.add",
            [["entries": [["urls": ["http://h/y"]], ["urls": ["http://h/z"], "options": ["split": "x"]]]]]
        )
        #expect(wrong.reason == "badParameter")
        #expect(wrong.message?.hasPrefix("entry 1: ") == true)
        #expect(self.bench.service.counts.paused == 1)
        #expect(self.bench.service.counts.waiting == 0)
        for entry: JSON in [
            [:], ["urls": []], ["urls": [5]], ["urls": "x"], ["urls": ["x"]], ["urls": ["http://h/"], "id": "0"],
        ] {
            #expect(await self.bench.call("martlet.add", ["entries": [entry]]).reason == "badParameter")
        }
        #expect(await self.bench.call("martlet.add", ["entries": []]).result == [])
        #expect(await self.bench.call("martlet.add").reason == "badParameter")
        #expect(
            await self.bench.call("martlet.add", ["entries": [["urls": ["http://h/"]]], "position": -1]).status == 400
        )
    }

    @Test("an upload is an entry with what it sends, shown without its bytes")
    func uploading() async throws {
        let upload: JSON = ["parts": [["file": "/f"], ["bytes": "c2VjcmV0"]], "type": "a/b", "protocol": "tus"]
        let id = "00000000000000cd"
        let entry: JSON = ["urls": ["http://h/x"], "id": .string(id), "upload": upload, "paused": true]
        #expect(await self.bench.call("martlet.add", ["entries": [entry]]).result == [.string(id)])
        let shown = try #require(await self.bench.call("martlet.show", ["ids": [.string(id)]]).result?[0]?["upload"])
        #expect(shown["parts"] == [["file": "/f"], ["length": 6]] && shown["protocol"] == "tus")
        #expect(!shown.text.contains("c2VjcmV0"))
        let status = try #require(await self.bench.call("aria2.tellStatus", [.string(id)]).result)
        #expect(status["files"]?[0]?["path"] == "/f" && status["uploadLength"] == "0")
        for wrong: JSON in [[:], ["file": 1], ["parts": [[:]]], "f"] {
            let bad: JSON = ["entries": [["urls": ["http://h/x"], "upload": wrong]]]
            #expect(await self.bench.call("martlet.add", bad).reason == "badParameter", "\(wrong.text)")
        }
    }

    @Test("selections are named, or all of a queue")
    func selections() async throws {
        _ = await self.add("00000000000000ab")
        _ = await self.add("10000000000000ab")
        #expect(await self.bench.call("martlet.resume", ["ids": ["0"]]).result == ["changed": 1])
        #expect(await self.bench.call("martlet.resume", ["ids": ["0"]]).reason == "wrongState")
        #expect(await self.bench.call("martlet.resume", ["all": true]).result == ["changed": 1])
        #expect(await self.bench.call("martlet.pause", ["all": true, "session": "s"]).result == ["changed": 0])
        #expect(await self.bench.call("martlet.pause", [:]).reason == "badParameter")
        #expect(await self.bench.call("martlet.pause", ["all": true, "ids": ["0"]]).reason == "badParameter")
        #expect(await self.bench.call("martlet.pause", ["ids": ["zz"]]).reason == "badParameter")
        #expect(await self.bench.call("martlet.pause", ["ids": ["f"]]).reason == "notFound")
        #expect(await self.bench.call("martlet.setPriority", ["ids": ["0"], "priority": 7]).result == ["changed": 1])
        #expect(await self.bench.call("martlet.setPriority", ["ids": ["0"], "priority": .integer(.max)]).status == 400)
        #expect(await self.bench.call("martlet.show", ["ids": ["0"]]).result?[0]?["priority"] == 7)
        #expect(
            await self.bench.call("martlet.remove", ["ids": ["0"], "deletePartial": true]).result == ["changed": 1]
        )
        #expect(await self.bench.call("martlet.retry", ["ids": ["0"]]).result == ["changed": 1])
        #expect(await self.bench.call("martlet.remove", ["all": true]).result == ["changed": 2])
        #expect(await self.bench.call("martlet.forget", ["all": true]).result == ["changed": 2])
    }

    @Test("lists by state, with numbers as numbers")
    func lists() async {
        _ = await self.add("00000000000000ab")
        let list = await self.bench.call("martlet.list", ["states": ["paused"], "limit": 5]).result
        #expect(list?[0]?["id"] == "00000000000000ab")
        #expect(list?[0]?["bytes"] == 0)
        #expect(await self.bench.call("martlet.list", ["states": ["active"]]).result == [])
        #expect(await self.bench.call("martlet.list", ["states": ["nope"]]).reason == "badParameter")
        #expect(await self.bench.call("martlet.list", ["limit": -1]).reason == "badParameter")
        #expect(await self.bench.call("martlet.list", ["after": 0, "limit": 5]).result?[0]?["key"] == 0xab)
        #expect(await self.bench.call("martlet.list", ["after": 0xab]).result == [])
        #expect(await self.bench.call("martlet.list", ["prefix": "00000"]).result?.array?.count == 1)
        #expect(await self.bench.call("martlet.list", ["prefix": ""]).result?.array?.count == 1)
        #expect(await self.bench.call("martlet.list", ["prefix": "f"]).result == [])
        for bad: JSON in [
            ["prefix": "x"], ["prefix": 1], ["prefix": "a", "after": 0], ["prefix": "a", "offset": 0],
            ["prefix": "a", "search": "b"], ["prefix": "a", "sort": "name"], ["prefix": "00000000000000abc"],
            ["after": "x"], ["after": 0, "offset": 0], ["after": 0, "search": "a"], ["after": 0, "sort": "name"],
        ] {
            #expect(await self.bench.call("martlet.list", bad).reason == "badParameter", "\(bad)")
        }
        #expect(await self.bench.call("martlet.list", ["session": .null]).result?.array?.count == 1)
        #expect(await self.bench.call("martlet.counts").result?["paused"] == 1)
    }

    @Test("limits, hosts and the schedule")
    func limits() async {
        #expect(
            await self.bench.call("martlet.setLimits", ["options": ["max-concurrent-downloads": "9"]]).result == [:]
        )
        #expect(await self.bench.call("martlet.setHostLimit", ["host": "H.example", "connections": 2]).result == [:])
        #expect(
            await self.bench.call("martlet.schedule", ["start": "22:30", "end": "06:05", "days": ["mon", "sun"]]).result
                == [:]
        )
        let limits = await self.bench.call("martlet.limits").result
        #expect(limits?["options"]?["max-concurrent-downloads"] == "9")
        #expect(limits?["hosts"] == ["h.example": 2])
        #expect(limits?["schedule"] == ["start": "22:30", "end": "06:05", "days": ["sun", "mon"]])
        #expect(self.bench.service.schedule == Schedule(start: 1350, end: 365, days: [0, 1]))
        #expect(
            await self.bench.call("martlet.setHostLimit", ["host": "h.example", "connections": .null]).result == [:]
        )
        #expect(self.bench.service.hostLimits == [:])
        #expect(await self.bench.call("martlet.setHostLimit", ["host": "h", "connections": 0]).status == 400)
        for bad: JSON in [["start": "25:00", "end": "01:00"], ["start": "1:00", "end": "02:00"], ["start": "01:00"]] {
            #expect(await self.bench.call("martlet.schedule", bad).reason == "badParameter")
        }
        #expect(await self.bench.call("martlet.schedule", [.null]).result == [:])
        #expect(self.bench.service.schedule == nil)
    }

    @Test("places, options and URLs of one transfer")
    func changing() async throws {
        _ = await self.add("00000000000000ab")
        #expect(
            await self.bench.call("martlet.move", ["id": "0", "position": 5, "how": "POS_SET"]).result == [
                "position": 0
            ]
        )
        #expect(await self.bench.call("martlet.move", ["id": "0", "position": 5, "how": "X"]).reason == "badParameter")
        #expect(await self.bench.call("martlet.setOptions", ["id": "0", "options": ["split": "3"]]).result == [:])
        #expect(await self.bench.call("martlet.replaceURI", ["id": "0", "urls": ["http://h/new"]]).result == [:])
        let record = try await self.bench.service.record(try #require(GID("00000000000000ab")))
        #expect(record.urls == ["http://h/new"])
        #expect(record.options[.split] == "3")
        #expect(await self.bench.call("martlet.replaceURI", ["id": "0", "urls": []]).reason == "badParameter")
    }

    @Test("sessions are opened and closed over the Unix socket alone")
    func sessions() async {
        let open: JSON = ["identifier": "s", "instance": "i", "program": "p", "configuration": ["retries": 3]]
        for method in ["martlet.openSession", "martlet.acknowledge", "martlet.closeSession"] {
            #expect(await self.bench.call(method, open, from: RPCBench.remote).reason == "forbidden")
        }
        let entry: JSON = ["entries": [["urls": ["http://h/x"], "session": "s"]]]
        #expect(await self.bench.call("martlet.add", entry, from: RPCBench.remote).reason == "forbidden")
        #expect(
            await self.bench.call("martlet.openSession", open).result == [
                "transfers": [], "acknowledged": 0, "last": 0,
            ]
        )
        let other: JSON = ["identifier": "s", "instance": "j"]
        #expect(await self.bench.call("martlet.openSession", other).reason == "sessionInUse")
        #expect(await self.bench.call("martlet.add", entry).status == 200)
        #expect(
            await self.bench.call("martlet.sessions", from: RPCBench.remote).result
                == [["identifier": "s", "unfinished": 1, "unacknowledged": 0, "program": "p", "wake": .null]]
        )
        #expect(await self.bench.call("martlet.acknowledge", ["identifier": "s", "upTo": 4]).result == [:])
        #expect(
            await self.bench.call("martlet.closeSession", ["identifier": "s", "instance": "i", "keepTransfers": false])
                .result
                == [:]
        )
        #expect(self.bench.service.counts.waiting == 0)
    }

    @Test("the daemon describes itself, and stops")
    func daemon() async {
        let daemon = await self.bench.call("martlet.daemon").result
        #expect(daemon?["protocol"] == 1)
        #expect(daemon?["listen"] == "127.0.0.1:6800")
        #expect(daemon?["stateDirectory"] == "/state")
        #expect(await self.bench.call("martlet.stop", ["force": true]).result == [:])
        #expect(self.bench.service.state.withLock { $0.stops } == [true])
        let unknown = await self.bench.call("martlet.nope")
        #expect(unknown.reason == "unknownMethod")
        #expect(await self.bench.call("martlet.subscribe").reason == "badParameter")
    }
}
