// SPDX-License-Identifier: Apache-2.0
import Foundation
import Martlet
import Synchronization
import Testing
import TransferCore
import TransferEngine
import TransferTesting

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@testable import MartletSystemTransport

/// A system that keeps the tasks of background sessions while programs come and go; tests act as the network.
final class SimulatedSystem: Sendable {
    struct Job: Sendable {
        var description: String
        var request: URLRequest
        var resumedFrom: SystemResumption?
    }

    private struct State {
        var jobs: [Int: Job] = [:]
        var begun: [Job] = []
        var next = 0
        weak var session: (any BackgroundTasksReceiver)?
        weak var current: Session?
        var waiting: [(count: Int, gate: Gate)] = []
    }

    private let state = Mutex(State())

    /// The session of a program that runs now.
    func session(_ receiver: any BackgroundTasksReceiver) -> any BackgroundTasks {
        let session = Session(self)
        self.state.withLock { state in
            state.session = receiver
            state.current = session
        }
        return session
    }

    /// The program is killed: what its session still commands has no effect.
    func kill() {
        self.state.withLock { state in
            state.session = nil
            state.current = nil
        }
    }

    private func isKilled(_ session: Session) -> Bool { self.state.withLock { $0.current !== session } }

    /// The requests of which tasks were made, in order.
    var begun: [Job] { self.state.withLock { $0.begun } }

    /// Waits until this many tasks were made.
    func waitForTasks(_ count: Int) async {
        let gate = Gate()
        let isThere = self.state.withLock { state in
            state.waiting.append((count, gate))
            return state.begun.count >= count
        }
        if isThere { gate.open() }
        await gate.wait()
    }

    var jobs: [Int: Job] { self.state.withLock { $0.jobs } }

    /// Ends a task with a response, as the system does on the session's queue.
    func finish(_ task: Int, _ head: ReportedHead, _ body: [UInt8], on lane: SystemLane) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
        try Data(body).write(to: file)
        let (job, session) = self.state.withLock { ($0.jobs.removeValue(forKey: task), $0.session) }
        let url = job?.request.url?.absoluteString ?? ""
        await withCheckedContinuation { continuation in
            lane.execute {
                session?.finished(task, description: job?.description, head, from: url, file: file)
                continuation.resume()
            }
        }
        try? FileManager.default.removeItem(at: file)
    }

    /// Ends a task with an error.
    func fail(_ task: Int, _ resumption: SystemResumption?, on lane: SystemLane) {
        let (job, session) = self.state.withLock { ($0.jobs.removeValue(forKey: task), $0.session) }
        let error = NSError(domain: NSURLErrorDomain, code: NSURLErrorNetworkConnectionLost)
        lane.execute { session?.failed(task, description: job?.description, error, resumption) }
    }

    private func begin(_ job: Job) -> Int {
        let (number, gates) = self.state.withLock { state in
            state.next += 1
            state.jobs[state.next] = job
            state.begun.append(job)
            let count = state.begun.count
            return (state.next, state.waiting.filter { $0.count <= count }.map(\.gate))
        }
        for gate in gates { gate.open() }
        return number
    }

    private func remove(_ task: Int) { self.state.withLock { $0.jobs[task] = nil } }

    final class Session: BackgroundTasks {
        private let system: SimulatedSystem

        init(_ system: SimulatedSystem) { self.system = system }

        func begin(_ request: URLRequest, description: String, resuming resumption: SystemResumption?) -> Int {
            self.system.begin(Job(description: description, request: request, resumedFrom: resumption))
        }

        func cancel(_ task: Int, _ done: @escaping @Sendable (SystemResumption?) -> Void) {
            guard !self.system.isKilled(self) else { return }
            self.system.remove(task)
            Task { done(Self.left("resume \(task)")) }
        }

        /// The resume data of a task, of the version `"1"`.
        static func left(_ text: String) -> SystemResumption? {
            SystemResumption(Data(text.utf8), of: ReportedHead(status: 200, fields: ["Etag": "\"1\""]))
        }

        func list(_ done: @escaping @Sendable ([(number: Int, description: String?)]) -> Void) {
            let jobs = self.system.jobs.map { (number: $0.key, description: Optional($0.value.description)) }
            Task { done(jobs) }
        }
    }
}

@Suite("Background sessions", .timeLimit(.minutes(2)))
struct BackgroundTests {
    private static let pattern = TestPattern(seed: 52)
    private static let head = ReportedHead(status: 200, fields: ["Content-Length": "300000", "Etag": "\"1\""])

    /// One run of a program.
    private struct Program {
        let transfers: BackgroundTransfers
        let transport: SystemTransport

        init(_ system: SimulatedSystem, _ directory: TemporaryDirectory, wakes: Gate? = nil) {
            self.transfers = BackgroundTransfers(
                directory: URL(fileURLWithPath: directory.path("shelf")),
                on: SystemLane("test.background"),
                unclaimedLimit: 8
            ) { takes in
                if takes { wakes?.open() }
                return wakes != nil
            }
            self.transfers.open { system.session($0) }
            self.transport = SystemTransport(SystemTransportOptions(), background: self.transfers)
        }

        /// Waits until the lane has done what was passed to it.
        func settle() async {
            await withCheckedContinuation { continuation in
                self.transfers.lane.later { continuation.resume() }
            }
        }
    }

    private static func url(_ path: String) throws -> HTTPURL { try HTTPURL("https://example.org/\(path)") }

    @Test("a task that outlives its program gives its response to the same request of the next one") func relaunch()
        async throws
    {
        let (system, directory) = (SimulatedSystem(), try TemporaryDirectory())
        var first: Program? = Program(system, directory)
        let lost = ExchangeLog()
        _ = await first?.transport.begin(try Self.url("film"), lost)
        await system.waitForTasks(1)
        // Killed: nothing is cancelled or reported.
        first = nil
        let second = Program(system, directory)
        let log = ExchangeLog()
        _ = await second.transport.begin(try Self.url("film"), log)
        await second.settle()
        let task = try #require(system.jobs.keys.first)
        try await system.finish(task, Self.head, Self.pattern.bytes(0..<300_000), on: second.transfers.lane)
        let record = await log.whole()
        #expect(record.body == Self.pattern.bytes(0..<300_000) && record.isClean == true)
        #expect(record.head?.fields["ETag"] == "\"1\"" && system.begun.count == 1)
        #expect(system.begun[0].request.value(forHTTPHeaderField: "Accept-Encoding") == "identity")
        await second.settle()
        #expect(TemporaryDirectory.entries(of: directory.path("shelf")) == [])
    }

    @Test("a response that arrived without its request is kept, over a kill, also while it is read") func kept()
        async throws
    {
        let (system, directory) = (SimulatedSystem(), try TemporaryDirectory())
        let first = Program(system, directory)
        _ = await first.transport.begin(try Self.url("film"), ExchangeLog { _ in .pause })
        await system.waitForTasks(1)
        let task = try #require(system.jobs.keys.first)
        // The receiver has taken a part when the program is killed.
        try await system.finish(task, Self.head, Self.pattern.bytes(0..<300_000), on: first.transfers.lane)
        let second = Program(system, directory)
        let rest = await second.transport.get(
            try Self.url("film"),
            fields: ["Range": "bytes=250000-", "If-Range": "\"1\""]
        )
        #expect(rest.head?.status == 206 && rest.head?.fields["Content-Range"] == "bytes 250000-299999/300000")
        #expect(rest.body == Self.pattern.bytes(250_000..<300_000) && system.begun.count == 1)
    }

    @Test("a cancelled download is resumed by the system's data, and its response is the whole") func resume()
        async throws
    {
        let (system, directory) = (SimulatedSystem(), try TemporaryDirectory())
        let program = Program(system, directory)
        let exchange = await program.transport.begin(try Self.url("film"), ExchangeLog())
        await system.waitForTasks(1)
        exchange.cancel()
        await program.settle()
        let log = ExchangeLog()
        _ = await program.transport.begin(try Self.url("film"), log)
        await system.waitForTasks(2)
        #expect(system.begun[1].resumedFrom == SimulatedSystem.Session.left("resume 1"))
        // The system's last request was for a part; its file is the whole.
        let part = ReportedHead(
            status: 206,
            fields: ["Content-Length": "100000", "Content-Range": "bytes 200000-299999/300000", "ETag": "\"1\""]
        )
        let task = try #require(system.jobs.keys.first)
        try await system.finish(task, part, Self.pattern.bytes(0..<300_000), on: program.transfers.lane)
        let record = await log.whole()
        #expect(record.head?.status == 200 && record.head?.framing == .length(300_000))
        #expect(record.body == Self.pattern.bytes(0..<300_000) && record.head?.fields["Content-Range"] == nil)
    }

    @Test("a failed task fails its exchange and is resumed by the next; a wrong length, coding or redirect fails")
    func failures() async throws {
        let (system, directory) = (SimulatedSystem(), try TemporaryDirectory())
        let program = Program(system, directory)
        func run(_ count: Int, _ end: (Int) async throws -> Void) async throws -> ExchangeLog.Record {
            let log = ExchangeLog()
            _ = await program.transport.begin(try Self.url("film"), log)
            await system.waitForTasks(count)
            try await end(try #require(system.jobs.keys.first))
            return await log.whole()
        }
        let lost = try await run(1) {
            system.fail($0, SimulatedSystem.Session.left("left"), on: program.transfers.lane)
        }
        #expect(lost.error?.code == .truncated && lost.error?.peer?.host == "example.org")
        let heads = [
            (ReportedHead(status: 200, fields: ["Content-Length": "9"]), TransportError.Code.truncated),
            (ReportedHead(status: 200, fields: ["Content-Length": "3"]), .malformed),
            (ReportedHead(status: 200, fields: ["Content-Length": "5", "Content-Encoding": "br"]), .malformed),
            (ReportedHead(status: 206, fields: ["Content-Length": "2", "Content-Range": "bytes 3-4/7"]), .truncated),
        ]
        for (index, (head, code)) in heads.enumerated() {
            let record = try await run(2 + index) {
                try await system.finish($0, head, [1, 2, 3, 4, 5], on: program.transfers.lane)
            }
            #expect(record.error?.code == code && record.head == nil)
        }
        #expect(
            system.begun[1].resumedFrom == SimulatedSystem.Session.left("left") && system.begun[2].resumedFrom == nil
        )
        let key = BackgroundKey(ExchangeRequest(url: try Self.url("film"), fields: [:], connectTimeout: 1))
        #expect(throws: TransportError.self) {
            try ShelvedResponse(
                Self.head,
                to: TaskDescription(key),
                from: "http://example.org/film",
                length: 300_000,
                time: 0
            )
        }
    }

    @Test("an ended transport leaves its tasks to the system, and the handlers wait for what is being read")
    func ending() async throws {
        let (system, directory, wakes) = (SimulatedSystem(), try TemporaryDirectory(), Gate())
        let program = Program(system, directory, wakes: wakes)
        let log = ExchangeLog()
        _ = await program.transport.begin(try Self.url("film"), log)
        await system.waitForTasks(1)
        await program.transport.shutdown()
        #expect(await log.whole().error?.code == .cancelled && system.jobs.count == 1)
        let next = SystemTransport(SystemTransportOptions(), background: program.transfers)
        let reader = ExchangeLog { _ in .pause }
        let exchange = await next.begin(try Self.url("film"), reader)
        await program.settle()
        let task = try #require(system.jobs.keys.first)
        try await system.finish(task, Self.head, Self.pattern.bytes(0..<300_000), on: program.transfers.lane)
        await reader.hasBody.wait()
        program.transfers.lane.execute { program.transfers.eventsReported() }
        await program.settle()
        #expect(!wakes.isOpen)
        while !reader.ended.isOpen {
            exchange.resumeReading()
            await Task.yield()
        }
        await wakes.wait()
        #expect(reader.now.body == Self.pattern.bytes(0..<300_000))
    }

    @Test("bytes that the system continued are taken only with the entity tag of the first ones") func versions() throws
    {
        let key = BackgroundKey(ExchangeRequest(url: try Self.url("film"), fields: [:], connectTimeout: 1))
        func response(_ resumed: String?, _ fields: [String: String]) throws -> ShelvedResponse {
            var fields = fields
            fields["Content-Range"] = "bytes 3-9/10"
            fields["Content-Length"] = "7"
            let task = TaskDescription(key, resumedTag: resumed)
            let head = ReportedHead(status: 206, fields: fields)
            return try ShelvedResponse(head, to: task, from: key.url, length: 10, time: 0)
        }
        #expect(try response("\"1\"", ["ETag": "\"1\""]).status == 200)
        #expect(throws: TransportError.self) { try response("\"1\"", ["ETag": "\"2\""]) }
        #expect(throws: TransportError.self) { try response(nil, ["ETag": "\"1\""]) }
        #expect(throws: TransportError.self) { try response("W/\"1\"", ["ETag": "W/\"1\""]) }
        #expect(SystemResumption(Data(), of: ReportedHead(status: 200, fields: ["ETag": "W/\"1\""])) == nil)
    }

    @Test("a list of downloads has the files that arrived while its program was not running") func offline()
        async throws
    {
        let (system, directory) = (SimulatedSystem(), try TemporaryDirectory())
        func open(_ program: Program) throws -> OfflineDownloads {
            var configuration = SessionConfiguration.default
            configuration.connectionsPerDownload = 1
            configuration.transport = TransportOverride {
                SystemTransport(SystemTransportOptions(), background: program.transfers)
            }
            return try OfflineDownloads(
                list: directory.path("list"),
                directory: directory.path("files"),
                configuration: configuration
            )
        }
        let first = Program(system, directory)
        let list = try open(first)
        try list.add("https://example.org/film.bin")
        await system.waitForTasks(1)
        system.kill()
        await list.close()
        let second = Program(system, directory)
        let task = try #require(system.jobs.keys.first)
        // It ends before the program makes its list, and then there is a request for it.
        await second.settle()
        try await system.finish(task, Self.head, Self.pattern.bytes(0..<300_000), on: second.transfers.lane)
        let again = try open(second)
        try again.resumeInterrupted()
        while again.finishedDownloads.isEmpty { await Task.yield() }
        #expect(try directory.read("files/film.bin") == Self.pattern.bytes(0..<300_000))
        #expect(system.begun.count == 1 && system.jobs.isEmpty)
        await again.close()
    }

    @Test("uploads and requests with credentials run in the program") func others() async throws {
        let server = try await ScriptedServer.start { .response(200, text: "\($0.method) \($0.body.count)") }
        let (system, directory) = (SimulatedSystem(), try TemporaryDirectory())
        let program = Program(system, directory)
        let post = await program.transport.get(try server.url("a"), method: "POST") { $0.body = [1, 2] }
        let secret = await program.transport.get(try server.url("a"), fields: ["Authorization": "Bearer a"])
        #expect(post.body == Array("POST 2".utf8) && secret.body == Array("GET 0".utf8) && system.begun.isEmpty)
    }
}
