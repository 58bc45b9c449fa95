// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Martlet
import Synchronization
import Testing
import TransferEngine
import TransferTesting

@testable import Daemon

@Suite("Programs' background sessions", .timeLimit(.minutes(2)))
struct ProgramSessionTests {
    private static let slow = TestPattern(seed: 7)

    /// Four million bytes, half of which arrive at once.
    private static func server(_ gate: Gate) async throws -> ScriptedServer {
        try await ScriptedServer.start { request in
            switch request.target {
            case "/cookie": .response(200, [("Set-Cookie", "id=7; Path=/")], text: "kept")
            case "/asks": .response(request["Cookie"] == "id=7" ? 200 : 403, text: "no cookie, no file")
            case "/no": .response(410, [("Content-Type", "text/plain")], text: "it is gone since May")
            case "/slow":
                Reply([
                    .head(
                        Array(
                            "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: 4000000\r\n\r\n"
                                .utf8
                        )
                    ),
                    .pattern(self.slow, 0..<2_000_000), .waitUntil(gate), .pattern(self.slow, 2_000_000..<4_000_000),
                ])
            case "/late":
                Reply([.waitUntil(gate), .head(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n/x".utf8))])
            default: .response(200, text: request.target)
            }
        }
    }

    @Test("What resume has returned from is performed although the program is gone before the daemon has it")
    func spool() async throws {
        let gate = Gate()
        let server = try await Self.server(gate)
        let (directory, first) = (try TemporaryDirectory(), try TemporaryDirectory())
        // The daemon does not run yet: only the spool has these.
        for round in 0..<2 {
            let session = try TransferSession(configuration: SessionBench.configuration(first))
            for number in 0..<20 {
                let task = try session.downloadTask(
                    for: server.text("file\(round)-\(number)"),
                    to: .file(directory.path("files/\(round)-\(number)"))
                )
                if number == 19 { task.description = "cancelled" }
                task.resume()
                if number == 19 { task.cancel() }
            }
            try SessionBench.abandonSpools(of: first, to: directory)
        }
        let bench = try await SessionBench(directory)
        try await bench.harness.events.wait("finished", count: 38)
        for number in 0..<19 {
            #expect(try directory.read("files/0-\(number)") == Array("/file0-\(number)".utf8))
            #expect(server.requests(for: "/file1-\(number)").count == 1)
        }
        #expect(server.requests(for: "/file0-19").isEmpty)
        #expect(OrphanedSpool.all(in: directory.path("spools")) { _ in }.isEmpty)
        await bench.stop()
    }

    @Test("A daemon that runs finds the spool of a program that ended")
    func foundLater() async throws {
        let server = try await Self.server(Gate())
        let bench = try await SessionBench()
        let directory = bench.harness.directory
        // As it is after the end of a program that never reached the daemon.
        let entry = NewTransfer(
            id: .random(),
            urls: [server.text("file")],
            options: TransferOptions(["dir": [directory.path("files")], "out": ["found"]]),
            session: "s"
        )
        var spool: CommandSpool? = try CommandSpool.make(
            in: directory.path("spools"),
            name: "s.1",
            opening: ["identifier": "s", "configuration": SessionBench.configuration(directory).json]
        )
        try spool?
            .append(
                SpooledCall(number: 1, key: "add", method: "martlet.add", parameters: ["entries": [entry.json]])
            )
        spool = nil
        try await bench.harness.events.wait("finished")
        #expect(try directory.read("files/found") == Array("/file".utf8))
        await bench.stop()
    }

    @Test("A transfer that was paused in the spool stays paused, whatever else is in the spool")
    func pausedInSpool() async throws {
        for _ in 0..<10 {
            let directory = try TemporaryDirectory()
            let name = directory.path("spools")
            var spool: CommandSpool? = try CommandSpool.make(
                in: name,
                name: "s.1",
                opening: ["identifier": "s", "configuration": SessionBench.configuration(directory).json]
            )
            let id = GID.random()
            func call(_ number: Int64, _ method: String, _ parameters: JSON) throws {
                try spool?
                    .append(
                        SpooledCall(number: number, key: "\(number)", method: method, parameters: parameters)
                    )
            }
            let good = NewTransfer(id: id, urls: ["http://127.0.0.1:9/x"], session: "s")
            let bad = NewTransfer(id: .random(), urls: ["nonsense"], session: "s")
            try call(1, "martlet.add", ["entries": [good.json]])
            try call(2, "martlet.add", ["entries": [bad.json]])
            try call(3, "martlet.pause", ["ids": [.string(id.description)]])
            spool = nil
            let harness = try await CoreHarness(directory)
            try await harness.events.wait("paused")
            try await harness.core.save()
            #expect(try await harness.core.record(id).state == .paused)
            #expect(harness.core.counts.active == 0)
            await harness.stop()
        }
    }

    @Test("A transfer of an unreachable host waits, with the reason, and ends by its resource timeout")
    func unreachable() async throws {
        // On a machine that is busy for so long that the timeout passes before the first attempt has failed, it is longer.
        for timeout in [2, 8, 30] where try await self.isHeld(until: .seconds(timeout)) { return }
        Issue.record("no host was waited for")
    }

    /// Lets a transfer wait for a host until its resource timeout; returns whether it waited.
    private func isHeld(until timeout: Duration) async throws -> Bool {
        let bench = try await SessionBench()
        let port = try RefusingPort()
        var configuration = bench.configuration
        configuration.retries = .none
        configuration.resourceTimeout = timeout
        let observer = Waits()
        let session = try await TransferSession.open(configuration, delegate: observer)
        let task = try session.downloadTask(for: port.text("f"), to: .file(bench.harness.directory.path("f")))
        let events = task.events
        task.resume()
        do {
            _ = try await task.value
            Issue.record("a refused download succeeded")
        } catch {
            #expect((error as? TransferError)?.code == .timeout, "\(error)")
        }
        var isHeld = false
        for await event in events { if case .waiting(let reason) = event { isHeld = isHeld || reason.kind == .host } }
        if isHeld {
            await observer.gate.wait()
            #expect(observer.first.withLock { $0?.kind } == .host)
        }
        await session.close()
        await bench.stop()
        return isHeld
    }

    @Test("The outage timeout of a session's configuration is its transfers'; without one it is the daemon's")
    func outageTimeout() throws {
        var configuration = SessionConfiguration.background(identifier: "s")
        #expect(LaneSettings(session: configuration).downloads.outageTimeout == .seconds(86_400))
        configuration.outageTimeout = .seconds(5)
        #expect(LaneSettings(session: configuration).downloads.outageTimeout == .seconds(5))
        configuration.outageTimeout = .zero
        #expect(LaneSettings(session: configuration).downloads.outageTimeout == nil)
    }

    @Test("The program's next run gets a failure for each command of the spool that the daemon refuses")
    func refused() async throws {
        let (directory, first) = (try TemporaryDirectory(), try TemporaryDirectory())
        do {
            let session = try TransferSession(configuration: SessionBench.configuration(first))
            let task = try session.uploadTask(
                for: TransferRequest("http://127.0.0.1:9/"),
                from: .file(directory.path("is-not-there"))
            )
            task.resume()
            try SessionBench.abandonSpools(of: first, to: directory)
        }
        let bench = try await SessionBench(directory)
        let session = try await TransferSession.open(bench.configuration)
        let task = try #require(await session.tasks().upload.first)
        await #expect(throws: TransferError.self) { try await task.value }
        #expect(task.error?.message.contains("is-not-there") == true && task.error?.code == .file)
        // The same from a daemon that runs.
        let other = try session.uploadTask(
            for: TransferRequest("http://127.0.0.1:9/"),
            from: .file(directory.path("is-not-there"))
        )
        other.resume()
        await #expect(throws: TransferError.self) { try await other.value }
        #expect(other.error?.code == .file)
        await session.close()
        await bench.stop()
    }

    @Test("Hand-over waits for the daemon's word")
    func handOver() async throws {
        let server = try await Self.server(Gate())
        let bench = try await SessionBench()
        let session = try TransferSession(configuration: bench.configuration)
        for number in 0..<30 {
            try session.downloadTask(
                for: server.text("\(number)"),
                to: .file(bench.harness.directory.path("files/\(number)"))
            )
            .resume()
        }
        try await session.handOver()
        let counts = bench.harness.core.counts
        #expect(counts.waiting + counts.active + counts.finished == 30)
        await session.close()
        await bench.stop()
    }

    @Test("A task whose end was not delivered yet has ended, and says so when it is printed")
    func endedMeanwhile() async throws {
        let gate = Gate()
        let server = try await Self.server(gate)
        let bench = try await SessionBench()
        do {
            let session = try TransferSession(configuration: bench.configuration)
            let place = bench.harness.directory.path("files/x")
            try session.downloadTask(for: server.text("late"), to: .file(place)).resume()
            try await session.handOver()
            await session.close()
        }
        // Before, this program's session would have the end.
        gate.open()
        try await bench.harness.events.wait("finished")
        let session = try await TransferSession.open(bench.configuration)
        let task = try #require(await session.tasks().download.first)
        #expect(task.state == .ended && "\(task)".contains(": ended, 2 of 2 bytes"), "\(task)")
        #expect(try await task.value.size == 2)
        await session.close()
        await bench.stop()
    }

    @Test("A closed or released session can be opened again in the same process")
    func reopened() async throws {
        let server = try await Self.server(Gate())
        let bench = try await SessionBench()
        let directory = bench.harness.directory
        for round in 0..<3 {
            let session = try await TransferSession.open(bench.configuration)
            _ = try await session.download(from: server.text("\(round)"), to: .file(directory.path("files/\(round)")))
            guard round == 0 else { continue }
            await session.close()
            #expect(throws: TransferError.self) { try session.downloadTask(for: server.text("x")) }
        }
        // While it is open it is in use, also for this process.
        let session = try await TransferSession.open(bench.configuration)
        await #expect(throws: TransferError.self) { try await TransferSession.open(bench.configuration) }
        await session.close()
        await bench.stop()
    }

    @Test(
        "Cancelling a download returns resume data, from which it resumes",
        arguments: ["file", "directory", "temporary"]
    )
    func resumeData(_ kind: String) async throws {
        let gate = Gate()
        let server = try await Self.server(gate)
        let bench = try await SessionBench()
        let directory = bench.harness.directory.path("files")
        let place: Destination =
            switch kind {
            case "file": .file(directory + "/slow")
            case "directory": .directory(directory)
            default: .temporary
            }
        let session = try await TransferSession.open(bench.configuration)
        let task = try session.downloadTask(for: server.text("slow"), to: place)
        let observer = Progress(at: 1_500_000)
        task.addDelegate(observer)
        task.resume()
        await observer.gate.wait()
        let data = try #require(await task.cancelProducingResumeData())
        #expect(data.bytesReceived >= 1_500_000)
        gate.open()
        let again = try session.downloadTask(resuming: data)
        again.resume()
        let file = try await again.value
        #expect(Self.slow.difference(fromFileAt: file.path, length: 4_000_000) == nil)
        #expect(server.requests(for: "/slow").last?["Range"] != nil)
        await session.close()
        await bench.stop()
    }

    @Test("Cancelling many downloads at once gives resume data for each")
    func manyResumeData() async throws {
        let gate = Gate()
        let server = try await Self.server(gate)
        let bench = try await SessionBench()
        let session = try await TransferSession.open(bench.configuration)
        session.concurrentTransfers = 12
        let directory = bench.harness.directory
        var tasks: [(DownloadTask, Progress)] = []
        for number in 0..<12 {
            let task = try session.downloadTask(for: server.text("slow"), to: .file(directory.path("files/\(number)")))
            let observer = Progress(at: 1)
            task.addDelegate(observer)
            task.resume()
            tasks.append((task, observer))
        }
        for (_, observer) in tasks { await observer.gate.wait() }
        let received = await withTaskGroup(of: Int64.self) { group in
            for (task, _) in tasks { group.addTask { await task.cancelProducingResumeData()?.bytesReceived ?? 0 } }
            return await group.reduce(into: [Int64]()) { $0.append($1) }
        }
        #expect(received.count == 12 && received.allSatisfy { $0 > 0 })
        await session.close()
        await bench.stop()
    }

    @Test("Cookies of responses are in the session's jar, and sent by the next task")
    func cookies() async throws {
        let server = try await Self.server(Gate())
        let bench = try await SessionBench()
        let directory = bench.harness.directory
        let configuration = bench.configuration
        let session = try await TransferSession.open(configuration)
        _ = try await session.download(from: server.text("cookie"), to: .file(directory.path("files/cookie")))
        #expect(configuration.cookies?.cookies.map(\.value) == ["7"])
        _ = try await session.download(from: server.text("asks"), to: .file(directory.path("files/asks")))
        await session.close()
        await bench.stop()
    }

    @Test("The session's cookies are sent with an upload, to their domain and path only", arguments: [true, false])
    func uploadCookies(_ isInPath: Bool) async throws {
        let server = try await Self.server(Gate())
        let bench = try await SessionBench()
        try bench.harness.directory.write(Array("content".utf8), to: "upload")
        var request = try TransferRequest(server.text("in"))
        request.method = "POST"
        let configuration = bench.configuration
        let cookie = try Cookie(
            name: "id",
            value: "7",
            domain: "127.0.0.1",
            path: isInPath ? "/in" : "/other",
            created: 0
        )
        configuration.cookies?.set(cookie)
        let session = try await TransferSession.open(configuration)
        _ = try await session.upload(.file(bench.harness.directory.path("upload")), to: request)
        #expect(server.requests(for: "/in").map { $0["Cookie"] } == [isInPath ? "id=7" : nil])
        #expect(server.requests(for: "/in").map(\.body) == [Array("content".utf8)])
        await session.close()
        await bench.stop()
    }

    @Test("The daemon runs as many of a session's transfers as the session says, also after a change")
    func concurrentTransfers() async throws {
        let gate = Gate()
        let server = try await ScriptedServer.start { _ in
            Reply([.waitUntil(gate)] + Reply.response(200, text: "x").steps)
        }
        let bench = try await SessionBench()
        let directory = bench.harness.directory
        var configuration = bench.configuration
        configuration.concurrentTransfers = 2
        let session = try await TransferSession.open(configuration)
        let tasks = try (0..<8)
            .map { number in
                try session.downloadTask(for: server.text("\(number)"), to: .file(directory.path("files/\(number)")))
            }
        for task in tasks { task.resume() }
        await server.waitForRequests(2)
        try await session.handOver()
        #expect(server.requests.count == 2)
        session.concurrentTransfers = 5
        await server.waitForRequests(5)
        #expect(server.requests.map(\.target).sorted() == (0..<5).map { "/\($0)" })
        gate.open()
        for task in tasks { _ = try await task.value }
        #expect(server.requests.count == 8)
        await session.close()
        await bench.stop()
    }

    @Test("A failure has the server's body, as in the foreground")
    func failureBody() async throws {
        let server = try await Self.server(Gate())
        let bench = try await SessionBench()
        let session = try await TransferSession.open(bench.configuration)
        do {
            _ = try await session.download(from: server.text("no"), to: .file(bench.harness.directory.path("files/no")))
            Issue.record("there is no file")
        } catch let error as TransferError {
            #expect(error.code == .httpStatus && error.status == 410)
            #expect(error.bodyText == "it is gone since May")
        }
        await session.close()
        await bench.stop()
    }

    @Test("Without the daemon's program a task fails, and says what to install")
    func notInstalled() async throws {
        let directory = try TemporaryDirectory()
        let observer = Failures()
        let session = try TransferSession(configuration: SessionBench.configuration(directory), delegate: observer)
        let task = try session.downloadTask(for: "http://127.0.0.1:9/x", to: .file(directory.path("x")))
        task.resume()
        do {
            _ = try await task.value
            Issue.record("there is no daemon")
        } catch let error as TransferError {
            #expect(error.code == .daemonUnavailable)
            #expect(error.message.contains("/nonexistent/martletd") && error.remedy.contains("install"))
        }
        #expect(session.failure?.code == .daemonUnavailable)
        await observer.gate.wait()
    }
}

/// Opens a gate once a download has come so far.
private final class Progress: TransferDelegate {
    let gate = Gate()
    private let bytes: Int64

    init(at bytes: Int64) { self.bytes = bytes }

    func task(_ task: TransferTask, didMake progress: TransferProgress) {
        if progress.bytesReceived >= self.bytes { self.gate.open() }
    }
}

/// Opens a gate when the session has failed.
private final class Failures: TransferDelegate {
    let gate = Gate()

    func sessionDidFail(_ session: TransferSession, with error: TransferError) { self.gate.open() }
}

/// Opens a gate at the first wait.
private final class Waits: TransferDelegate {
    let gate = Gate()
    let first = Mutex<WaitReason?>(nil)

    func task(_ task: TransferTask, waits reason: WaitReason) {
        self.first.withLock { $0 = $0 ?? reason }
        self.gate.open()
    }
}
