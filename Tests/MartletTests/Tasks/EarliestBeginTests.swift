// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import Martlet
import MartletFoundation
import Testing
import TransferCore
import TransferTesting

@Suite("Tasks that begin at a time", .timeLimit(.minutes(1)))
struct EarliestBeginTests {
    private static var now: Double { Date().timeIntervalSince1970 }

    @Test("a task waits for its time, and says so")
    func waits() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let harness = try Harness()
        let late = try harness.session.dataTask(for: server.text("late"))
        late.earliestBeginDate = Date(timeIntervalSince1970: 9_000_000_000.5)
        late.resume()
        let reason = try #require(late.waitReason)
        #expect(late.state == .waiting && reason.kind == .date && reason.nextAttempt == 9_000_000_001)
        #expect("\(reason)" == "waits for its time")
        let task = try harness.session.dataTask(for: server.text("a"))
        let time = Self.now + 0.5
        task.earliestBeginTime = time
        task.resume()
        #expect(try await task.value.body == Array("fine".utf8))
        #expect(Self.now >= time)
        #expect(server.requests.map(\.path) == ["/a"])
        late.cancel()
    }

    @Test("a time that is past, and none, do not delay", arguments: [nil, 0, -1e300, Double.nan] as [Double?])
    func past(_ time: Double?) async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let harness = try Harness()
        let task = try harness.session.dataTask(for: server.text("a"))
        task.earliestBeginTime = time
        task.resume()
        #expect(try await task.value.response.status == 200)
    }

    @Test("a task can be cancelled while it waits, and be suspended and continued")
    func commands() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "fine") }
        let harness = try Harness()
        let cancelled = try harness.session.dataTask(for: server.text("a"))
        cancelled.earliestBeginTime = .infinity
        cancelled.resume()
        #expect(cancelled.waitReason?.kind == .date)
        cancelled.cancel()
        #expect(try await failure { try await cancelled.value }.code == .cancelled)
        let suspended = try harness.session.dataTask(for: server.text("b"))
        suspended.earliestBeginTime = 9_000_000_000
        suspended.resume()
        suspended.suspend()
        #expect(suspended.state == .suspended && suspended.waitReason == nil)
        suspended.resume()
        #expect(suspended.waitReason?.kind == .date)
        suspended.suspend()
        suspended.earliestBeginTime = nil
        suspended.resume()
        _ = try await suspended.value
        #expect(server.requests.map(\.path) == ["/b"])
    }

    // MARK: Background sessions

    private static func begin(_ text: String?) throws -> Int64? { try JSON(parsing: text ?? "")["begin"]?.integer }

    @Test("the daemon stores a task that waits for its time as a paused one, and it is resumed then")
    func background() async throws {
        let daemon = try FakeDaemon()
        try await daemon.start()
        let session = try TransferSession(configuration: daemon.configuration())
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        let time = Self.now + 3
        task.earliestBeginTime = time
        task.resume()
        await daemon.calls.wait { $0.contains { $0.method == "martlet.resume" } }
        #expect(Self.now >= time)
        let entry = try #require(daemon.calls.entries.first { $0.method == "martlet.add" }?.parameters["entries"]?[0])
        #expect(entry["paused"]?.bool == true)
        let options = TransferOptions(json: entry["options"] ?? .null)
        #expect(try Self.begin(options[.userInfo]) == Int64((time * 1000).rounded(.up)))
        // If it is paused from now on, a later run of the program does not begin it.
        let changed = try #require(daemon.calls.entries.last { $0.method == "martlet.setOptions" }?.parameters)
        #expect(try Self.begin(TransferOptions(json: changed["options"] ?? .null)[.userInfo]) == nil)
    }

    @Test("a later run of the program begins what waited for its time, and nothing that was suspended")
    func adopted() async throws {
        let daemon = try FakeDaemon()
        for (number, begin) in [(UInt64(3), #","begin":1000"#), (4, ""), (5, #","begin":9000000000000"#)] {
            var record = TransferRecord(
                id: try #require(GID(rawValue: number)),
                session: "test.session",
                state: .paused,
                urls: ["http://example.com/a"],
                directory: "/tmp/x",
                added: 1
            )
            record.options[.userInfo] = #"{"task":\#(number),"temporary":false,"info":"i"\#(begin)}"#
            daemon.hold(record)
        }
        try await daemon.start()
        let session = try TransferSession(configuration: daemon.configuration())
        let tasks = await session.tasks().download
        #expect(tasks.map(\.persistentInfo) == ["i", "i", "i"])
        await daemon.calls.wait { $0.contains { $0.method == "martlet.resume" } }
        let resumed = daemon.calls.entries.filter { $0.method == "martlet.resume" }.map { $0.parameters["ids"] }
        #expect(resumed == [["0000000000000003"]])
        #expect(tasks.map(\.state) == [.waiting, .suspended, .waiting])
        #expect(tasks[2].waitReason?.kind == .date && tasks[2].earliestBeginTime == 9_000_000_000)
    }
}
