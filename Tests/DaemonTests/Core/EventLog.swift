// SPDX-License-Identifier: Apache-2.0
import Control
import Dispatch
import Logging
import Synchronization
import TransferTesting

@testable import Daemon

/// The events and log lines of a core, to wait for.
final class EventLog: Sendable {
    /// Everything received so far.
    private struct Heard {
        var entries: [String] = []
        var lines: [String] = []
        /// How far each transfer was said to have come.
        var bytes: [GID: Int64] = [:]
    }

    private struct Waiter {
        var isMet: @Sendable (Heard) -> Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var heard = Heard()
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    /// Seconds after which a missing event is a failure.
    private static let patience = 50.0

    private let state = Mutex(State())

    var entries: [String] { self.state.withLock { $0.heard.entries } }

    func add(_ event: ServiceEvent) {
        let text: String
        switch event {
        case .started(let record): text = "started \(record.id)"
        case .paused(let record): text = "paused \(record.id)"
        case .removed(let record): text = "removed \(record.id)"
        case .finished(let record): text = "finished \(record.id)"
        case .failed(let record): text = "failed \(record.id) \(record.failure?.code ?? 0)"
        case .queued(let record): text = "queued \(record.id)"
        case .progress(let records):
            return self.hear { heard in for record in records { heard.bytes[record.id] = record.bytes } }
        case .all(let state, _, let count): text = "all \(state.rawValue) \(count)"
        case .drained: text = "drained"
        case .changed(let record): text = "\(record.state.rawValue) \(record.id)"
        }
        self.hear { $0.entries.append(text) }
    }

    func add(line: String) { self.hear { $0.lines.append(line) } }

    /// Returns when an event that starts with a text was reported.
    func wait(_ prefix: String) async throws {
        try await self.wait("'\(prefix)' was not told") { $0.entries.contains { $0.hasPrefix(prefix) } }
    }

    /// Returns when this many events that start with a text were reported.
    func wait(_ prefix: String, count: Int) async throws {
        try await self.wait("'\(prefix)' was not reported \(count) times") { heard in
            heard.entries.count { $0.hasPrefix(prefix) } >= count
        }
    }

    /// Returns once a transfer was said to have this many bytes, or more.
    func wait(for bytes: Int64, of id: GID) async throws {
        try await self.wait("\(bytes) bytes of \(id) were not reported") { $0.bytes[id] ?? 0 >= bytes }
    }

    /// Returns once a line that begins so was logged.
    func wait(forLine prefix: String) async throws {
        try await self.wait("'\(prefix)' was not logged") { $0.lines.contains { $0.hasPrefix(prefix) } }
    }

    /// The number of lines that were logged.
    var lineCount: Int { self.state.withLock { $0.heard.lines.count } }

    /// Returns when more lines than this number were logged.
    func wait(forLineAfter count: Int) async throws {
        try await self.wait("nothing was logged after line \(count)") { $0.lines.count > count }
    }

    func clear() { self.state.withLock { $0.heard.entries = [] } }

    /// The transfers with an event of a kind, in the order of the events.
    func ids(_ what: String) -> [String] {
        self.entries.filter { $0.hasPrefix(what + " ") }.map { String($0.split(separator: " ")[1]) }
    }

    private func hear(_ change: (inout Heard) -> Void) {
        let met = self.state.withLock { state in
            change(&state.heard)
            let met = state.waiters.filter { $0.value.isMet(state.heard) }
            for number in met.keys { state.waiters[number] = nil }
            return met
        }
        for waiter in met.values { waiter.continuation.resume(returning: true) }
    }

    private func wait(_ otherwise: String, _ isMet: @escaping @Sendable (Heard) -> Bool) async throws {
        let isThere = await withCheckedContinuation { continuation in
            let number: Int? = self.state.withLock { state in
                guard !isMet(state.heard) else { return nil }
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = Waiter(isMet: isMet, continuation: continuation)
                return state.nextWaiter
            }
            guard let number else { return continuation.resume(returning: true) }
            DispatchQueue.global()
                .asyncAfter(deadline: .now() + Self.patience) { [weak self] in
                    self?.state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation
                        .resume(returning: false)
                }
        }
        guard !isThere else { return }
        let heard = self.state.withLock { $0.heard }
        throw TestSupportError(
            """
            \(otherwise) within \(Int(Self.patience)) s; the last that was told is \(heard.entries.suffix(8)), how far \
            they have come \(heard.bytes), the last that was logged \(heard.lines.suffix(4))
            """
        )
    }
}

/// Writes what the core logs into an ``EventLog``.
struct LogLines: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    private let events: EventLog

    init(_ events: EventLog) { self.events = events }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.events.add(line: "\(event.message)") }
}
