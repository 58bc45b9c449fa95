// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import InMemoryLogging
import Logging
import Martlet
import Testing
import TransferTesting

@Suite("A background session", .timeLimit(.minutes(1)))
struct BackgroundSessionTests {
    private let daemon: FakeDaemon

    init() throws { self.daemon = try FakeDaemon() }

    private static func record(_ number: UInt64, _ state: TransferRecord.State, _ name: String) throws -> TransferRecord
    {
        var record = TransferRecord(
            id: try #require(GID(rawValue: number)),
            session: "test.session",
            state: state,
            urls: ["http://example.com/\(name)", "http://mirror.example/\(name)"],
            directory: "/tmp/x",
            added: 1
        )
        record.options[.out] = "\(name).bin"
        record.options[.description] = name
        record.options[.userInfo] = #"{"task":\#(number),"temporary":false,"info":"info of \#(name)"}"#
        record.bytes = 10
        record.total = 100
        return record
    }

    private static func finished(_ id: String, _ path: String = "/tmp/x/f", bytes: Int64 = 5) -> JSON {
        [
            "kind": "finished", "id": .string(id), "path": .string(path), "bytes": .integer(bytes),
            "received": .integer(bytes), "skipped": false, "notModified": false,
        ]
    }

    // MARK: Tasks

    @Test("a task is added once, with all that is asked of it, before the daemon is even there")
    func add() async throws {
        let session = try TransferSession(configuration: self.daemon.configuration())
        var request = try TransferRequest("http://example.com/a?q=1")
        request.mirrors = [try HTTPURL("http://mirror.example/a")]
        request.headers.append("X-A", "b")
        request.method = "POST"
        request.body = Array("hello".utf8)
        request.referer = try HTTPURL("http://example.com/page")
        request.priority = .high
        request.rateLimit = 1000
        request.requestTimeout = .milliseconds(1500)
        request.expectedDigests = [try ExpectedDigest(parsing: "md5:" + String(repeating: "ab", count: 16))]
        request = request.ifNoneMatch("\"e\"")
        let task = try session.downloadTask(for: request, to: .file("/somewhere/file", ifExists: .overwrite))
        task.description = "d"
        task.persistentInfo = "i\"ü"
        task.resume()
        #expect(task.state == .waiting)
        try await self.daemon.start()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        let entry = try #require(
            self.daemon.calls.entries.first { $0.method == "martlet.add" }?.parameters["entries"]?[0]
        )
        #expect(entry["session"]?.string == "test.session")
        #expect(entry["urls"] == ["http://example.com/a?q=1", "http://mirror.example/a"])
        let options = TransferOptions(json: entry["options"] ?? .null)
        #expect(options[.dir] == "/somewhere")
        #expect(options[.out] == "file")
        #expect(options[.ifExists] == "overwrite")
        #expect(options[.method] == "POST")
        #expect(options[.body] == "aGVsbG8=")
        #expect(options[all: .header] == ["X-A: b"])
        #expect(options[all: .conditions] == ["If-None-Match: \"e\""])
        #expect(options[.referer] == "http://example.com/page")
        #expect(options[.priority] == "1")
        #expect(options[.maxDownloadLimit] == "1000")
        #expect(options[.timeout] == "2")
        #expect(options[.checksum] == "md5=" + String(repeating: "ab", count: 16))
        #expect(options[.description] == "d")
        let extra = try JSON(parsing: options[.userInfo] ?? "")
        #expect(extra["info"]?.string == "i\"ü")
        #expect(extra["task"]?.integer == Int64(task.id))
        #expect(self.daemon.calls.entries.map(\.method) == ["martlet.daemon", "martlet.openSession", "martlet.add"])
    }

    @Test("an add whose answer was lost is sent again under the same identifier, and a duplicate is success")
    func resent() async throws {
        try await self.daemon.start()
        // The first time nothing was done, the second time it was: only the answers are lost.
        self.daemon.script { call, count in call.method == "martlet.add" && count == 1 ? .lost : nil }
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.description = "a"
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 2 }
        let ids = self.daemon.added
        #expect(Set(ids).count == 1)
        self.daemon.emit(Self.finished(ids[0]))
        await observer.log.wait(for: "end a")
        #expect(observer.errors.entries.isEmpty)
    }

    @Test("a duplicate refusal means that it was acknowledged")
    func duplicate() async throws {
        try await self.daemon.start()
        self.daemon.script { call, _ in call.method == "martlet.add" ? .refusal("duplicate", "there") : nil }
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        self.daemon.emit(Self.finished(self.daemon.added[0]))
        #expect(try await task.value.path == "/tmp/x/f")
    }

    @Test("of many added together the one at fault fails alone")
    func batch() async throws {
        self.daemon.script { call, _ in
            guard call.method == "martlet.add" else { return nil }
            let entries = call.parameters["entries"]?.array ?? []
            let isBad = entries.contains { $0["urls"]?[0]?.string == "http://example.com/2" }
            return isBad ? .refusal("forbidden", "no such place") : nil
        }
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        for number in 1...3 {
            let task = try session.downloadTask(for: "http://example.com/\(number)", to: .file("/tmp/x/\(number)"))
            task.description = "\(number)"
            task.resume()
        }
        try await self.daemon.start()
        await observer.log.wait { $0.contains("failed badDestination 2") }
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 6 }
        #expect(observer.errors.entries.count == 1)
        #expect(await session.tasks().download.map(\.description) == ["1", "3"])
    }

    @Test("data tasks and queues are refused")
    func noData() async throws {
        try await self.daemon.start()
        let session = try TransferSession(configuration: self.daemon.configuration())
        #expect(await code { try session.dataTask(for: "http://example.com/") } == .badRequest)
        #expect(await code { try TransferQueue(configuration: self.daemon.configuration()) } == .badRequest)
    }

    @Test("suspending, resuming, limits and cancelling are the daemon's to do")
    func control() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        func next(_ method: String) async -> JSON? {
            await self.daemon.calls.wait { $0.contains { $0.method == method } }
            return self.daemon.calls.entries.last { $0.method == method }?.parameters
        }
        task.suspend()
        let id = self.daemon.added[0]
        #expect(await next("martlet.pause")?["ids"] == [.string(id)])
        #expect(task.state == .suspended)
        task.resume()
        #expect(await next("martlet.resume")?["session"] == "test.session")
        task.priority = .low
        #expect(await next("martlet.setPriority")?["priority"] == -1)
        task.rateLimit = 77
        #expect(await next("martlet.setOptions")?["options"]?["max-download-limit"] == "77")
        session.concurrentTransfers = 2
        await self.daemon.calls.wait { $0.count { $0.method == "martlet.openSession" } == 2 }
        #expect(await next("martlet.openSession")?["configuration"]?["concurrentTransfers"] == 2)
        task.cancel()
        #expect(await next("martlet.remove")?["deletePartial"] == true)
        self.daemon.emit(["kind": "removed", "id": .string(id), "path": "/tmp/x/a"])
        await observer.errors.wait(for: 1)
        #expect(task.error?.code == .cancelled)
        #expect(task.state == .ended)
    }

    @Test("every caller that closes a session gets a response, and the daemon is notified once")
    func closedTwice() async throws {
        try await self.daemon.start()
        let session = try TransferSession(configuration: self.daemon.configuration())
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { await session.close() } }
        }
        #expect(self.daemon.calls.entries.count { $0.method == "martlet.closeSession" } == 1)
    }

    // MARK: Events

    @Test("a download that continues in the daemon reports so before its first progress")
    func continued() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.description = "a"
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        let id = self.daemon.added[0]
        self.daemon.emit([
            "kind": "response", "id": .string(id), "status": 206, "url": "http://example.com/a", "fields": [],
            "total": 9, "resumedFrom": 4,
        ])
        self.daemon.tell(["kind": "progress", "id": .string(id), "bytes": 6, "total": 9, "rate": 1])
        await observer.log.wait(for: "progress 6 a")
        let story = observer.log.entries.filter { $0 != "all events" }
        #expect(story == ["response 206 a", "resumed 4 of 9 a", "progress 6 a"])
    }

    @Test("events come in order, and are acknowledged only after the handlers have returned")
    func acknowledged() async throws {
        try await self.daemon.start()
        let gate = Gate()
        let observer = BackgroundObserver(ended: { _, _ in Waiting.block(on: gate) })
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.description = "a"
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        let id = self.daemon.added[0]
        self.daemon.emit([
            "kind": "response", "id": .string(id), "status": 200, "url": "http://example.com/b",
            "fields": [["Content-Type", "text/plain"]], "total": 5,
        ])
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.acknowledge" } }
        #expect(self.daemon.acknowledged == 1)
        self.daemon.tell(["kind": "progress", "id": .string(id), "bytes": 3, "total": 5, "rate": 1])
        await observer.log.wait(for: "progress 3 a")
        self.daemon.emit(Self.finished(id))
        let marker = try session.downloadTask(for: "http://example.com/marker", to: .file("/tmp/x/m"))
        await observer.log.wait(for: "progress 5 a")
        // The delegate is in its method: whatever is said to the daemon now comes without the acknowledgement.
        marker.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 2 }
        #expect(self.daemon.acknowledged == 1)
        gate.open()
        await self.daemon.calls.wait { $0.count { $0.method == "martlet.acknowledge" } == 2 }
        #expect(self.daemon.acknowledged == 2)
        let story = observer.log.entries.filter { $0 != "all events" }
        #expect(story == ["response 200 a", "progress 3 a", "progress 5 a", "end a"])
        #expect(task.response?.url.description == "http://example.com/b")
        #expect(task.response?.mediaType == "text/plain")
    }

    @Test("a temporary file waits until it is taken: its event is acknowledged no sooner")
    func temporary() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/a")
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        let options = self.daemon.calls.entries.last?.parameters["entries"]?[0]?["options"]
        let directory = try #require(options?["dir"]?.string)
        #expect(directory.hasSuffix("/state/sessions/test.session"))
        #expect(Files.isPrivateDirectory(directory))
        let path = directory + "/" + (options?["out"]?.string ?? "")
        try self.daemon.directory.write(
            [1, 2, 3],
            to: "state/sessions/test.session/" + (options?["out"]?.string ?? "")
        )
        let ended = Log<DownloadedFile>()
        task.onCompletion { if case .success(let file) = $0 { ended.add(file) } }
        self.daemon.emit(Self.finished(self.daemon.added[0], path, bytes: 3))
        await ended.wait(for: 1)
        await observer.log.wait { $0.contains { $0.hasPrefix("end") } }
        #expect(ended.entries[0].isTemporary)
        let other = try session.downloadTask(for: "http://example.com/other", to: .file("/tmp/x/o"))
        other.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 2 }
        #expect(self.daemon.acknowledged == 0)
        try ended.entries[0].move(to: self.daemon.directory.path("taken"))
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.acknowledge" } }
        #expect(Files.exists(self.daemon.directory.path("taken")))
        #expect(!Files.exists(path))
    }

    @Test("a program that acknowledges itself is not anticipated")
    func manual() async throws {
        self.daemon.hold(try Self.record(7, .finished, "a"))
        self.daemon.emit(Self.finished("0000000000000007"))
        try await self.daemon.start()
        let numbers = Log<Int64>()
        let observer = BackgroundObserver(ended: { task, _ in numbers.add(task.eventNumber ?? -1) })
        let configuration = self.daemon.configuration { $0.acknowledgesEvents = .manually }
        let session = try TransferSession(configuration: configuration, delegate: observer)
        await observer.log.wait(for: "all events")
        #expect(numbers.entries == [1])
        let task = try session.downloadTask(for: "http://example.com/a", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        #expect(!self.daemon.calls.entries.contains { $0.method == "martlet.acknowledge" })
        session.acknowledge(upTo: 99)
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.acknowledge" } }
        #expect(self.daemon.acknowledged == 1)
    }

    // MARK: Opening again

    @Test("existing tasks are found again, and missed events are delivered in order, then their end")
    func adoption() async throws {
        self.daemon.hold(try Self.record(3, .active, "runs"))
        self.daemon.hold(try Self.record(4, .paused, "paused"))
        self.daemon.hold(try Self.record(5, .finished, "done"))
        self.daemon.hold(try Self.record(6, .failed, "bad"))
        self.daemon.emit(Self.finished("0000000000000005"))
        self.daemon.emit([
            "kind": "failed", "id": "0000000000000006",
            "error": ["code": 3, "message": "404", "remedy": "", "status": 404], "path": "/tmp/x/bad.bin",
        ])
        try await self.daemon.start()
        let session = try TransferSession(configuration: self.daemon.configuration())
        let tasks = await session.tasks().download
        #expect(tasks.map(\.description) == ["runs", "paused", "done", "bad"])
        #expect(tasks.map(\.id) == [3, 4, 5, 6])
        #expect(tasks.map(\.persistentInfo) == tasks.map { "info of \($0.description)" })
        #expect(tasks[0].state == .running)
        #expect(tasks[1].state == .suspended)
        #expect(tasks[0].bytesReceived == 10)
        #expect(tasks[0].bytesExpected == 100)
        #expect(tasks[0].request.url.description == "http://example.com/runs")
        #expect(tasks[0].request.mirrors.count == 1)
        #expect(tasks[0].destination == .file("/tmp/x/runs.bin"))
        let observer = BackgroundObserver()
        session.addDelegate(observer)
        #expect(try await tasks[2].value.path == "/tmp/x/f")
        #expect(try await failure { try await tasks[3].value }.status == 404)
        await observer.log.wait(for: "all events")
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.acknowledge" } }
        tasks[1].resume()
        await self.daemon.calls.wait { $0.contains { $0.method == "martlet.resume" } }
        // A task of this run does not take the number of an earlier one.
        #expect(try session.downloadTask(for: "http://example.com/").id > 1000)
        #expect(await session.tasks().download.prefix(2).map(\.id) == [3, 4])
    }

    @Test(
        "the end of the events is delivered exactly once, after them, whether there were any or not",
        arguments: [0, 1, 30]
    )
    func allEvents(_ count: Int) async throws {
        for number in 0..<count {
            self.daemon.hold(try Self.record(UInt64(number + 1), .finished, "t\(number)"))
            let id = String(repeating: "0", count: 14) + (number + 1 < 16 ? "0" : "") + String(number + 1, radix: 16)
            self.daemon.emit(Self.finished(id))
        }
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        await observer.log.wait(for: "all events")
        #expect(
            observer.log.entries.filter { !$0.hasPrefix("progress") } == (0..<count).map { "end t\($0)" } + [
                "all events"
            ]
        )
        // A lost connection does not deliver it again.
        await self.daemon.streams.wait(for: 1)
        self.daemon.dropConnections()
        await self.daemon.streams.wait(for: 2)
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.description = "new"
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        self.daemon.emit(Self.finished(self.daemon.added[0]))
        await observer.log.wait(for: "end new")
        #expect(observer.log.entries.count { $0 == "all events" } == 1)
    }

    @Test("events wait until there is an observer")
    func heldBack() async throws {
        self.daemon.hold(try Self.record(1, .finished, "a"))
        self.daemon.emit(Self.finished("0000000000000001"))
        try await self.daemon.start()
        let session = try await TransferSession.open(self.daemon.configuration())
        await self.daemon.streams.wait(for: 1)
        let observer = BackgroundObserver()
        session.addDelegate(observer)
        await observer.log.wait(for: "all events")
        #expect(observer.log.entries.contains("end a"))
    }

    @Test("an uncalled completion handler leaves a warning in the log")
    func completion() async throws {
        try await self.daemon.start()
        let handler = InMemoryLogHandler()
        let observer = BackgroundObserver(finished: { _ in })
        let configuration = self.daemon.configuration { $0.logger = Logger(label: "test") { _ in handler } }
        let session = try TransferSession(configuration: configuration, delegate: observer)
        await observer.log.wait(for: "all events")
        // The delegate's next call follows the release of the handler.
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        self.daemon.emit(Self.finished(self.daemon.added[0]))
        await observer.log.wait { $0.contains { $0.hasPrefix("end") } }
        #expect(handler.entries.contains { "\($0.message)".contains("completion handler") })
    }

    // MARK: Connections

    @Test("a lost connection is replaced from the last received event, and nothing is delivered twice")
    func reconnect() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.description = "a"
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        let id = self.daemon.added[0]
        self.daemon.emit([
            "kind": "response", "id": .string(id), "status": 200, "url": "http://example.com/", "fields": [],
        ])
        await observer.log.wait(for: "response 200 a")
        try await self.daemon.stop()
        self.daemon.emit(Self.finished(id))
        try await self.daemon.start()
        await observer.log.wait(for: "end a")
        #expect(self.daemon.streams.entries.map { $0.hasSuffix("after=0") } == [true, false])
        #expect(self.daemon.streams.entries.last?.hasSuffix("after=1") == true)
        #expect(observer.log.entries.count { $0 == "response 200 a" } == 1)
        let instances = self.daemon.calls.entries.filter { $0.method == "martlet.openSession" }
            .map { $0.parameters["instance"]?.string }
        #expect(instances.count == 2 && Set(instances).count == 1)
        #expect(FakeDaemon.added(self.daemon.calls.entries).count == 1)
    }

    @Test("a transfer that the daemon has lost fails instead of waiting for ever")
    func lost() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        self.daemon.script { call, _ in
            call.method == "martlet.openSession" ? .result(["transfers": [], "acknowledged": 0, "last": 0]) : nil
        }
        await self.daemon.streams.wait(for: 1)
        self.daemon.dropConnections()
        #expect(try await failure { try await task.value }.code == .daemonUnavailable)
    }

    @Test("a second program is refused with an error that names the owner of the session")
    func inUse() async throws {
        self.daemon.script { call, _ in
            call.method == "martlet.openSession" ? .refusal("sessionInUse", "first (pid 17) has it open") : nil
        }
        try await self.daemon.start()
        let error = try await failure { try await TransferSession.open(self.daemon.configuration()) }
        #expect(error.code == .sessionInUse)
        #expect(error.message.contains("first (pid 17)"))
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        await observer.log.wait(for: "session failed sessionInUse")
        #expect(await session.tasks().isEmpty)
        #expect(session.failure?.code == .sessionInUse)
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.resume()
        #expect(try await failure { try await task.value }.code == .sessionInUse)
    }

    @Test("opening fails if the daemon can be neither reached nor started")
    func unreachable() async throws {
        let error = try await failure { try await TransferSession.open(self.daemon.configuration()) }
        #expect(error.code == .daemonUnavailable)
        let session = try TransferSession(configuration: self.daemon.configuration())
        #expect(await session.tasks().isEmpty)
    }

    @Test("identifiers and commands that cannot be are refused", arguments: ["", ".", "a/b", "-a", "a b", "ü"])
    func identifiers(_ identifier: String) async throws {
        var configuration = self.daemon.configuration()
        #expect(configuration.identifier == "test.session")
        configuration = .background(identifier: identifier, stateDirectory: self.daemon.directory.path("state"))
        #expect(await code { try TransferSession(configuration: configuration) } == .badConfiguration)
        let wake = self.daemon.configuration { $0.wakeCommand = ["relative"] }
        #expect(await code { try TransferSession(configuration: wake) } == .badConfiguration)
    }

    // MARK: The end

    @Test("invalidating and cancelling ends the tasks in the daemon")
    func cancelAll() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.description = "a"
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        session.invalidateAndCancel()
        await observer.log.wait(for: "invalid")
        let call = try #require(self.daemon.calls.entries.last { $0.method == "martlet.closeSession" })
        #expect(call.parameters["keepTransfers"] == false)
        #expect(observer.log.entries.contains("failed cancelled a"))
        #expect(await code { try session.downloadTask(for: "http://example.com/") } == .invalidated)
    }

    @Test("a session is closed and invalid once, though its stream ends before the answer", arguments: [false, true])
    func invalidOnce(cancels: Bool) async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        var session: TransferSession? = try TransferSession(
            configuration: self.daemon.configuration(),
            delegate: observer
        )
        weak let reference = session
        await self.daemon.streams.wait(for: 1)
        if cancels { session?.invalidateAndCancel() } else { session?.finishTasksAndInvalidate() }
        await observer.log.wait(for: "invalid")
        session = nil
        while reference != nil, !Task.isCancelled { await Task.yield() }
        #expect(observer.log.entries.count { $0 == "invalid" } == 1)
        let methods = self.daemon.calls.entries.map(\.method)
        #expect(methods.count { $0 == "martlet.openSession" } == 1)
        #expect(methods.count { $0 == "martlet.closeSession" } == 1)
    }

    @Test("finishing lets the tasks continue, and deletes the session when all events are acknowledged")
    func finish() async throws {
        try await self.daemon.start()
        let observer = BackgroundObserver()
        let session = try TransferSession(configuration: self.daemon.configuration(), delegate: observer)
        let task = try session.downloadTask(for: "http://example.com/", to: .file("/tmp/x/a"))
        task.resume()
        await self.daemon.calls.wait { FakeDaemon.added($0).count == 1 }
        session.finishTasksAndInvalidate()
        self.daemon.emit(Self.finished(self.daemon.added[0]))
        await observer.log.wait(for: "invalid")
        let methods = self.daemon.calls.entries.map(\.method)
        #expect(methods.suffix(2) == ["martlet.acknowledge", "martlet.closeSession"])
        #expect(self.daemon.calls.entries.last?.parameters["keepTransfers"] == true)
    }

    @Test("letting go of the session closes the connection and cancels nothing")
    func letGo() async throws {
        try await self.daemon.start()
        var session: TransferSession? = try await TransferSession.open(self.daemon.configuration())
        weak let reference = session
        await self.daemon.streams.wait(for: 1)
        session = nil
        await self.daemon.waitForDisconnection()
        #expect(reference == nil)
        #expect(!self.daemon.calls.entries.contains { $0.method == "martlet.closeSession" })
    }
}
