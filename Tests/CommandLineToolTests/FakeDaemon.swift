// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Synchronization
import TransferTesting

@testable import CommandLineTool

/// Something on a state directory's socket that keeps a queue in memory.
final class FakeDaemon: Sendable {
    let temporary: TemporaryDirectory
    let state: StateDirectory
    private let server: ScriptedServer
    private let queue: Queue

    /// The received requests and the configured responses.
    final class Queue: Sendable {
        let records = Mutex<[TransferRecord]>([])
        let calls = Mutex<[(method: String, params: JSON)]>([])
        /// How many of the list that is read were given.
        let listOffset = Mutex(0)
        let answers = Mutex<[String: @Sendable (JSON) -> Result<JSON, ControlError>]>([:])
        /// What `/events` gives, and whether it ends then.
        let events = Mutex<[[JSON]]>([])
    }

    static func start() async throws -> FakeDaemon {
        let temporary = try TemporaryDirectory()
        let state = try StateDirectory(temporary.path + "/state")
        try state.make()
        let queue = Queue()
        let server = try await ScriptedServer.start(socketPath: state.socketPath) { Self.reply(to: $0, queue) }
        return FakeDaemon(temporary, state, server, queue)
    }

    private init(_ temporary: TemporaryDirectory, _ state: StateDirectory, _ server: ScriptedServer, _ queue: Queue) {
        self.temporary = temporary
        self.state = state
        self.server = server
        self.queue = queue
    }

    /// Runs a command against it.
    ///
    /// - Returns: Its exit status, and what it wrote.
    func run(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
        try await commandResult(arguments + ["--state-dir", self.state.path])
    }

    /// The parameters of the calls of a method.
    func calls(of method: String) -> [JSON] {
        self.queue.calls.withLock { $0.filter { $0.method == method }.map(\.params) }
    }

    /// Puts a transfer into the queue, or in place of the one that has its identifier.
    func put(_ record: TransferRecord) {
        self.queue.records.withLock { records in
            records.removeAll { $0.id == record.id }
            records.append(record)
        }
    }

    /// Knows no transfer any more.
    func forgetAll() { self.queue.records.withLock { $0 = [] } }

    /// Answers a method so from now on.
    func answer(_ method: String, _ result: Result<JSON, ControlError>) { self.answer(method) { _ in result } }

    /// Answers a method so from now on, by its parameters.
    func answer(_ method: String, by decide: @escaping @Sendable (JSON) -> Result<JSON, ControlError>) {
        self.queue.answers.withLock { $0[method] = decide }
    }

    /// The next readers of `/events` get these, each until it has them all; the last connection stays open.
    func give(events: [[JSON]]) { self.queue.events.withLock { $0 = events } }

    private static func reply(to request: RecordedRequest, _ queue: Queue) -> Reply {
        if request.path == "/events" { return self.events(queue) }
        guard let call = try? JSON(parsing: request.body), let method = call["method"]?.string else {
            return .response(400)
        }
        let params = call["params"] ?? .null
        queue.calls.withLock { $0.append((method, params)) }
        switch queue.answers.withLock({ $0[method] })?(params) ?? self.answer(method, params, queue) {
        case .success(let result):
            return .response(200, text: JSON.object([.init("id", 1), .init("result", result)]).text)
        case .failure(let error):
            let data: JSON = ["reason": .string(error.code.rawValue), "remedy": .string(error.remedy)]
            let object: JSON = ["code": 1, "message": .string(error.message), "data": data]
            return .response(400, text: JSON.object([.init("id", 1), .init("error", object)]).text)
        }
    }

    private static func events(_ queue: Queue) -> Reply {
        let (events, isLast) = queue.events.withLock { all -> ([JSON], Bool) in
            guard let first = all.first else { return ([], true) }
            let isLast = all.count == 1
            if !isLast { all.removeFirst() }
            return (first, isLast)
        }
        var text = ""
        for event in events { text += "event: \(event["kind"]?.string ?? "")\ndata: \(event.text)\n\n" }
        let head = Reply.headBytes(200, [("Content-Type", "text/event-stream")])
        return Reply([.head(head + Array(text.utf8)), isLast ? .stall : .close])
    }

    private static func answer(_ method: String, _ params: JSON, _ queue: Queue) -> Result<JSON, ControlError> {
        switch method {
        case "martlet.daemon": return .success(["protocol": 1, "version": "1", "pid": 17])
        case "martlet.add":
            let entries = params["entries"]?.array ?? []
            let ids = entries.map { GID($0["id"]?.string ?? "") ?? GID.random() }
            queue.records.withLock { records in
                for (entry, id) in zip(entries, ids) {
                    let urls = entry["urls"]?.array?.compactMap(\.string) ?? []
                    records.append(
                        TransferRecord(
                            id: id,
                            state: .waiting,
                            urls: urls,
                            directory: "/d",
                            added: 1,
                            options: TransferOptions(json: entry["options"] ?? .null)
                        )
                    )
                }
            }
            return .success(.array(ids.map { .string($0.description) }))
        case "martlet.list":
            let offset = Int(params["offset"]?.integer ?? 0)
            let limit = Int(params["limit"]?.integer ?? 1000)
            let records = queue.records.withLock { offset < 0 ? $0.reversed() : $0 }
            let skipped = offset < 0 ? -1 - offset : offset
            return .success(.array(records.dropFirst(skipped).prefix(limit).map(\.json)))
        case "martlet.openList":
            let count = queue.records.withLock { records in
                queue.listOffset.withLock { $0 = 0 }
                return records.count
            }
            return .success(["list": "l1", "count": .integer(Int64(count))])
        case "martlet.readList":
            let limit = Int(params["limit"]?.integer ?? 1000)
            let records = queue.records.withLock { $0 }
            let start = queue.listOffset.withLock { read in
                defer { read += limit }
                return read
            }
            return .success(.array(records.dropFirst(start).prefix(limit).map(\.json)))
        case "martlet.show":
            var found: [JSON] = []
            let records = queue.records.withLock { $0 }
            for id in params["ids"]?.array?.compactMap(\.string) ?? [] {
                let record = records.first { $0.id.description.hasPrefix(id) }
                guard let record else { return .failure(ControlError(.notFound, "there is no transfer '\(id)'")) }
                found.append(record.json)
            }
            return .success(.array(found))
        case "martlet.counts":
            var counts = QueueCounts()
            func count(_ state: TransferRecord.State) -> Int {
                queue.records.withLock { $0.count { $0.state == state } }
            }
            counts.waiting = count(.waiting)
            counts.active = count(.active)
            counts.retrying = count(.retrying)
            counts.held = count(.held)
            counts.paused = count(.paused)
            return .success(counts.json)
        default: return .success(["changed": 2, "position": 3])
        }
    }
}

/// Runs a command of the queue whose output is kept.
func commandResult(_ arguments: [String]) async throws -> (status: Int32, output: String, errors: String) {
    guard let command = try QueueRun.command(arguments) else {
        throw TestSupportError("\(arguments) is not a queue command")
    }
    let console = Console(keeping: ())
    let status = await QueueRun.status(of: command, console)
    return (status, console.text.output, console.text.errors)
}
