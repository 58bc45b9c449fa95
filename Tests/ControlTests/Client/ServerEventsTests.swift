// SPDX-License-Identifier: Apache-2.0
import TransferCore
import NIOCore
import NIOPosix
import Testing
import TransferTesting

@testable import Control

@Suite(.timeLimit(.minutes(1))) struct ServerEventsTests {
    private func client(_ daemon: ScriptedDaemon, capacity: Int = 256) -> ControlClient {
        var configuration = ControlClient.Configuration()
        configuration.eventCapacity = capacity
        return ControlClient(
            daemon.state,
            on: MultiThreadedEventLoopGroup.singleton.next(),
            configuration: configuration
        )
    }

    @Test func eventsComeInOrderAndEndWithTheDaemonsEnd() async throws {
        let daemon = try await ScriptedDaemon.start { _ in
            .events([": hi\n\n", "id: 1\nevent: a\ndata: {\"n\":1}\n\nid: 2\nda", "ta: 2\n", "\n"])
                .then(.head(Array("0\r\n\r\n".utf8)))
        }
        let events = try await self.client(daemon).events(path: "/sessions/a/events?after=0")
        var got: [ServerSentEvent] = []
        for try await event in events { got.append(event) }
        #expect(got == [.init(id: "1", name: "a", data: ["n": 1]), .init(id: "2", data: 2)])
        #expect(got.map(\.number) == [1, 2])
        #expect(events.end == .closedByDaemon)
        #expect(try await events.next() == nil)
        #expect(daemon.server.requests.first?.target == "/sessions/a/events?after=0")
        #expect(daemon.server.requests.first?["Accept"] == "text/event-stream")
    }

    @Test func aLostConnectionIsAnErrorAfterWhatCameBefore() async throws {
        let daemon = try await ScriptedDaemon.start { _ in .events(["data: 1\n\n", "data: 2\n\nda"]).then(.close) }
        let events = try await self.client(daemon).events(path: "/events")
        #expect(try await events.next()?.data == 1)
        #expect(try await events.next()?.data == 2)
        let error = await #expect(throws: ControlError.self) { try await events.next() }
        #expect(error?.code == .unreachable)
        #expect(error.map { events.end == .failed($0) } == true)
    }

    @Test func aRefusalIsAnErrorOfItsKind() async throws {
        for (reply, code) in [
            (Reply.response(409), ControlError.Code.sessionInUse), (.response(404, text: "no"), .notFound),
            (.failure(ControlError(.sessionInUse, "it is", remedy: "close it"), status: 409), .sessionInUse),
            (.response(503, text: #"{"reason":"stopping","message":"m"}"#), .stopping), (Reply([.close]), .unreachable),
        ] {
            let daemon = try await ScriptedDaemon.start { _ in reply }
            let client = self.client(daemon)
            let error = await #expect(throws: ControlError.self) { try await client.events(path: "/events") }
            #expect(error?.code == code)
        }
        let daemon = try await ScriptedDaemon.start { _ in .response(200) }
        let client = self.client(daemon)
        for path in ["events", "/a b", "/a\r\nX: y", ""] {
            let error = await #expect(throws: ControlError.self) { try await client.events(path: path) }
            #expect(error?.code == .badParameter)
        }
        #expect(daemon.server.requests.isEmpty)
    }

    @Test func cancellingTheReaderClosesTheConnection() async throws {
        let daemon = try await ScriptedDaemon.start { _ in .events(["data: 1\n\n"]).then(.stall) }
        let client = self.client(daemon)
        let began = Gate()
        let reader = Task {
            let events = try await client.events(path: "/events")
            var count = 0
            for try await _ in events {
                count += 1
                began.open()
            }
            return (count, events.end)
        }
        await began.wait()
        reader.cancel()
        let (count, end) = try await reader.value
        #expect(count == 1 && end == .cancelled)
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func lettingGoOfTheStreamClosesTheConnection() async throws {
        let daemon = try await ScriptedDaemon.start { _ in .events([]).then(.stall) }
        let client = self.client(daemon)
        do { _ = try await client.events(path: "/events") }
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func cancellingTheOpeningEndsIt() async throws {
        let daemon = try await ScriptedDaemon.start { _ in Reply([.stall]) }
        let client = self.client(daemon)
        let opening = Task { try await client.events(path: "/events") }
        await daemon.server.waitForRequests(1)
        opening.cancel()
        await #expect(throws: ControlError.self) { try await opening.value }
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func aReaderThatIsBehindGetsEverythingAndHoldsTheDaemonBack() async throws {
        let event = "data: \"\(String(repeating: "x", count: 1000))\"\n\n"
        let daemon = try await ScriptedDaemon.start { _ in
            Reply([.head(Reply.headBytes(200, [])), .endless(Array(event.utf8))])
        }
        let events = try await self.client(daemon, capacity: 8).events(path: "/events")
        for _ in 0..<5000 { #expect(try await events.next()?.data.string?.utf8.count == 1000) }
        events.cancel()
        #expect(try await events.next() == nil)
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func whatIsNoEventEndsTheStream() async throws {
        let daemon = try await ScriptedDaemon.start { _ in .events(["data: 1\n\ndata: {\n\n"]).then(.stall) }
        let events = try await self.client(daemon).events(path: "/events")
        #expect(try await events.next()?.data == 1)
        let error = await #expect(throws: ControlError.self) { try await events.next() }
        #expect(error?.code == .protocolMismatch)
        await daemon.server.waitForOpenConnections(0)
    }

    @Test func silenceIsTakenForALoss() async throws {
        let daemon = try await ScriptedDaemon.start { _ in .events(["data: 1\n\n"]).then(.stall) }
        var configuration = ControlClient.Configuration()
        configuration.eventTimeout = .seconds(4)
        let client = ControlClient(
            daemon.state,
            on: MultiThreadedEventLoopGroup.singleton.next(),
            configuration: configuration
        )
        let events = try await client.events(path: "/events")
        #expect(try await events.next()?.data == 1)
        let error = await #expect(throws: ControlError.self) { try await events.next() }
        #expect(error?.code == .unreachable)
    }

    @Test func theNameOfASessionIsEncodedInItsPath() {
        #expect(
            ControlClient.sessionEventsPath("a b/ü?&%", instance: "i=1", after: 7)
                == "/sessions/a%20b%2F%C3%BC%3F%26%25/events?instance=i%3D1&after=7"
        )
    }
}
