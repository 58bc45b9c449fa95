// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Why tasks wait", .timeLimit(.minutes(1)))
struct WaitReasonTests {
    /// Records the reasons, and the state of the task at each call.
    private final class Waits: TransferDelegate {
        let log = Log<WaitReason>()
        let states = Log<TransferTask.State>()

        func task(_ task: TransferTask, waits reason: WaitReason) {
            self.states.add(task.state)
            self.log.add(reason)
        }
    }

    @Test("An unreachable host is waited out, with its reason, until the resource timeout")
    func resourceTimeout() async throws {
        // On a machine that is busy for so long that the timeout passes before the first attempt has failed, it is longer.
        for timeout in [1.5, 6, 24] where try await self.isHeld(until: timeout) { return }
        Issue.record("no host was waited for")
    }

    /// Lets a task wait for a host until its resource timeout; returns whether it waited.
    private func isHeld(until timeout: Double) async throws -> Bool {
        let port = try RefusingPort()
        let harness = try Harness {
            $0.retries = .none
            $0.outageTimeout = .seconds(86_400)
            $0.resourceTimeout = .seconds(timeout)
        }
        let waits = Waits()
        harness.session.addDelegate(waits)
        let task = try harness.session.downloadTask(for: port.text("f"), to: .file(harness.path("f")))
        let events = task.events
        task.resume()
        let error = try await failure { try await task.value }
        let shown = timeout == 1.5 ? "1.5s" : "\(Int(timeout))s"
        #expect(error.code == .timeout && error.message.contains(shown), "\(error)")
        #expect(task.state == .ended && task.waitReason == nil)
        var kinds: [WaitReason.Kind] = []
        for await event in events { if case .waiting(let reason) = event { kinds.append(reason.kind) } }
        guard kinds.first == .host else { return false }
        await waits.log.wait(for: 1)
        let reason = try #require(waits.log.entries.first)
        #expect(reason.kind == .host && reason.error?.code == .network && reason.nextAttempt != nil)
        #expect("\(reason)".hasPrefix("waits for its host: "))
        return true
    }

    @Test("While its host is unreachable a task is waiting, and its reason can be asked for")
    func held() async throws {
        let port = try RefusingPort()
        let harness = try Harness { $0.outageTimeout = .seconds(86_400) }
        let waits = Waits()
        harness.session.addDelegate(waits)
        let first = try harness.session.dataTask(for: port.text("a"))
        first.resume()
        await waits.log.wait(for: 1)
        // It makes attempts itself.
        while first.state != .waiting { await Task.yield() }
        // One that has made none waits for the same host.
        let second = try harness.session.dataTask(for: port.text("b"))
        second.resume()
        while second.waitReason?.kind != .host { await Task.yield() }
        first.cancel()
        second.cancel()
        #expect(await code { try await first.value } == .cancelled)
        #expect(await code { try await second.value } == .cancelled)
    }

    @Test("Without an outage timeout an unreachable host is a failure like any other")
    func noOutageTimeout() async throws {
        let port = try RefusingPort()
        let harness = try Harness { $0.retries = .none }
        #expect(await code { try await harness.session.data(from: port.text("a")) } == .network)
    }

    @Test("A retry, a delay that the server asked for, a place, and nothing")
    func others() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { request in
            switch (request.path, request.targetIndex) {
            case ("/retry", 0): .response(500, text: "")
            case ("/delay", 0): .response(503, [("Retry-After", "1")], text: "")
            case ("/slow", _): Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
            default: .response(200, text: "x")
            }
        }
        let harness = try Harness { $0.concurrentTransfers = 1 }
        let waits = Waits()
        harness.session.addDelegate(waits)
        #expect(try await harness.session.data(from: server.text("retry")).text == "x")
        #expect(try await harness.session.data(from: server.text("delay")).text == "x")
        await waits.log.wait(for: 2)
        #expect(waits.log.entries.map(\.kind) == [.retry, .requestedDelay])
        #expect(waits.log.entries.map { $0.error?.status } == [500, 503])
        let slow = try harness.session.dataTask(for: server.text("slow"))
        slow.resume()
        await server.waitForRequests(5)
        let next = try harness.session.dataTask(for: server.text("next"))
        #expect(next.waitReason == nil)
        next.resume()
        #expect(next.waitReason?.kind == .slot && slow.waitReason == nil)
        gate.open()
        _ = try await next.value
    }

    @Test("A POST is sent again only with permission, then with the same key")
    func repeated() async throws {
        let server = try await ScriptedServer.start { request in
            request.targetIndex == 0 ? Reply([.close]) : .response(200, text: "x")
        }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.method = "POST"
        request.body = [1]
        #expect(await code { try await harness.session.data(from: request) } == .network)
        #expect(server.requests.count == 1 && server.requests[0]["Idempotency-Key"] == nil)
        request.url = try server.url("b")
        request.mayBeRepeated = true
        request.sendsIdempotencyKey = true
        #expect(try await harness.session.data(from: request).text == "x")
        let keys = server.requests(for: "/b").map { $0["Idempotency-Key"] ?? "" }
        #expect(keys.count == 2 && keys[0] == keys[1] && keys[0].utf8.count == 34 && keys[0].hasPrefix("\""))
        _ = try await harness.session.data(from: request)
        #expect(server.requests(for: "/b").last?["Idempotency-Key"] != keys[0])
        request.headers.append("Idempotency-Key", "\"own\"")
        _ = try await harness.session.data(from: request)
        #expect(server.requests(for: "/b").last?["Idempotency-Key"] == "\"own\"")
    }

    @Test("A suspended POST is not sent again when it is resumed")
    func suspended() async throws {
        let server = try await ScriptedServer.start { _ in Reply([.stall]) }
        let harness = try Harness()
        var request = try TransferRequest(server.text("a"))
        request.method = "POST"
        let task = try harness.session.dataTask(for: request)
        task.resume()
        await server.waitForRequests(1)
        task.suspend()
        await server.waitForOpenConnections(0)
        task.resume()
        #expect(try await failure { try await task.value }.code == .cannotResume)
        #expect(server.requests.count == 1)
    }

    @Test("A task prints its kind, number, URL, state and bytes")
    func prints() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "hello") }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a?secret=1"))
        #expect("\(task)" == "data task 1 of \(server.text("a")): suspended, 0 bytes")
        task.resume()
        _ = try await task.value
        #expect("\(task)" == "data task 1 of \(server.text("a")): ended, 5 of 5 bytes")
    }
}
