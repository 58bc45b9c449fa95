// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Platform
import NIOCore
import NIOPosix
import Testing
import TransferTesting

@testable import Control

@Suite(.timeLimit(.minutes(1))) struct ControlClientTests {
    private func client(
        _ state: StateDirectory,
        _ change: (inout ControlClient.Configuration) -> Void = { _ in }
    ) -> ControlClient {
        var configuration = ControlClient.Configuration()
        change(&configuration)
        return ControlClient(
            state,
            on: MultiThreadedEventLoopGroup.singleton.next(),
            configuration: configuration
        )
    }

    private func error(_ work: () async throws -> some Any) async throws -> ControlError {
        do {
            let value = try await work()
            throw TestSupportError("no error, but \(value)")
        } catch let error as ControlError {
            return error
        }
    }

    private func expect(
        _ code: ControlError.Code,
        location: SourceLocation = #_sourceLocation,
        _ work: () async throws -> some Any
    ) async throws {
        let error = try await self.error(work)
        #expect(error.code == code, sourceLocation: location)
    }

    @Test func aCallSendsMethodAndParametersAndGivesTheResult() async throws {
        let daemon = try await ScriptedDaemon.answering { method, params in
            .success(["method": .string(method), "params": params])
        }
        let result = try await self.client(daemon.state).call("martlet.show", ["ids": ["a", "ü\n"]])
        #expect(result == ["method": "martlet.show", "params": ["ids": ["a", "ü\n"]]])
        let request = try #require(daemon.server.requests.first)
        #expect(request.method == "POST" && request.target == "/jsonrpc")
        #expect(request["Content-Type"] == "application/json" && request["Host"] == "localhost")
    }

    @Test func callsOneAfterTheOtherShareAConnection() async throws {
        let daemon = try await ScriptedDaemon.answering { _, params in .success(params) }
        let client = self.client(daemon.state) { $0.idleTime = .seconds(60) }
        for number in 0..<20 {
            let params: JSON = [.integer(Int64(number))]
            #expect(try await client.call("x", params) == params)
        }
        #expect(daemon.server.connectionCount == 1)
    }

    @Test func manyCallsAtOnceShareAFewConnectionsAndEachGetsItsOwnAnswer() async throws {
        let daemon = try await ScriptedDaemon.answering { _, params in .success(params) }
        let client = self.client(daemon.state) { $0.idleTime = .seconds(60) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let params: JSON = [.integer(Int64(number))]
                    let answer = try await client.call("martlet.list", params)
                    #expect(answer == params)
                }
            }
            try await group.waitForAll()
        }
        #expect(daemon.server.connectionCount <= 4)
        #expect(daemon.server.requests.count == 200)
    }

    @Test func anAnswerInPiecesIsOne() async throws {
        let text = #"{"jsonrpc":"2.0","id":1,"result":{"a":"ü"}}"#
        let bytes = Reply.headBytes(200, [("Content-Length", "\(text.utf8.count)")]) + Array(text.utf8)
        let daemon = try await ScriptedDaemon.start { _ in Reply(bytes.map { .head([$0]) }) }
        #expect(try await self.client(daemon.state).call("x") == ["a": "ü"])
    }

    @Test func anErrorAnswerTellsItsReasonAndRemedy() async throws {
        for code in ControlError.Code.allCases {
            let sent = ControlError(code, "what", remedy: "how")
            let daemon = try await ScriptedDaemon.answering { _, _ in .failure(sent) }
            let error = try await self.error { try await self.client(daemon.state).call("x") }
            #expect(error == sent)
        }
    }

    @Test(
        arguments: [
            (200, #"{"error":{"code":-32601,"message":"m"}}"#, ControlError.Code.unknownMethod),
            (200, #"{"error":{"code":-32602,"message":"m"}}"#, .badParameter),
            (400, #"{"error":{"code":1,"message":"m","data":{"reason":"no such reason"}}}"#, .unknown),
            (200, "no json", .protocolMismatch), (200, "{}", .protocolMismatch), (200, "[]", .protocolMismatch),
            (401, "", .unauthorized), (403, "x", .forbidden), (404, "", .notFound), (413, "", .tooMuch),
            (503, "{}", .stopping), (500, "", .unknown),
        ]
    )
    func whatIsNoResultIsAnError(status: Int, body: String, code: ControlError.Code) async throws {
        let daemon = try await ScriptedDaemon.start { _ in .response(status, text: body) }
        try await self.expect(code) { try await self.client(daemon.state).call("x") }
    }

    @Test func withoutADaemonTheErrorSaysSoAndHowToStartOne() async throws {
        let temporary = try TemporaryDirectory()
        let missing = try StateDirectory(temporary.path + "/missing")
        let first = try await self.error { try await self.client(missing).call("x") }
        #expect(first.code == .notRunning && first.remedy.contains("martlet daemon"))
        let empty = try StateDirectory(temporary.path + "/empty")
        try empty.make()
        try await self.expect(.notRunning) { try await self.client(empty).call("x") }
        // A socket that a killed daemon left behind.
        let daemon = try await ScriptedDaemon.start { _ in .response(200) }
        let left = daemon.state
        #expect(rename(left.socketPath, left.path + "/kept") == 0)
        await daemon.server.stop()
        #expect(rename(left.path + "/kept", left.socketPath) == 0)
        try await self.expect(.notRunning) { try await self.client(left).call("x") }
    }

    @Test func nothingIsSentIntoADirectoryThatOthersCanWriteTo() async throws {
        let daemon = try await ScriptedDaemon.answering { _, _ in .success(1) }
        #expect(chmod(daemon.state.path, 0o777) == 0)
        try await self.expect(.forbidden) { try await self.client(daemon.state).call("x") }
        #expect(daemon.server.connectionCount == 0)
    }

    @Test func theUserThatListensMustBeThisOne() {
        #expect(throws: Never.self) { try SocketOwner.check(geteuid(), "/s") }
        let error = #expect(throws: ControlError.self) { try SocketOwner.check(geteuid() &+ 1, "/s") }
        #expect(error?.code == .forbidden)
    }

    @Test func aConnectionThatEndsInTheMiddleIsAnError() async throws {
        for reply in [
            Reply([.close]), Reply([.head(Array("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{".utf8)), .close]),
            Reply([.head(Array("HTTP/1.1 2".utf8)), .close]),
        ] {
            let daemon = try await ScriptedDaemon.start { _ in reply }
            let error = try await self.error { try await self.client(daemon.state).call("martlet.add") }
            #expect(error.code == .unreachable && error.message.contains("martlet.add"))
            #expect(daemon.server.requests.count == 1)
        }
    }

    @Test func whatIsNoHTTPIsAnError() async throws {
        let daemon = try await ScriptedDaemon.start { _ in .raw("220 smtp ready\r\n\r\n") }
        try await self.expect(.protocolMismatch) { try await self.client(daemon.state).call("x") }
    }

    @Test func onlyWhatChangesNothingIsAskedAgainOnceAKeptConnectionIsGone() async throws {
        for (method, requests) in [("martlet.list", 3), ("martlet.add", 2)] {
            // The second request finds the connection closed, as by a daemon that had waited long enough.
            let daemon = try await ScriptedDaemon.start { request in
                request.requestIndex == 1 ? Reply([.close]) : .answer(1)
            }
            let client = self.client(daemon.state) { $0.idleTime = .seconds(60) }
            _ = try await client.call("x")
            if requests == 3 {
                #expect(try await client.call(method) == 1)
            } else {
                try await self.expect(.unreachable) { try await client.call(method) }
            }
            #expect(daemon.server.requests.count == requests)
        }
    }

    @Test func aConnectionThatWasIdleForLongIsNotUsedAgain() async throws {
        let daemon = try await ScriptedDaemon.answering { _, _ in .success(1) }
        let client = self.client(daemon.state) { $0.idleTime = .nanoseconds(1) }
        _ = try await client.call("x")
        _ = try await client.call("x")
        #expect(daemon.server.connectionCount == 2)
    }

    @Test func anAnswerThatDoesNotComeIsGivenUp() async throws {
        // By the method, not by the order: the first one may be given up before it has come.
        let daemon = try await ScriptedDaemon.start { request in
            (try? JSON(parsing: request.body))?["method"] == "late" ? Reply([.stall]) : .answer(1)
        }
        let client = self.client(daemon.state) { $0.maximumConnections = 1 }
        let error = try await self.error { try await client.call("late", timeout: .milliseconds(50)) }
        #expect(error.code == .unreachable)
        // The connection is gone, and its place is free.
        #expect(try await client.call("x") == 1)
    }

    @Test func aCancelledCallEndsAndItsPlaceIsFree() async throws {
        let daemon = try await ScriptedDaemon.start { $0.requestIndex == 0 ? Reply([.stall]) : .answer(1) }
        let client = self.client(daemon.state) { $0.maximumConnections = 1 }
        let call = Task { try await client.call("x") }
        await daemon.server.waitForRequests(1)
        let waiting = Task { try await client.call("y") }
        call.cancel()
        try await self.expect(.unreachable) { try await call.value }
        #expect(try await waiting.value == 1)
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.call("z")
        }
        try await self.expect(.unreachable) { try await before.value }
        #expect(try await client.call("x") == 1)
    }

    @Test func closingEndsWhatRunsAndWhatComesLater() async throws {
        let daemon = try await ScriptedDaemon.start { _ in Reply([.stall]) }
        let client = self.client(daemon.state) { $0.maximumConnections = 1 }
        let running = Task { try await client.call("x") }
        let waiting = Task { try await client.call("y") }
        await daemon.server.waitForRequests(1)
        client.close()
        try await self.expect(.unreachable) { try await running.value }
        try await self.expect(.unreachable) { try await waiting.value }
        try await self.expect(.unreachable) { try await client.call("z") }
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func aClientWithAThreadOfItsOwnWorksAndEnds() async throws {
        let daemon = try await ScriptedDaemon.answering { _, _ in .success(7) }
        let client = ControlClient(daemon.state)
        #expect(try await client.call("x") == 7)
        await client.shutdown()
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func typedCallsSayAndReadWhatTheDocumentationSays() async throws {
        let id = try #require(GID(rawValue: 0xABC))
        var record = TransferRecord(id: id, state: .active, urls: ["http://h/a"], directory: "/d", added: 1.5)
        record.bytes = 5
        let answered = record
        let daemon = try await ScriptedDaemon.answering { method, params in
            switch method {
            case "martlet.add": .success([.string(id.description)])
            case "martlet.list", "martlet.show": .success([answered.json])
            case "martlet.counts": .success(["active": 3])
            case "martlet.daemon": .success(["protocol": params["x"] ?? 1, "version": "9"])
            default: .success(["changed": 2])
            }
        }
        let client = self.client(daemon.state)
        #expect(try await client.add([NewTransfer(urls: ["http://h/a"])], at: 0) == [id])
        #expect(try await client.list(states: [.active], session: "s", offset: 1, limit: 2) == [record])
        #expect(try await client.show(["abc"]) == [record])
        #expect(try await client.counts().active == 3)
        #expect(try await client.perform("martlet.remove", on: .all(session: nil), [.init("deletePartial", true)]) == 2)
        #expect(try await client.daemon()["version"] == "9")
        let params = daemon.server.requests.compactMap { (try? JSON(parsing: $0.body))?["params"]?.text }
        #expect(
            params == [
                #"{"entries":[{"urls":["http://h/a"]}],"position":0}"#,
                #"{"offset":1,"limit":2,"states":["active"],"session":"s"}"#, #"{"ids":["abc"]}"#, "{}",
                #"{"all":true,"deletePartial":true}"#, "{}",
            ]
        )
    }

    @Test func anotherProtocolIsToldWithTheWayOut() async throws {
        let daemon = try await ScriptedDaemon.answering { _, _ in .success(["protocol": 2, "version": "99"]) }
        let error = try await self.error { try await self.client(daemon.state).daemon() }
        #expect(
            error.code == .protocolMismatch && error.message.contains("99") && error.remedy.contains("martlet stop")
        )
    }
}
