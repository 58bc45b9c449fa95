// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Synchronization

@testable import Daemon

/// A daemon that only remembers: every method of the service, without files and network.
final class MemoryService: TransferService {
    struct State {
        /// Unfinished ones in the line's order, then ended ones by their end.
        var line: [TransferRecord] = []
        var ended: [TransferRecord] = []
        /// The rest of the list that is read.
        var list: [TransferRecord] = []
        var global = TransferOptions()
        var hosts: [String: Int] = [:]
        var schedule: Schedule?
        var endedInAll = 0
        var sessions: [String: Session] = [:]
        var listeners: [Int: (ServiceEvent.Interest, AsyncStream<[ServiceEvent]>.Continuation)] = [:]
        var nextListener = 0
        var saves = 0
        /// The sizes of the additions of several transfers at once.
        var additions: [Int] = []
        var stops: [Bool] = []
        var now = 1_700_000_000.0
        /// Thrown by every change.
        var failure: ControlError?
    }

    struct Session {
        var instance: String
        var program: String
        var configuration: JSON
        var events: [SessionEvent] = []
        var acknowledged: Int64 = 0
        var reader: AsyncStream<SessionEvent>.Continuation?
    }

    let state = Mutex(State())
    let directory: String

    init(directory: String = "/downloads") { self.directory = directory }

    /// Does something under the lock, with its error's type kept.
    private func locked<T: Sendable>(_ body: (inout State) -> Result<T, ControlError>) throws(ControlError) -> T {
        try self.state.withLock { body(&$0) }.get()
    }

    // MARK: Lists

    func openList(_ query: ListQuery) async throws(ControlError) -> (list: String, count: Int) {
        var query = query
        query.limit = .max
        let records = try await self.list(query)
        self.state.withLock { $0.list = records }
        return ("memory", records.count)
    }

    func readList(_ name: String, limit: Int) async throws(ControlError) -> [TransferRecord] {
        guard name == "memory" else { throw ControlError(.notFound, "the list '\(name)' does not exist") }
        return self.state.withLock { state in
            defer { state.list.removeFirst(min(limit, state.list.count)) }
            return Array(state.list.prefix(limit))
        }
    }

    // MARK: Adding and reading

    func add(_ entries: [NewTransfer], at position: Int?) async throws(ControlError) -> [GID] {
        let ids: [GID] = try self.locked { state in
            if let failure = state.failure { return .failure(failure) }
            var records: [TransferRecord] = []
            for entry in entries {
                // The callers leave it to the service.
                if let wrong = entry.urls.first(where: { (try? HTTPURL($0)) == nil }) {
                    return .failure(ControlError(.badParameter, "\(wrong) is not a URL"))
                }
                let id = entry.id ?? GID.random()
                guard !(state.line + state.ended + records).contains(where: { $0.id == id }) else {
                    return .failure(ControlError(.duplicate, "the transfer \(id) already exists"))
                }
                var record = TransferRecord(
                    id: id,
                    session: entry.session,
                    state: entry.isPaused ? .paused : .waiting,
                    urls: entry.urls,
                    directory: entry.options[.dir] ?? state.global[.dir] ?? self.directory,
                    added: state.now,
                    options: entry.options
                )
                record.upload = entry.upload
                records.append(record)
            }
            state.line.insert(contentsOf: records, at: min(position ?? state.line.count, state.line.count))
            return .success(records.map(\.id))
        }
        for id in ids { if let record = try? await self.record(id) { self.tell(.queued(record)) } }
        return ids
    }

    func addEach(_ entries: [PlacedTransfer]) async -> [Result<GID, ControlError>] {
        self.state.withLock { $0.additions.append(entries.count) }
        var results: [Result<GID, ControlError>] = []
        for entry in entries {
            do throws(ControlError) {
                results.append(.success(try await self.add([entry.transfer], at: entry.position)[0]))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    func resolve(_ prefix: String) async throws(ControlError) -> GID {
        try self.locked { state in
            let found = (state.line + state.ended).filter { $0.id.description.hasPrefix(prefix) }
            guard let first = found.first else { return .failure(ControlError(.notFound, "no \(prefix)")) }
            return found.count == 1 ? .success(first.id) : .failure(ControlError(.ambiguous, "several \(prefix)"))
        }
    }

    func details(_ id: GID) async throws(ControlError) -> TransferDetails {
        var attempt = TransferDetails.Attempt(started: 1, url: try await self.record(id).urls[0])
        attempt.status = 200
        let field = TransferDetails.Field(name: "A", value: "b")
        return TransferDetails(
            attempts: [attempt],
            response: TransferDetails.Response(at: 2, status: 200, fields: [field]),
            started: 1,
            log: [TransferDetails.Line(at: 1, text: "started")]
        )
    }

    func record(_ id: GID, withPosition: Bool) async throws(ControlError) -> TransferRecord {
        try self.locked { state in
            guard let record = (state.line + state.ended).first(where: { $0.id == id }) else {
                return .failure(ControlError(.notFound, "no \(id)"))
            }
            return .success(record)
        }
    }

    func list(_ query: ListQuery) async throws(ControlError) -> [TransferRecord] {
        self.state.withLock { state in
            var all = (state.line + state.ended)
                .filter { query.states.isEmpty || query.states.contains($0.state) }
                .filter { record in query.session.map { $0 == record.session } ?? true }
                .filter { record in query.prefix.map { record.id.description.hasPrefix($0) } ?? true }
                .filter { record in query.words.allSatisfy { record.urls.joined().contains($0) } }
            if let key = query.after {
                // The identifiers serve as keys.
                for index in all.indices { all[index].key = Int64(bitPattern: all[index].id.rawValue & 0xFFFF_FFFF) }
                return Array(all.filter { $0.key ?? 0 > key }.sorted { $0.key ?? 0 < $1.key ?? 0 }.prefix(query.limit))
            }
            var offset = query.offset
            if offset < 0 {
                all.reverse()
                offset = -(offset + 1)
            }
            return Array(all.dropFirst(offset).prefix(query.limit))
        }
    }

    func counts(of query: ListQuery) async throws(ControlError) -> QueueCounts { self.counts }

    var counts: QueueCounts {
        self.state.withLock { state in
            var counts = QueueCounts()
            for record in state.line + state.ended {
                switch record.state {
                case .waiting: counts.waiting += 1
                case .active: counts.active += 1
                case .retrying: counts.retrying += 1
                case .held: counts.held += 1
                case .paused: counts.paused += 1
                case .finished: counts.finished += 1
                case .failed: counts.failed += 1
                case .removed: counts.removed += 1
                }
                counts.rate += record.rate
            }
            counts.endedInAll = state.endedInAll
            return counts
        }
    }

    // MARK: Changing

    func perform(_ action: TransferAction, on selection: TransferSelection) async throws(ControlError) -> Int {
        let changed: [TransferRecord] = try self.locked { state in
            if let failure = state.failure { return .failure(failure) }
            let targets: [GID]
            switch selection {
            case .ids(let ids):
                for id in ids {
                    guard let record = (state.line + state.ended).first(where: { $0.id == id }) else {
                        return .failure(ControlError(.notFound, "no \(id)"))
                    }
                    guard Self.allows(action, record.state) else {
                        return .failure(ControlError(.wrongState, "\(id) is \(record.state.rawValue)"))
                    }
                }
                targets = ids
            case .all(let session):
                targets = (state.line + state.ended)
                    .filter { $0.session == session && Self.allows(action, $0.state) }.map(\.id)
            }
            return .success(targets.compactMap { Self.apply(action, $0, &state) })
        }
        for record in changed {
            switch action {
            case .pause: self.tell(.paused(record))
            case .remove: self.tell(.removed(record))
            case .resume, .retry: self.tell(.queued(record))
            case .forget, .setPriority: break
            }
        }
        return changed.count
    }

    private static func allows(_ action: TransferAction, _ state: TransferRecord.State) -> Bool {
        switch action {
        case .pause: state == .waiting || state == .active
        case .resume: state == .paused
        case .retry: state == .failed || state == .removed
        case .remove, .setPriority: !state.isEnd
        case .forget: state.isEnd
        }
    }

    private static func apply(_ action: TransferAction, _ id: GID, _ state: inout State) -> TransferRecord? {
        if let index = state.line.firstIndex(where: { $0.id == id }) {
            switch action {
            case .pause: state.line[index].state = .paused
            case .resume: state.line[index].state = .waiting
            case .setPriority(let priority): state.line[index].priority = priority
            case .remove:
                var record = state.line.remove(at: index)
                record.state = .removed
                record.ended = state.now
                state.ended.append(record)
                state.endedInAll += 1
                return record
            case .retry, .forget: return nil
            }
            return state.line[index]
        }
        guard let index = state.ended.firstIndex(where: { $0.id == id }) else { return nil }
        var record = state.ended.remove(at: index)
        if action == .retry {
            record.state = .waiting
            record.failure = nil
            state.line.append(record)
        }
        return record
    }

    func move(_ id: GID, by offset: Int, from origin: MoveOrigin) async throws(ControlError) -> Int {
        try self.locked { state in
            guard let index = state.line.firstIndex(where: { $0.id == id }) else {
                let isThere = state.ended.contains { $0.id == id }
                return .failure(ControlError(isThere ? .wrongState : .notFound, "\(id)"))
            }
            let record = state.line.remove(at: index)
            let base =
                switch origin {
                case .start: 0
                case .current: index
                case .end: state.line.count
                }
            let place = max(0, min(state.line.count, base + offset))
            state.line.insert(record, at: place)
            return .success(place)
        }
    }

    private func change(_ id: GID, _ body: (inout TransferRecord) -> Void) throws(ControlError) {
        let _: Bool = try self.locked { state in
            if let failure = state.failure { return .failure(failure) }
            guard let index = state.line.firstIndex(where: { $0.id == id }) else {
                return .failure(ControlError(.notFound, "no \(id)"))
            }
            body(&state.line[index])
            return .success(true)
        }
    }

    func changeOptions(_ id: GID, _ options: TransferOptions) async throws(ControlError) {
        try self.change(id) { $0.options = $0.options.merging(options) }
    }

    var globalOptions: TransferOptions { self.state.withLock { $0.global } }

    func changeGlobalOptions(_ options: TransferOptions) async throws(ControlError) {
        self.state.withLock { $0.global = $0.global.merging(options) }
    }

    func replaceURLs(_ id: GID, with urls: [String], _ options: TransferOptions) async throws(ControlError) {
        try self.change(id) { record in
            record.urls = urls
            record.options = record.options.merging(options)
        }
    }

    func setHostLimit(_ host: String, _ connections: Int?) async throws(ControlError) {
        self.state.withLock { $0.hosts[host] = connections }
    }
    var hostLimits: [String: Int] { self.state.withLock { $0.hosts } }
    func setSchedule(_ schedule: Schedule?) async throws(ControlError) {
        self.state.withLock { $0.schedule = schedule }
    }
    var schedule: Schedule? { self.state.withLock { $0.schedule } }
    var receivedBytes: Int64? { 4711 }

    // MARK: Sessions

    func openSession(
        _ identifier: String,
        instance: String,
        program: String,
        configuration: JSON
    ) async throws(ControlError) -> SessionOpening {
        try self.locked { state in
            if let session = state.sessions[identifier], session.instance != instance {
                return .failure(ControlError(.sessionInUse, "\(identifier) is open", remedy: "close it there"))
            }
            var session =
                state.sessions[identifier]
                ?? Session(instance: instance, program: program, configuration: configuration)
            session.configuration = configuration
            state.sessions[identifier] = session
            return .success(
                SessionOpening(
                    transfers: state.line.filter { $0.session == identifier },
                    acknowledged: session.acknowledged,
                    last: session.events.last?.number ?? 0
                )
            )
        }
    }

    func sessionEvents(
        _ identifier: String,
        instance: String,
        after: Int64
    ) async throws(ControlError) -> AsyncStream<SessionEvent> {
        try self.locked { state in
            guard let session = state.sessions[identifier] else {
                return .failure(ControlError(.notFound, "no session \(identifier)"))
            }
            guard session.instance == instance else {
                return .failure(ControlError(.sessionInUse, "\(identifier) is open", remedy: "close it there"))
            }
            let (stream, continuation) = AsyncStream.makeStream(of: SessionEvent.self)
            for event in session.events where event.number > after { continuation.yield(event) }
            continuation.onTermination = { _ in
                self.state.withLock { $0.sessions[identifier]?.reader = nil }
            }
            state.sessions[identifier]?.reader = continuation
            return .success(stream)
        }
    }

    func acknowledge(_ identifier: String, upTo number: Int64) async throws(ControlError) {
        self.state.withLock { $0.sessions[identifier]?.acknowledged = number }
    }

    func finishEvents(
        _ identifier: String,
        upTo number: Int64,
        acknowledging acknowledged: Int64
    ) async throws(ControlError) {
        if acknowledged > 0 { try await self.acknowledge(identifier, upTo: acknowledged) }
    }

    func closeSession(_ identifier: String, instance: String, keepsTransfers: Bool) async throws(ControlError) {
        self.state.withLock { state in
            state.sessions[identifier]?.reader?.finish()
            state.sessions[identifier] = nil
            if !keepsTransfers { state.line.removeAll { $0.session == identifier } }
        }
    }

    func sessions() async throws(ControlError) -> [SessionSummary] {
        self.state.withLock { state in
            state.sessions.sorted { $0.key < $1.key }
                .map { name, session in
                    SessionSummary(
                        identifier: name,
                        unfinished: state.line.count { $0.session == name },
                        unacknowledged: session.events.count { $0.number > session.acknowledged },
                        program: session.program
                    )
                }
        }
    }

    // MARK: The daemon

    func events(_ interest: ServiceEvent.Interest, capacity: Int) -> AsyncStream<[ServiceEvent]> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: [ServiceEvent].self,
            bufferingPolicy: .bufferingOldest(capacity)
        )
        let key = self.state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = (interest, continuation)
            return state.nextListener
        }
        continuation.onTermination = { _ in
            _ = self.state.withLock { $0.listeners.removeValue(forKey: key) }
        }
        return stream
    }

    /// Notifies all subscribers; one with too many unread events gets no more.
    func tell(_ event: ServiceEvent) {
        for (interest, continuation) in self.state.withLock({ Array($0.listeners.values) })
        where interest.isSuperset(of: event.interest) {
            if case .dropped = continuation.yield([event]) { continuation.finish() }
        }
    }

    /// Adds an event to a session's.
    func tell(_ identifier: String, _ json: JSON) {
        let (reader, event): (AsyncStream<SessionEvent>.Continuation?, SessionEvent) = self.state.withLock { state in
            let number = (state.sessions[identifier]?.events.last?.number ?? 0) + 1
            let event = SessionEvent(number: number, json: json)
            state.sessions[identifier]?.events.append(event)
            return (state.sessions[identifier]?.reader, event)
        }
        reader?.yield(event)
    }

    var listenerCount: Int { self.state.withLock { $0.listeners.count } }

    func save() async throws(ControlError) { self.state.withLock { $0.saves += 1 } }
    func stop(isForced: Bool) { self.state.withLock { $0.stops.append(isForced) } }
}

extension MemoryService {
    /// Changes one that has not ended, wherever that would come from.
    func set(_ id: GID, _ body: (inout TransferRecord) -> Void) {
        self.state.withLock { state in
            guard let index = state.line.firstIndex(where: { $0.id == id }) else { return }
            body(&state.line[index])
        }
    }

    /// Ends one.
    func end(_ id: GID, _ end: TransferRecord.State, _ failure: TransferRecord.Failure? = nil) {
        self.state.withLock { state in
            guard let index = state.line.firstIndex(where: { $0.id == id }) else { return }
            var record = state.line.remove(at: index)
            record.state = end
            record.failure = failure
            record.ended = state.now
            state.ended.append(record)
            state.endedInAll += 1
        }
    }
}
