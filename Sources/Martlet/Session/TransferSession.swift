// SPDX-License-Identifier: Apache-2.0
internal import CoreMetrics
internal import FileStorage
internal import HTTPTransport
internal import Logging
internal import Synchronization
internal import TransferEngine

/// A group of transfers that share a configuration, a queue, limits, cookies and delegates.
///
/// A session lives as long as its tasks. Releasing it does not cancel any of them; it is deinitialized after the last
/// task has ended, and need not be invalidated. Every method may be called from any thread.
///
/// Responses are not cached unless the configuration has a ``SessionConfiguration/cache``. Bodies are stored as the
/// server sends them: no content coding is requested, and none is decoded.
public final class TransferSession: Sendable {
    /// A session with the default configuration for the whole program.
    ///
    /// It cannot be invalidated: ``finishTasksAndInvalidate()`` and ``invalidateAndCancel()`` do nothing.
    public static let shared: TransferSession = {
        do {
            return try TransferSession(.default, isShared: true) { _ in }
        } catch {
            preconditionFailure("the default configuration reads no file, so it cannot be invalid: \(error)")
        }
    }()

    /// The configuration with which the session was created.
    public let configuration: SessionConfiguration

    /// The engine or, in a background session, the connection to the daemon.
    let runner: any TransferRunner
    /// The connection to the daemon of a background session, or `nil`.
    let background: BackgroundRunner?
    let store = DiskStore()
    let policy: SessionPolicy
    /// The policy of blocking calls: the same cookies and configured credentials.
    private let callPolicy: SessionPolicy
    let delegates = DelegateList<any TransferDelegate>()
    /// Calls completion handlers.
    let handlers: Inbox
    let baseOptions: DownloadOptions
    let baseFields: [(String, String)]
    let gate: ConditionGate?
    /// The engine of blocking calls; `nil` before the first one.
    private let callEngine = Mutex<TransferEngine?>(nil)
    /// The limits, which can change while the session runs.
    let limits: Mutex<SessionLimits>

    let registry: TaskRegistry
    let isPlacePrepared = Atomic(false)
    private let instruments: SessionInstruments
    /// Whether this is ``shared``, which cannot be invalidated.
    private let isShared: Bool

    /// Creates a session.
    ///
    /// - Parameter configuration: The configuration; later changes to the value have no effect on the session.
    /// - Throws: ``TransferError`` with `badConfiguration` if certificates or keys cannot be read, or if a header field
    ///   has an invalid name or contains a line break, if the system's `URLSession` cannot have the configuration's TLS
    ///   options or proxies, or if a background session has a ``SessionConfiguration/transport``,
    ///   a ``SessionConfiguration/cache``, an ``SessionConfiguration/adapter`` or a ``SessionConfiguration/retrier``.
    public convenience init(configuration: SessionConfiguration = .default) throws(TransferError) {
        try self.init(configuration) { _ in }
    }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - isShared: Whether it is the shared session.
    ///   - prepare: Called with the session before its first event, so that a delegate added here misses nothing.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    init(
        _ configuration: SessionConfiguration,
        isShared: Bool = false,
        prepare: (TransferSession) -> Void
    ) throws(TransferError) {
        do {
            try Self.check(configuration.headers)
        } catch {
            throw TransferError(.badConfiguration, error.message)
        }
        self.isShared = isShared
        self.limits = Mutex(SessionLimits(configuration))
        self.policy = SessionPolicy(configuration)
        self.callPolicy = SessionPolicy(configuration)
        self.handlers = Inbox(configuration.callbackContext)
        self.baseOptions = configuration.forDownloads
        self.baseFields = configuration.baseFields
        self.instruments = SessionInstruments(configuration)
        if let place = configuration.background {
            if configuration.transport != nil {
                throw TransferError(
                    .badConfiguration,
                    "a background session's requests are made by the daemon, so its transport cannot be replaced"
                )
            }
            if configuration.cache != nil {
                throw TransferError(
                    .badConfiguration,
                    "a background session has no data tasks, so it cannot use a response cache",
                    remedy: "set the cache of the configuration to nil"
                )
            }
            if configuration.adapter != nil {
                throw TransferError(
                    .badConfiguration,
                    "a background session's requests are made by the daemon, so it cannot use a request adapter",
                    remedy: "set the adapter of the configuration to nil"
                )
            }
            if configuration.retrier != nil {
                throw TransferError(
                    .badConfiguration,
                    "a background session's daemon repeats requests by itself, so it cannot use a retrier",
                    remedy: "set the retrier of the configuration to nil, and use its retries"
                )
            }
            let background = try BackgroundRunner(place, configuration)
            var configuration = configuration
            configuration.directory = background.container
            self.configuration = configuration
            self.background = background
            self.runner = background
            self.gate = nil
            // Numbers increase from run to run: no two runs start in the same microsecond.
            self.registry = TaskRegistry(lastNumber: SystemClock.microseconds, keepsSuspended: true)
            prepare(self)
            background.begin(for: self)
            return
        }
        self.configuration = configuration
        self.background = nil
        self.gate = ConditionGate(configuration)
        self.registry = TaskRegistry()
        let engine = try Self.engine(configuration, self.store)
        self.runner = engine
        self.observe(engine, self.policy)
        prepare(self)
        engine.start()
    }

    private static func engine(
        _ configuration: SessionConfiguration,
        _ store: DiskStore
    ) throws(TransferError) -> TransferEngine {
        if let transport = configuration.transport {
            try configuration.checkSystemSettings(of: transport)
            return LiveEngine.make(
                configuration.forEngine,
                transport: transport,
                on: SharedRuntime.loops,
                store: store,
                pool: SharedRuntime.pool,
                wrapping: { Self.wrapping($0, configuration) }
            )
        }
        do {
            return try LiveEngine.make(
                configuration.forEngine,
                transport: configuration.forTransport,
                on: SharedRuntime.loops,
                store: store,
                pool: SharedRuntime.pool,
                wrapping: { Self.wrapping($0, configuration) }
            )
        } catch {
            throw TransferError(.badConfiguration, "\(error)")
        }
    }

    /// The transport with the configuration's cache and adapter in front of it; without them, the transport itself.
    private static func wrapping(_ network: any Transport, _ configuration: SessionConfiguration) -> any Transport {
        var transport = network
        if let cache = configuration.cache {
            transport = CachingTransport(transport, cache, configuration.logger, configuration.tls)
        }
        if let adapter = configuration.adapter { transport = AdaptingTransport(transport, adapter) }
        return transport
    }

    private func observe(_ engine: TransferEngine, _ policy: SessionPolicy) {
        engine.observe(self.instruments.interest.union([.states, .progress, .responses])) { [instruments] event in
            instruments.note(event)
            let task = (event.userInfo as? TaskBox)?.task
            switch event.kind {
            case .finished, .failed, .cancelled: if let id = event.id { policy.ended(id) }
            default: break
            }
            task?.received(event)
        }
    }

    /// Returns the runner of a task's transfer.
    ///
    /// Blocking calls have a separate engine with the session's limits: they may block the thread on which delegates
    /// are called, and must then not wait for a slot of a transfer that waits for these delegates.
    func runner(of task: TransferTask) -> any TransferRunner {
        guard task.isPrivate, self.background == nil else { return self.runner }
        return self.callEngine.withLock { engine in
            if let engine { return engine }
            // The session's own engine was made from the same configuration, except the limits.
            let configuration = self.limits.withLock { $0.applied(to: self.configuration) }
            guard let made = try? Self.engine(configuration, self.store) else { return nil }
            self.observe(made, self.callPolicy)
            made.start()
            engine = made
            return made
        } ?? self.runner
    }

    /// The policy of a task's transfer: each engine has its own, because engines number their transfers separately.
    func policy(of task: TransferTask) -> SessionPolicy {
        task.isPrivate && self.background == nil ? self.callPolicy : self.policy
    }

    /// Forgets the credentials that delegates have supplied for challenges.
    package func forgetCredentials() {
        self.policy.forgetCredentials()
        self.callPolicy.forgetCredentials()
    }

    deinit { self.background?.leave() }

    // MARK: Delegates

    /// Adds a delegate; adding it again only changes its context.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, referenced weakly.
    ///   - context: The context in which it is called.
    public func addDelegate(_ delegate: any TransferDelegate, on context: CallbackContext = .anyThread) {
        self.delegates.add(ObjectIdentifier(delegate), on: context) { [weak delegate] in delegate }
        self.background?.beginDelivery()
    }

    /// Removes a delegate; a call in progress is completed.
    public func removeDelegate(_ delegate: any TransferDelegate) {
        self.delegates.remove(ObjectIdentifier(delegate))
    }

    // MARK: All tasks

    /// The tasks that have not ended, by kind.
    ///
    /// In a background session this waits until the daemon has responded, or can be neither reached nor started. A task
    /// whose end has not been delivered yet is included.
    public func tasks() async -> SessionTasks {
        guard let background = self.background else { return self.currentTasks }
        _ = await background.opened()
        return self.currentTasks
    }

    var currentTasks: SessionTasks {
        // A task whose end is being delivered is still registered.
        let tasks = self.registry.tasks.filter { task in !task.facts.withLock { $0.isEnded } }
        return SessionTasks(
            data: tasks.compactMap { $0 as? DataTask },
            download: tasks.compactMap { $0 as? DownloadTask },
            upload: tasks.compactMap { $0 as? UploadTask }
        )
    }

    /// Refuses new tasks; when the existing ones have ended, delegates are notified that the session is invalid.
    ///
    /// Does nothing to ``shared``.
    public func finishTasksAndInvalidate() {
        if self.isShared { return }
        self.registry.finish()
        self.settle()
    }

    /// Refuses new tasks and cancels the existing ones, then notifies the delegates that the session is invalid.
    ///
    /// Does nothing to ``shared``.
    public func invalidateAndCancel() {
        if self.isShared { return }
        self.registry.finish()
        if let background = self.background {
            // Tasks that were never started are known only in this process.
            for task in self.registry.tasks where task.transferID == nil { task.cancel() }
            background.close(.cancelling)
        } else {
            let tasks = self.registry.tasks
            // Running tasks are cancelled last, so that no waiting task starts in a slot that they free.
            for task in tasks where task.state != .running { task.cancel() }
            for task in tasks { task.cancel() }
        }
        self.settle()
    }

    var runners: [any TransferRunner] {
        [self.runner] + (self.callEngine.withLock { $0 }.map { [$0] } ?? [])
    }

    /// Forgets the tasks of a background session and disconnects; the daemon continues the transfers.
    func leave() {
        self.background?.leave()
        for task in self.registry.tasks { self.registry.forget(task.id) }
    }

    /// Invalidates a session that refuses new tasks once its last task has ended.
    func settle() {
        guard self.background?.knowsItsTasks != false, self.registry.becomesInvalid() else { return }
        if let background = self.background {
            background.close(.finishing { self.tellInvalid() })
        } else {
            self.tellInvalid()
        }
    }

    private func tellInvalid() {
        for member in self.delegates.current { member.tell { $0.sessionDidBecomeInvalid(self) } }
    }

    // MARK: Called by tasks

    /// Forgets a task that has ended or was released.
    func forget(_ task: TransferTask) {
        self.registry.forget(task.id)
        self.settle()
    }

    func onPool(_ work: @escaping @Sendable () -> Void) { SharedRuntime.pool.run(work) }

    /// Whether the configuration's conditions let a task start; if not, it is resumed when they do.
    func mayStart(_ task: TransferTask) -> Bool {
        guard let gate = self.gate else { return true }
        if gate.isOpen {
            gate.started(task)
            return true
        }
        self.registry.keep(task)
        gate.whenOpen(task)
        return false
    }
}
