// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Synchronization
import Testing
import TransferCore

@testable import Daemon

@Suite("The interface's documents")
struct DocumentTests {
    /// A file of the repository, by its path from the top.
    static func file(_ path: String) throws -> [UInt8] {
        let parts = #filePath.split(separator: "/")
        let root = "/" + parts.dropLast(4).joined(separator: "/")
        let file = try #require(fopen("\(root)/\(path)", "r"))
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&part, 1, part.count, file)
            if count == 0 { return bytes }
            bytes += part[..<count]
        }
    }

    static func schema() throws -> JSON { try JSON(parsing: try self.file("Docs/rpc.schema.json")) }

    @Test("every method of Martlet's own is in the schema and in the description, and no other is")
    func names() throws {
        let schema = try Self.schema()
        let text = String(decoding: try Self.file("Docs/rpc.md"), as: UTF8.self)
        let names = RPCMethods.standard.all.map(\.name).filter { $0.hasPrefix("martlet.") }
        #expect(names.count == 29)
        for name in names {
            #expect(schema["$defs"]?["\(name).params"] != nil, "\(name)")
            #expect(schema["$defs"]?["\(name).result"] != nil, "\(name)")
            #expect(text.contains("`\(name)`"), "\(name)")
        }
        #expect(Set(schema["properties"]?["method"]?["enum"]?.array?.compactMap(\.string) ?? []) == Set(names))
        #expect(Set(RPCMethods.standard.all.map(\.name)).count == RPCMethods.standard.all.count)
        let reasons =
            schema["$defs"]?["errorData"]?["properties"]?["reason"]?["enum"]?.array?.compactMap(\.string) ?? []
        for reason in reasons {
            #expect(ControlError.Code(rawValue: reason) != nil, "\(reason)")
            #expect(text.contains("`\(reason)`"), "\(reason)")
        }
    }

    @Test("every method of aria2's that the reference names is there")
    func aria2Names() {
        let names = """
            addUri addTorrent getPeers addMetalink remove pause forcePause pauseAll forcePauseAll unpause unpauseAll \
            forceRemove changePosition tellStatus getUris getFiles getServers tellActive tellWaiting tellStopped \
            getOption changeUri changeOption getGlobalOption changeGlobalOption purgeDownloadResult \
            removeDownloadResult getVersion getSessionInfo shutdown forceShutdown getGlobalStat saveSession
            """
        for name in names.split(separator: " ") { #expect(RPCMethods.standard["aria2.\(name)"] != nil, "\(name)") }
        for name in ["multicall", "listMethods", "listNotifications"] {
            #expect(RPCMethods.standard["system.\(name)"] != nil)
        }
    }

    @Test("what the methods answer is what the schema says")
    func results() async throws {
        let checker = SchemaChecker(schema: try Self.schema())
        let bench = RPCBench()
        let calls: [(String, JSON)] = [
            ("martlet.openSession", ["identifier": "s", "instance": "i", "program": "p", "configuration": [:]]),
            (
                "martlet.add",
                [
                    "entries": [
                        [
                            "urls": ["http://h/x"], "id": "00000000000000ab",
                            "options": ["out": "f", "header": ["A: b"]], "paused": true,
                        ], ["urls": ["http://h/y"], "session": "s"],
                    ], "position": 0,
                ]
            ), ("martlet.show", ["ids": ["00000000000000ab"]]),
            ("martlet.show", ["ids": ["00000000000000ab"], "details": true]),
            ("martlet.list", ["states": ["paused"], "limit": 3]),
            ("martlet.list", ["search": "h/", "sort": "name", "offset": -1]),
            ("martlet.counts", [:]), ("martlet.counts", ["search": "x", "session": .null]), ("martlet.rates", [:]),
            ("martlet.list", ["sort": "rate"]),
            ("martlet.resume", ["ids": ["0000"]]), ("martlet.pause", ["all": true]),
            ("martlet.setPriority", ["ids": ["0000"], "priority": 3]),
            ("martlet.move", ["id": "0000", "position": 0, "how": "POS_END"]),
            ("martlet.setOptions", ["id": "0000", "options": ["split": "2"]]),
            ("martlet.setHostLimit", ["host": "h", "connections": 3]),
            ("martlet.schedule", ["start": "01:00", "end": "02:00", "days": ["mon"]]), ("martlet.limits", [:]),
            ("martlet.setLimits", ["options": ["split": "2"]]),
            ("martlet.replaceURI", ["id": "0000", "urls": ["http://h/z"]]),
            ("martlet.sessions", [:]), ("martlet.acknowledge", ["identifier": "s", "upTo": 0]),
            ("martlet.closeSession", ["identifier": "s", "instance": "i", "keepTransfers": true]),
            ("martlet.remove", ["ids": ["0000"], "deletePartial": true]), ("martlet.list", [:]),
            ("martlet.retry", ["all": true]), ("martlet.forget", ["all": true]), ("martlet.daemon", [:]),
            ("martlet.stop", ["force": true]),
        ]
        for (method, params) in calls {
            #expect(checker.problems(params, "\(method).params") == [])
            let answer = await bench.call(method, params)
            let result = try #require(answer.result, "\(method): \(answer.json.text)")
            #expect(checker.problems(result, "\(method).result") == [])
        }
        #expect(Set(calls.map(\.0)).count == 24)
        #expect(!checker.problems(["changed": "1"], "martlet.pause.result").isEmpty)
    }

    @Test("events are what the schema says")
    func events() throws {
        let checker = SchemaChecker(schema: try Self.schema())
        var record = TransferRecord(id: .random(), state: .failed, urls: ["http://h"], directory: "/", added: 1.5)
        record.failure = TransferRecord.Failure(code: 3, message: "m", remedy: "r", status: 404)
        record.ended = 2
        let events: [ServiceEvent] = [
            .started(record), .paused(record), .removed(record), .finished(record), .failed(record), .queued(record),
            .all(.removed, session: nil, count: 3), .progress([record]), .drained, .changed(record),
        ]
        for event in events { #expect(checker.problems(event.json, "event") == []) }
        record.retry = .init(code: "overloaded", message: "m", attempt: 1, nextTry: 2)
        record.hold = .init(
            host: "h:80",
            reason: "errors",
            code: "network",
            cause: "c",
            message: "m",
            since: 1,
            nextTry: nil
        )
        record.failure = TransferRecord.Failure(.certificateExpired, "m")
        #expect(checker.problems(ServiceEvent.failed(record).json, "event") == [])
        #expect(events.map(\.kind) == ServiceEvent.kinds)
    }
}
