// SPDX-License-Identifier: Apache-2.0
import TransferCore
import NIOCore
import NIOPosix
import Testing
import TransferTesting

@testable import Control

/// Which connection a call gets; closing one calls back at once, into the midst of that choice.
@Suite(.timeLimit(.minutes(1))) struct ControlConnectionsTests {
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    private func connections(_ daemon: ScriptedDaemon, atMost count: Int) -> ControlConnections {
        var configuration = ControlClient.Configuration()
        configuration.maximumConnections = count
        // A connection is too old for the next call as soon as it is free.
        configuration.idleTime = .zero
        return ControlConnections(daemon.state, on: self.loop, configuration)
    }

    /// Hands calls in, in one turn of the loop, and gives their answers to come.
    private func start(
        _ methods: [String],
        on connections: ControlConnections,
        alone isAlone: Bool = false
    ) -> [EventLoopFuture<JSON>] {
        let calls = methods.map { (call: ControlCall(.call($0, []), patience: nil), method: $0) }
        let promises = calls.map { _ in self.loop.makePromise(of: JSON.self) }
        self.loop.execute {
            for (one, promise) in zip(calls, promises) {
                one.call.wait { answer in promise.completeWith(Result { try answer.get().result(of: one.method) }) }
                if isAlone { connections.startAlone(one.call) } else { connections.start(one.call) }
            }
        }
        return promises.map(\.futureResult)
    }

    private func daemon(_ gates: [String: Gate]) async throws -> ScriptedDaemon {
        try await ScriptedDaemon.start { request in
            guard let method = (try? JSON(parsing: request.body))?["method"]?.string else { return .response(400) }
            let wait = gates[method].map { [Reply.Step.waitUntil($0)] } ?? []
            return Reply(wait + Reply.answer(.string(method)).steps)
        }
    }

    @Test func interimResponsesDoNotExtendThePatience() async throws {
        // So many that the parser would refuse them at the end, if the patience did not end before.
        let interim = Array("HTTP/1.1 102 Processing\r\n\r\n".utf8)
        let steps = (0..<100).flatMap { _ in [Reply.Step.head(interim), .delay(.milliseconds(50))] }
        let daemon = try await ScriptedDaemon.start { _ in Reply(steps) }
        let connections = self.connections(daemon, atMost: 1)
        let promise = self.loop.makePromise(of: JSON.self)
        let call = ControlCall(.call("a", []), patience: .milliseconds(500))
        self.loop.execute {
            call.wait { answer in promise.completeWith(Result { try answer.get().result(of: "a") }) }
            connections.start(call)
        }
        let error = await #expect(throws: ControlError.self) { try await promise.futureResult.get() }
        #expect(error?.code == .unreachable)
    }

    @Test func closingAnOldConnectionMayEmptyTheLine() async throws {
        let daemon = try await self.daemon([:])
        let connections = self.connections(daemon, atMost: 2)
        for number in 1...5 {
            // The line is empty when the old connection is closed: that has opened a new one for the only call.
            let answers = self.start(["a"], on: connections)
            #expect(try await answers[0].get() == "a")
            #expect(daemon.server.connectionCount == number && daemon.server.requests.count == number)
        }
        self.loop.execute { connections.close() }
    }

    @Test func closingAnOldConnectionOpensNoMoreThanMayBe() async throws {
        let (first, second) = (Gate(), Gate())
        let daemon = try await self.daemon(["a": first, "b": second])
        let connections = self.connections(daemon, atMost: 1)
        let answers = self.start(["a", "b", "c", "d"], on: connections)
        await daemon.server.waitForRequests(1)
        first.open()
        #expect(try await answers[0].get() == "a")
        await daemon.server.waitForRequests(2)
        // Connections opened next to b's would have reached the daemon before this.
        #expect(try await self.start(["alone"], on: connections, alone: true)[0].get() == "alone")
        #expect(daemon.server.connectionCount == 3, "one for a, one for b, and the separate one")
        second.open()
        for (answer, method) in zip(answers, ["a", "b", "c", "d"]) {
            #expect(try await answer.get() == .string(method))
        }
        let methods = daemon.server.requests.compactMap { (try? JSON(parsing: $0.body))?["method"]?.string }
        #expect(methods == ["a", "b", "alone", "c", "d"])
        self.loop.execute { connections.close() }
    }

    @Test func manyAtOnceAreAnsweredOnceEachOverConnectionsThatAreAlwaysTooOld() async throws {
        let daemon = try await self.daemon([:])
        let connections = self.connections(daemon, atMost: 3)
        let methods = (0..<300).map { "m\($0)" }
        for (answer, method) in zip(self.start(methods, on: connections), methods) {
            #expect(try await answer.get() == .string(method))
        }
        #expect(daemon.server.requests.count == methods.count)
        self.loop.execute { connections.close() }
        await daemon.server.waitForOpenConnections(0)
    }
}
