// SPDX-License-Identifier: Apache-2.0
import Control
import Logging
import Martlet
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Daemon

@Suite("Desktop notifications", .timeLimit(.minutes(1)))
struct NotificationTests {
    private static let notification = DesktopNotification(
        application: "Martlet",
        summary: "Download finished",
        body: "a.iso",
        isFailure: false
    )

    private static func problem(_ bus: SessionBus) -> SessionBus.Problem? {
        do throws(SessionBus.Problem) {
            _ = try bus.notify(Self.notification, replacing: 0)
            return nil
        } catch {
            return error
        }
    }

    // MARK: The bus

    /// Longer than any pause of a busy machine.
    private static let patience = Duration.seconds(60)

    @Test("A notification is posted, and replaced by its number", arguments: ["path", "abstract"])
    func posts(_ kind: String) async throws {
        let directory = try TemporaryDirectory()
        let bus = try StubBus(kind == "path" ? directory.path("bus") : "@martlet-test-\(getpid())-\(directory.path)")
        defer { bus.stop() }
        let client = SessionBus(patience: Self.patience, environment: bus.variable)
        let number = try client.notify(Self.notification, replacing: 0)
        #expect(number == 101)
        #expect(try client.notify(Self.notification, replacing: number) == number)
        #expect(
            await bus.next(2)
                == [0, 101]
                .map {
                    StubBus.Posted(application: "Martlet", replaced: $0, summary: "Download finished", body: "a.iso")
                }
        )
    }

    @Test("The bus is found in DBUS_SESSION_BUS_ADDRESS, else in XDG_RUNTIME_DIR; the first that listens is used")
    func addresses() throws {
        let directory = try TemporaryDirectory()
        let bus = try StubBus(directory.path("bus"))
        defer { bus.stop() }
        let runtime = ["XDG_RUNTIME_DIR": directory.path]
        #expect(Self.problem(SessionBus(patience: Self.patience) { runtime[$0] }) == nil)
        let several = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus;unix:path=\(bus.path),guid=1"]
        #expect(Self.problem(SessionBus(patience: Self.patience) { several[$0] }) == nil)
        #expect(SessionBus { _ in nil }.addresses.isEmpty)
        guard case .noBus = Self.problem(SessionBus { _ in nil }) else {
            Issue.record("there is a bus")
            return
        }
        let missing = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"]
        #expect(
            Self.problem(SessionBus { missing[$0] }) == .noBus("'/nonexistent/bus': No such file or directory")
        )
    }

    @Test("A bus that has no service, closes, sends noise or nothing is a problem, and never more than that")
    func problems() throws {
        let directory = try TemporaryDirectory()
        for (behaviour, expected) in [
            (.hasNoService, .noService), (.closes, .failed("the bus closed the connection")),
            (.sendsNoise, .failed("the bus sent a malformed message")),
            (.isSilent, .failed("the bus did not respond in time")),
        ] as [(StubBus.Behaviour, SessionBus.Problem)] {
            let bus = try StubBus(directory.path("\(behaviour)"), behaviour)
            defer { bus.stop() }
            // Only the silent bus is waited for.
            var patience = Self.patience
            if case .isSilent = behaviour { patience = .milliseconds(50) }
            #expect(Self.problem(SessionBus(patience: patience, environment: bus.variable)) == expected)
        }
    }

    // MARK: The daemon

    private static func harness(_ bus: StubBus, _ change: (inout CoreConfiguration) -> Void) async throws -> CoreHarness
    {
        try await CoreHarness { configuration in
            let logger = configuration.logger
            let session = SessionBus(patience: Self.patience, environment: bus.variable)
            configuration.notifier = DesktopNotifier(logger: logger) {
                (notification, replaced) throws(SessionBus.Problem) in
                try session.notify(notification, replacing: replaced)
            }
            change(&configuration)
        }
    }

    @Test("The ends of the queue's transfers are posted as the option says, without queries")
    func queue() async throws {
        let server = try await ScriptedServer.start { request in
            request.target.hasPrefix("/gone") ? .response(404) : .response(200, text: "four")
        }
        let directory = try TemporaryDirectory()
        let bus = try StubBus(directory.path("bus"))
        defer { bus.stop() }
        let harness = try await Self.harness(bus) { $0.options[.notify] = "finished" }
        try await harness.add(server.text("gone?token=secret"))
        try await harness.events.wait("failed")
        try await harness.add(server.text("a%26b.iso?token=secret"))
        #expect(
            await bus.next()
                == [.init(application: "Martlet", replaced: 0, summary: "Download finished", body: "a&amp;b.iso, 4 B")]
        )
        try await harness.core.changeGlobalOptions(TransferOptions(["notify": ["failed"]]))
        try await harness.add(server.text("gone?token=secret"))
        let failed = try #require(await bus.next().first)
        #expect(failed.summary == "1 download finished, 1 failed" && failed.replaced == 101)
        #expect(failed.body.hasPrefix("gone: ") && !failed.body.contains("secret"))
        #expect(
            await controlCode {
                try await harness.core.changeGlobalOptions(TransferOptions(checking: ["notify": "sometimes"]))
            } == .badParameter
        )
        await harness.stop()
    }

    @Test("A background session's transfers are posted as its configuration says, in its program's name")
    func session() async throws {
        let gate = Gate()
        let server = try await CoreRunningTests.gated(gate)
        let directory = try TemporaryDirectory()
        let bus = try StubBus(directory.path("bus"))
        defer { bus.stop() }
        let harness = try await Self.harness(bus) { $0.options[.notify] = "none" }
        _ = try await harness.core.openSession(
            "org.example.reader",
            instance: "a",
            program: "reader (pid 17)",
            configuration: ["notifications": ["done"]]
        )
        for name in ["one", "two", "three"] { try await harness.add(server.text(name), session: "org.example.reader") }
        gate.open()
        #expect(
            await bus.next()
                == [.init(application: "reader", replaced: 0, summary: "All downloads are done", body: "3 finished")]
        )
        await harness.stop()
    }

    @Test("Without a session bus nothing fails, and that is logged once")
    func noBus() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "four") }
        let harness = try await CoreHarness { configuration in
            configuration.options[.notify] = "finished,failed,done"
            configuration.notifier = DesktopNotifier(environment: { _ in nil }, logger: configuration.logger)
        }
        for number in 0..<5 {
            let id = try await harness.add(server.text("\(number)"))
            try await harness.events.wait("finished \(id)")
        }
        try await harness.events.wait(forLine: "there are no desktop notifications: no session bus")
        await harness.stop()
    }
}
