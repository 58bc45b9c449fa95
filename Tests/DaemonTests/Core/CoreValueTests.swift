// SPDX-License-Identifier: Apache-2.0
import Control
import QueueStore
import Testing
import TransferCore
import TransferEngine
import TransferTesting

@testable import Daemon

@Suite("Schedules, holds, speeds and options")
struct CoreValueTests {
    @Test("A schedule over midnight belongs to the day on which it begins")
    func overMidnight() {
        let schedule = Schedule(start: 22 * 60, end: 6 * 60, days: [5])
        #expect(schedule.allows(minute: 23 * 60, weekday: 5))
        #expect(schedule.allows(minute: 60, weekday: 6))
        #expect(!schedule.allows(minute: 60, weekday: 5))
        #expect(!schedule.allows(minute: 6 * 60, weekday: 6))
        #expect(!schedule.allows(minute: 12 * 60, weekday: 5))
        let early = Schedule(start: 22 * 60, end: 6 * 60, days: [6])
        #expect(early.allows(minute: 0, weekday: 0))
    }

    @Test("A schedule within a day ends before its end; equal times are the whole day")
    func withinDay() {
        let schedule = Schedule(start: 60, end: 120)
        #expect(schedule.allows(minute: 60, weekday: 0) && schedule.allows(minute: 119, weekday: 3))
        #expect(!schedule.allows(minute: 120, weekday: 0) && !schedule.allows(minute: 59, weekday: 0))
        #expect(Schedule(start: 5, end: 5).allows(minute: 700, weekday: 1))
        #expect(!Schedule(start: 5, end: 5, days: [2]).allows(minute: 700, weekday: 1))
        #expect(Schedule(stored: Schedule(start: 1, end: 2, days: [3]).stored) == Schedule(start: 1, end: 2, days: [3]))
    }

    @Test("A session is its program's until its lease is over or it reads no more")
    func hold() {
        var hold = SessionHold()
        let opened = [
            hold.opened("a", "one", lease: 10, at: 0), hold.opened("b", "two", lease: 10, at: 9),
            hold.opened("b", "two", lease: 10, at: 10),
        ]
        #expect(opened == [true, false, true] && hold.program == "two")
        let began = [hold.readingBegan("a", by: 1, at: 11), hold.readingBegan("b", by: 2, at: 11)]
        #expect(began == [false, true] && hold.isHeld(at: 1000, againstAnotherThan: "a"))
        // A connection made again takes the place of the one before, whose end is then no matter.
        let again = hold.readingBegan("b", by: 3, at: 1001)
        hold.readingEnded(by: 2)
        #expect(again && hold.isHeld(at: 1002))
        hold.readingEnded(by: 3)
        #expect(!hold.isHeld(at: 1002))
        let other = hold.opened("a", "one", lease: 10, at: 1002)
        #expect(other)
    }

    static func plan(_ values: [String: [String]]) throws(ControlError) -> RequestPlan {
        try RequestPlan(
            urls: ["http://localhost/a"],
            options: TransferOptions(values),
            directory: "/d",
            base: DownloadOptions(),
            baseFields: [("User-Agent", "base"), ("X-Base", "1")]
        )
    }

    @Test("Options become the request")
    func options() throws {
        let digest = String(repeating: "ab", count: 32)
        let plan = try Self.plan([
            "out": ["sub/name"], "header": ["X-A: 1", "X-B:2"], "referer": ["http://r/"], "user-agent": ["mine"],
            "checksum": ["sha-256=\(digest)"], "split": ["4"], "max-connection-per-server": ["2"],
            "min-split-size": ["20M"], "max-download-limit": ["10K"], "max-tries": ["3"], "timeout": ["7"],
            "connect-timeout": ["8"], "resource-timeout": ["1.5"], "outage-timeout": ["90"],
            "http-user": ["u"], "http-passwd": ["p"],
            "lowest-speed-limit": ["1K"], "conditional-get": ["true"], "load-cookies": ["/c"],
        ])
        let request = plan.request
        #expect(request.name == "sub/name" && request.directory == "/d" && request.options.durable)
        #expect(request.fields.map(\.0) == ["X-A", "X-B", "Referer", "User-Agent", "X-Base"])
        #expect(request.fields.map(\.1) == ["1", "2", "http://r/", "mine", "1"])
        #expect(request.expected.first?.algorithm == .sha256 && request.options.connections == .fixed(2))
        #expect(request.options.minimumSplit == 20 << 20 && request.options.rateLimit == 10_240)
        #expect(request.options.retries == 2 && request.options.stallTimeout == .seconds(7))
        #expect(request.options.connectTimeout == .seconds(8) && request.options.totalTimeout == .seconds(1.5))
        #expect(request.options.outageTimeout == .seconds(90))
        #expect(try Self.plan(["outage-timeout": ["0"]]).request.options.outageTimeout == nil)
        #expect(plan.credential == .password(user: "u", password: "p") && plan.cookieFile == "/c")
        #expect(request.options.speedFloor == SpeedFloor(rate: 1024, window: 10_000_000_000))
        #expect(try Self.plan(["lowest-speed-limit": ["0"]]).request.options.speedFloor == nil)
        #expect(plan.isConditional && plan.proxy == nil)
        #expect(request.options.addresses == nil)
        let denying = try Self.plan(["denied-addresses": ["metadata"], "all-proxy": ["http://h:1"]]).request.options
        #expect(denying.addresses?.refused == .metadata && denying.addresses?.judgesProxies == true)
        #expect(try Self.plan(["denied-addresses": ["none"]]).request.options.addresses == nil)
    }

    @Test("What stands at the destination is treated as the options say")
    func existing() throws {
        #expect(try Self.plan([:]).request.options.ifExists == .auto)
        #expect(try Self.plan(["allow-overwrite": ["true"]]).request.options.ifExists == .overwrite)
        #expect(try Self.plan([:]).request.options.ifRunning == nil)
        #expect(try Self.plan(["if-running": ["rename"]]).request.options.ifRunning == .rename)
        #expect(try Self.plan(["auto-file-renaming": ["false"]]).request.options.ifExists == .fail)
        #expect(
            try Self.plan(["allow-overwrite": ["true"], "if-exists": ["skip"]]).request.options.ifExists == .skip
        )
    }

    @Test(
        "A value that means nothing is refused, and the option is named",
        arguments: [
            ("split", "0"), ("split", "many"), ("max-download-limit", "fast"), ("timeout", "-1"), ("out", "../x"),
            ("out", "/etc/x"), ("out", "a/"), ("checksum", "sha-256=12"), ("header", "no colon"),
            ("header", "A: b\r\nC: d"), ("referer", "a\nb"), ("all-proxy", "socks5://x"), ("if-exists", "maybe"),
            ("if-running", "maybe"), ("denied-addresses", "some"), ("conditional-get", "perhaps"), ("user-info", "{"),
            ("method", "A B"),
            ("body", "*"), ("retry-wait", "x"),
        ]
    )
    func badOption(name: String, value: String) throws {
        let error = #expect(throws: ControlError.self) { try Self.plan([name: [value]]) }
        #expect(error?.code == .badParameter)
        #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
    }
}

/// A transfer that waits.
func waiting(_ number: UInt64, priority: Int = 0) throws -> StoredTransfer {
    var stored = StoredTransfer(
        id: try #require(GID(rawValue: number)),
        urls: ["http://localhost/\(number)"],
        directory: "/",
        added: 0
    )
    stored.priority = priority
    return stored
}

@Suite("Ends that are stored behind something else")
struct EndBatchTests {
    @Test("A transfer removed meanwhile does not count as an end: nothing is reported or counted")
    func removed() async throws {
        let temporary = try TemporaryDirectory()
        let store = try QueueStore(path: temporary.path("queue.sqlite"))
        let transfers = try [waiting(1), waiting(2), waiting(3)]
        let batch = EndBatch(
            items: transfers.map { one in
                EndBatch.Item(
                    session: "s",
                    id: one.id,
                    end: StoredEnd(id: one.id, state: .finished, path: nil, bytes: 1, total: 1, at: 2),
                    event: ["kind": "finished"],
                    before: one
                )
            }
        )
        let outcomes = try await store.write { (writer) throws(QueueStoreError) in
            try writer.saveSession("s", configuration: "{}")
            try writer.add(
                transfers.map { one in
                    var one = one
                    one.session = "s"
                    return one
                },
                at: nil
            )
            try writer.setState(.paused, of: [transfers[2].id])
            let first = transfers[0].id
            try writer.end([StoredEnd(id: first, state: .removed, path: nil, bytes: 0, total: nil, at: 1)])
            return try batch.write(writer)
        }
        #expect(outcomes.map(\.before) == [nil, .waiting, .paused])
        #expect(outcomes.map(\.number) == [0, 1, 2])
        await store.close()
    }
}
