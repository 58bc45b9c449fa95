// SPDX-License-Identifier: Apache-2.0
import Control
import Testing
import TransferCore
import TransferTesting

@testable import CommandLineTool

@Suite(.timeLimit(.minutes(1))) struct TopClientTests {
    private let id = GID(rawValue: 0xAB)

    @Test func theCallsAreThoseOfTheCommands() async throws {
        let daemon = try await FakeDaemon.start()
        let id = try #require(self.id)
        var record = TopWorld.record(0xAB, .failed)
        record.position = 5
        daemon.put(record)
        let client = TopClient(ControlClient(daemon.state))
        #expect(try await client.perform(.pause(.ids([id]))) == "2 transfers paused")
        #expect(try await client.perform(.remove(.all, deletesPartial: true)) == "2 transfers removed")
        _ = try await client.perform(.limitRate(1024))
        _ = try await client.perform(.limitConcurrent(3))
        _ = try await client.perform(.limitHost("h", 0))
        _ = try await client.perform(.limitTransfers([id], 9))
        _ = try await client.perform(.replaceURLs(id, ["http://h/b"], retries: true))
        for place in [TopPlace.first, .last, .relative(-1), .of(id)] { _ = try await client.perform(.move(id, place)) }
        let text = id.description
        #expect(daemon.calls(of: "martlet.pause") == [["ids": [.string(text)]]])
        #expect(daemon.calls(of: "martlet.remove") == [["all": true, "deletePartial": true]])
        #expect(
            daemon.calls(of: "martlet.setLimits") == [
                ["options": ["max-overall-download-limit": "1024"]], ["options": ["max-concurrent-downloads": "3"]],
            ]
        )
        #expect(daemon.calls(of: "martlet.setHostLimit") == [["host": "h", "connections": .null]])
        #expect(daemon.calls(of: "martlet.setOptions").first?["options"]?["max-download-limit"] == "9")
        #expect(daemon.calls(of: "martlet.replaceURI") == [["id": .string(text), "urls": ["http://h/b"]]])
        #expect(daemon.calls(of: "martlet.retry") == [["ids": [.string(text)]]])
        #expect(
            daemon.calls(of: "martlet.move").map { "\($0["position"]?.integer ?? -9) \($0["how"]?.string ?? "")" }
                == ["0 POS_SET", "0 POS_END", "-1 POS_CUR", "5 POS_SET"]
        )
    }

    @Test func aTransferThatEndedDoesNotKeepTheOthersFromBeingChanged() async throws {
        let daemon = try await FakeDaemon.start()
        let ids = (1...3).compactMap { GID(rawValue: $0) }
        daemon.answer("martlet.pause") { params in
            let named = params["ids"]?.array?.compactMap(\.string) ?? []
            return named.contains(ids[1].description)
                ? .failure(ControlError(.wrongState, "it is finished"))
                : .success(["changed": .integer(Int64(named.count))])
        }
        let client = TopClient(ControlClient(daemon.state))
        #expect(try await client.perform(.pause(.ids(ids))) == "2 transfers paused")
        await #expect(throws: ControlError(.wrongState, "it is finished")) {
            try await client.perform(.pause(.ids([ids[1]])))
        }
        daemon.answer("martlet.pause", .failure(ControlError(.storage, "broken")))
        await #expect(throws: ControlError(.storage, "broken")) { try await client.perform(.pause(.ids(ids))) }
        #expect(daemon.calls(of: "martlet.pause").count == 6)
    }

    @Test func aRequestLoadsWhatTheScreenShows() async throws {
        let daemon = try await FakeDaemon.start()
        let id = try #require(self.id)
        daemon.put(TopWorld.record(0xAB, .failed))
        daemon.answer(
            "martlet.limits",
            .success(["options": ["max-concurrent-downloads": "5"], "hosts": ["h": 2], "schedule": .null])
        )
        daemon.answer("martlet.sessions", .success([["identifier": "s", "program": "p"]]))
        let client = TopClient(ControlClient(daemon.state))
        var request = TopRequest(query: TopQuery(tab: .failed, search: "a b", order: .largest), offset: 3, limit: 7)
        request.details = id
        request.wantsLimits = true
        request.wantsSessions = true
        let snapshot = try await client.load(request, TopFeatures(canSearch: true, canSort: true))
        #expect(
            daemon.calls(of: "martlet.list") == [
                ["offset": -4, "limit": 7, "states": ["failed"], "search": "a b", "sort": "size"]
            ]
        )
        #expect(daemon.calls(of: "martlet.counts") == [["search": "a b"]])
        #expect(try snapshot.details?.get().id == id)
        #expect(snapshot.limits?.concurrent == 5 && snapshot.limits?.hosts == [.init(name: "h", connections: 2)])
        #expect(snapshot.sessions == ["s": "p"])
        daemon.forgetAll()
        request.offset = 0
        let later = try await client.load(request, TopFeatures())
        #expect(throws: ControlError.self) { try later.details?.get() }
    }

    @Test func whatADaemonCanDoIsFoundOut() async throws {
        let daemon = try await FakeDaemon.start()
        let client = TopClient(ControlClient(daemon.state))
        #expect(try await client.features() == TopFeatures())
        daemon.answer("martlet.list", .failure(ControlError(.badParameter, "\"search\" has the wrong type")))
        #expect(try await client.features() == TopFeatures(canSearch: true, canSort: true))
    }

    @Test func withoutATerminalItNamesTheCommandsToUse() {
        for problem in [
            TopTerminal.problem(isTerminal: false, movesCursor: true),
            TopTerminal.problem(isTerminal: true, movesCursor: false),
        ] {
            #expect(problem?.contains("martlet list") == true && problem?.contains("martlet wait") == true)
        }
        #expect(TopTerminal.problem(isTerminal: true, movesCursor: true) == nil)
    }
}
