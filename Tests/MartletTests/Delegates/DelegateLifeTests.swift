// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferTesting

@Suite("Delegates that come and go", .timeLimit(.minutes(1)))
struct DelegateLifeTests {
    private final class Holder: Sendable {
        private let held = Mutex<Observer?>(nil)

        var current: Observer? { self.held.withLock { $0 } }

        func set(_ observer: Observer?) {
            let old = self.held.withLock { held in
                defer { held = observer }
                return held
            }
            withExtendedLifetime(old) {}
        }
    }

    @Test("Several delegates are all called, the session's before the task's own")
    func several() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let observers = [Observer(), Observer(), Observer()]
        harness.session.addDelegate(observers[0])
        harness.session.addDelegate(observers[1])
        let task = try harness.session.dataTask(for: server.text("a"))
        task.addDelegate(observers[2])
        task.resume()
        let other = try await harness.session.data(from: server.text("b"))
        _ = try await task.value
        for observer in observers[..<2] {
            await observer.waitForEnds(2)
            #expect(observer.log.entries.count { $0 == "end" } == 2)
        }
        await observers[2].waitForEnds()
        #expect(observers[2].story == ["response 200", "data", "end"] && other.status == 200)
    }

    @Test("Delegates are held weakly")
    func weakly() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        weak var gone: Observer?
        let log: Log<String>
        do {
            let observer = Observer()
            (gone, log) = (observer, observer.log)
            harness.session.addDelegate(observer)
            _ = try await harness.session.data(from: server.text("a"))
            await observer.waitForEnds()
        }
        while gone != nil { await Task.yield() }
        #expect(try await harness.session.data(from: server.text("b")).text == "x")
        #expect(log.entries == ["response 200", "data", "end"])
    }

    @Test("A removed delegate is not called")
    func removed() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.head(Reply.headBytes(200, [("Content-Length", "1")])), .waitUntil(gate), .bytes([UInt8]("x"))])
        }
        let harness = try Harness()
        let (removed, other) = (Observer(), Observer())
        harness.session.addDelegate(removed)
        harness.session.addDelegate(other)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await other.log.wait(for: "response 200")
        harness.session.removeDelegate(removed)
        gate.open()
        #expect(try await task.value.text == "x")
        await other.waitForEnds()
        #expect(removed.story == ["response 200"] && other.story == ["response 200", "data", "end"])
    }

    @Test(
        "If a delegate is released while its decision is awaited, the default applies",
        arguments: [false, true]
    )
    func goneAtResponse(_ answersNever: Bool) async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let (holder, asked, keeper) = (Holder(), Log<String>(), Pending())
        holder.set(
            Observer { script in
                script.response = { _, decide in
                    if !answersNever { keeper.keep { decide(.allow) } }
                    holder.set(nil)
                    asked.add("asked")
                }
            }
        )
        harness.session.addDelegate(try #require(holder.current))
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await asked.wait(for: 1)
        keeper.answer()
        #expect(try await task.value.text == "x")
    }

    @Test("A decision that is dropped without being made is the default")
    func droppedDecision() async throws {
        let server = try await ScriptedServer.start { request in
            switch request.path {
            case "/from": .redirect(to: "/to")
            case "/locked": .response(401, [("WWW-Authenticate", "Basic realm=\"r\"")], text: "locked")
            default: .response(200, text: "x")
            }
        }
        let harness = try Harness()
        let observer = Observer { script in
            script.response = { _, _ in }
            script.redirect = { _, _ in }
            script.challenge = { _, _ in }
        }
        harness.session.addDelegate(observer)
        #expect(try await harness.session.data(from: server.text("from")).text == "x")
        #expect(await code { try await harness.session.data(from: server.text("locked")) } == .authentication)
        await observer.waitForEnds(2)
        #expect(observer.log.entries.contains("redirect") && observer.log.entries.contains("challenge"))
    }

    @Test("A decision may be made later, from any thread, and only the first counts")
    func laterDecision() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let (asked, keeper) = (Log<String>(), Pending())
        let observer = Observer { script in
            script.response = { _, decide in
                keeper.keep {
                    decide(.allow)
                    decide(.cancel)
                }
                asked.add("asked")
            }
        }
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await asked.wait(for: 1)
        #expect(task.state == .running && observer.story == ["response 200"])
        try await onThread { keeper.answer() }
        #expect(try await task.value.text == "x")
    }

    @Test("Of several delegates the first that decides otherwise than by the default decides")
    func firstDecides() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let (first, second, third) = (Observer(), Observer { $0.response = { $1(.cancel) } }, Observer())
        for observer in [first, second, third] { harness.session.addDelegate(observer) }
        #expect(await code { try await harness.session.data(from: server.text("a")) } == .cancelled)
        for observer in [first, second, third] { await observer.waitForEnds() }
        #expect(first.story == ["response 200", "failed cancelled"])
        #expect(second.story == ["response 200", "failed cancelled"])
    }

    @Test("A task can be cancelled while a decision is pending")
    func cancelledWhilePending() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness()
        let keeper = Pending()
        let observer = Observer { $0.response = { _, decide in keeper.keep { decide(.allow) } } }
        harness.session.addDelegate(observer)
        let task = try harness.session.dataTask(for: server.text("a"))
        task.resume()
        await observer.log.wait(for: "response 200")
        task.cancel()
        #expect(await code { try await task.value } == .cancelled)
        keeper.answer()
        await observer.waitForEnds()
        #expect(observer.story == ["response 200", "failed cancelled"])
    }
}

/// A decision that is made later.
final class Pending: Sendable {
    private let decision = Mutex<(@Sendable () -> Void)?>(nil)

    func keep(_ decision: @escaping @Sendable () -> Void) { self.decision.withLock { $0 = decision } }

    func answer() {
        let decision = self.decision.withLock { decision in
            defer { decision = nil }
            return decision
        }
        decision?()
    }
}
