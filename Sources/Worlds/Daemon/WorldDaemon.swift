// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import FileStorage
import Logging
import Martlet
import QueueStore
import TransferCore
import TransferEngine

/// One process of the daemon: its core over its store, from its start to its end.
///
/// `@unchecked Sendable`: a world runs on one thread.
final class WorldDaemon: @unchecked Sendable {
    /// The callbacks of a process.
    protocol Observer: AnyObject {
        /// The queue is open, or cannot be opened.
        func opened(_ daemon: WorldDaemon, _ error: String?)
        /// The core has stopped as asked.
        func stopped(_ daemon: WorldDaemon)
        /// An event of the core.
        func heard(_ event: ServiceEvent, _ daemon: WorldDaemon)
    }

    let process: SimulatedProcess
    let databases = ProcessDatabases()
    /// The core; `nil` until the queue is open.
    private(set) var core: DaemonCore?
    /// When the queue was opened.
    private(set) var openedAt: Int64 = 0
    /// Whether it was asked to stop.
    private(set) var isStopping = false

    private let scheduler: Scheduler
    private let network: SimulatedNetwork
    private let trace: Trace
    private let terms: DaemonTerms
    private weak var observer: (any Observer)?
    private var engines: [TransferEngine] = []

    static let state = "/daemon"
    static let downloads = "/downloads"

    init(
        _ number: Int,
        _ scheduler: Scheduler,
        _ network: SimulatedNetwork,
        _ trace: Trace,
        _ terms: DaemonTerms,
        _ observer: any Observer
    ) {
        self.process = SimulatedProcess(number: number)
        self.scheduler = scheduler
        self.network = network
        self.trace = trace
        self.terms = terms
        self.observer = observer
    }

    /// The name in traces.
    var name: String { "daemon \(self.process.number)" }

    // MARK: Its life

    /// Starts the process.
    func start() { self.perform { self.open() } }

    private func open() {
        let configuration = self.configuration()
        let store: QueueStore
        do throws(QueueStoreError) {
            store = try QueueStore(
                path: Self.state + "/queue.sqlite",
                threads: .simulated(self.scheduler, self.process)
            )
        } catch {
            self.report { $0.opened(self, "\(error.code): \(error.message)") }
            return
        }
        Task {
            do throws(ControlError) {
                let core = try await DaemonCore.open(configuration, store: store)
                guard self.process.isAlive else { return core.stop(isForced: true) }
                self.core = core
                self.openedAt = self.scheduler.now
                self.report { $0.opened(self, nil) }
            } catch {
                await store.close()
                self.report { $0.opened(self, "\(error.code): \(error.message)") }
            }
        }
    }

    /// Stops the daemon as a signal does.
    func stop() {
        guard let core, !self.isStopping else { return }
        self.isStopping = true
        self.perform {
            core.stop(isForced: false)
            Task {
                await core.waitUntilStopped()
                self.report { $0.stopped(self) }
            }
        }
    }

    /// Calls the core as a client's request does; `done` gets the response, which a killed process does not send.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable (DaemonCore) async throws(ControlError) -> Value,
        then done: @escaping (Result<Value, ControlError>) -> Void
    ) {
        guard let core else { return }
        nonisolated(unsafe) let done = done
        self.perform {
            Task {
                let result: Result<Value, ControlError>
                do throws(ControlError) { result = .success(try await body(core)) } catch { result = .failure(error) }
                if self.process.isAlive { done(result) }
            }
        }
    }

    /// Releases the objects of the dead process.
    func dispose() {
        self.process.dispose(self.scheduler) {
            for engine in self.engines { engine.cancelAll() }
            self.core?.stop(isForced: true)
        }
        self.core = nil
        self.engines = []
    }

    private func perform(_ work: () -> Void) { self.scheduler.perform(as: self.process, work) }

    private func report(_ call: (any Observer) -> Void) {
        if self.process.isAlive, let observer { call(observer) }
    }

    // MARK: Its ports

    private func configuration() -> CoreConfiguration {
        var configuration = CoreConfiguration(stateDirectory: Self.state, directory: Self.downloads)
        configuration.shared.proxy = .none
        configuration.options[.maxConcurrentDownloads] = "\(self.terms.concurrent)"
        configuration.options[.outageTimeout] = self.terms.outageTimeout.map { "\($0)" }
        // A clock that is set ahead makes the history old; the judge wants to see it.
        configuration.historyAge = 1e12
        configuration.onEvent = { [unowned self] event in self.report { $0.heard(event, self) } }
        let trace = TraceLines { [trace = self.trace, name = self.name] in trace.add(name, "logs: \($0)") }
        configuration.logger = Logger(label: "martletd") { _ in trace }
        let scheduler = self.scheduler
        configuration.clock.now = { Double(scheduler.wallNanoseconds) / 1e9 }
        configuration.clock.uptime = { scheduler.now }
        configuration.clock.local = {
            let minute = DaemonSchedules.minute(ofSeconds: scheduler.wallNow)
            return (DaemonSchedules.minuteOfDay(minute), DaemonSchedules.weekday(minute))
        }
        configuration.clock.sleep = { await VirtualConcurrency.sleep($0) }
        configuration.resources = self.resources()
        return configuration
    }

    private func resources() -> EngineResources {
        let (scheduler, process, store) = (self.scheduler, self.process, DiskStore())
        let pool = SimulatedPool(scheduler, process)
        return EngineResources(store: store, pool: pool) { [unowned self] configuration, _ in
            let engine = TransferEngine(
                configuration: configuration,
                transport: SimulatedTransport(self.network, process, lanes: 2),
                store: store,
                time: SimulatedTime(scheduler, process),
                pool: pool
            )
            self.engines.append(engine)
            return engine
        }
    }
}

/// `@unchecked Sendable`: a world runs on one thread.
private struct TraceLines: LogHandler, @unchecked Sendable {
    let add: (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .notice

    init(_ add: @escaping (String) -> Void) { self.add = add }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.add("\(event.level) \(event.message)") }
}
