import Control
import Martlet
import QueueStore
import Synchronization
import Testing
import TransferTesting

@testable import Daemon

/// A core on a directory of its own, and what it tells.
final class CoreHarness: Sendable {
    let directory: TemporaryDirectory
    let store: QueueStore
    let core: DaemonCore
    let events: EventLog

    init(_ directory: TemporaryDirectory? = nil, _ change: (inout CoreConfiguration) -> Void = { _ in }) async throws {
        self.directory = try directory ?? TemporaryDirectory()
        self.store = try QueueStore(path: self.directory.path("queue.sqlite"))
        self.events = EventLog()
        var configuration = CoreConfiguration(
            stateDirectory: self.directory.path,
            directory: self.directory.path("files")
        )
        configuration.shared.proxy = .none
        configuration.options[.maxConcurrentDownloads] = "1"
        configuration.onEvent = { [events = self.events] in events.add($0) }
        change(&configuration)
        self.core = try await DaemonCore.open(configuration, store: self.store)
    }

    func stop() async {
        self.core.stop(isForced: false)
        await self.core.waitUntilStopped()
    }

    @discardableResult
    func add(
        _ url: String,
        _ options: [String: String] = [:],
        session: String? = nil,
        isPaused: Bool = false,
        at position: Int? = nil
    ) async throws -> GID {
        let entry = NewTransfer(
            urls: [url],
            options: TransferOptions(options.mapValues { [$0] }),
            isPaused: isPaused,
            session: session
        )
        return try #require(try await self.core.add([entry], at: position).first)
    }

    /// The path of a file among the finished ones.
    func path(_ name: String) -> String { self.directory.path("files/" + name) }
}

/// What a core told, to be waited for.
final class EventLog: Sendable {
    private struct State {
        var entries: [String] = []
        var waiters: [(String, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var entries: [String] { self.state.withLock { $0.entries } }

    func add(_ event: ServiceEvent) {
        let text: String
        switch event {
        case .started(let record): text = "started \(record.id)"
        case .paused(let record): text = "paused \(record.id)"
        case .removed(let record): text = "removed \(record.id)"
        case .finished(let record): text = "finished \(record.id)"
        case .failed(let record): text = "failed \(record.id) \(record.failure?.code ?? 0)"
        case .queued(let record): text = "queued \(record.id)"
        case .progress: return
        case .drained: text = "drained"
        }
        let woken = self.state.withLock { state in
            state.entries.append(text)
            let woken = state.waiters.filter { text.hasPrefix($0.0) }
            state.waiters.removeAll { text.hasPrefix($0.0) }
            return woken
        }
        for (_, waiter) in woken { waiter.resume() }
    }

    /// Returns once something that begins so was told.
    func wait(_ prefix: String) async {
        await withCheckedContinuation { continuation in
            let isThere = self.state.withLock { state in
                if state.entries.contains(where: { $0.hasPrefix(prefix) }) { return true }
                state.waiters.append((prefix, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func clear() { self.state.withLock { $0.entries = [] } }

    /// The transfers of which something was told, in that order.
    func ids(_ what: String) -> [String] {
        self.entries.filter { $0.hasPrefix(what + " ") }.map { String($0.split(separator: " ")[1]) }
    }
}

/// The error of the interface that a piece of code throws.
func controlCode(_ body: () async throws -> some Any) async -> ControlError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? ControlError)?.code
    }
}
