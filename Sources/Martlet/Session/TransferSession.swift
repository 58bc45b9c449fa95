internal import CoreMetrics
internal import FileStorage
internal import HTTPTransport
internal import Logging
internal import Synchronization
internal import TransferAssembly
internal import TransferEngine

/// Transfers that have a configuration, a queue, limits, cookies and delegates in common.
///
/// A session lives as long as its tasks: letting go of it never cuts one off, and when the last task has ended it goes away
/// by itself. It need not be invalidated. Every method may be called from any thread.
///
/// There is no cache of responses: a program that has a copy makes the request conditional
/// (``TransferRequest/ifNoneMatch(_:)``, ``TransferRequest/ifModified(since:)-(Int64)``). Bodies are taken as the server
/// has them; no encoding is asked for, and none is undone.
public final class TransferSession: Sendable {
    /// A session of the default configuration, for whoever needs nothing special.
    public static let shared: TransferSession = {
        do {
            return try TransferSession()
        } catch {
            preconditionFailure("the default configuration reads no file, so nothing in it can be wrong: \(error)")
        }
    }()

    /// The configuration that the session was made with.
    public let configuration: SessionConfiguration

    /// What runs the transfers: the engine, or the daemon.
    let runner: any TransferRunner
    /// The daemon's side of a background session.
    let background: BackgroundRunner?
    let store = DiskStore()
    let policy: SessionPolicy
    let delegates = DelegateList<any TransferDelegate>()
    /// Calls completion handlers.
    let handlers: Inbox
    let baseOptions: DownloadOptions
    let baseFields: [(String, String)]
    let gate: ConditionGate?

    let registry: TaskRegistry
    let isPlacePrepared = Atomic(false)
    private let instruments: SessionInstruments

    /// Makes a session.
    ///
    /// - Parameter configuration: How it works; later changes of the value do not reach it.
    /// - Throws: ``TransferError`` with `badConfiguration` where certificates or keys cannot be read, or a header field
    ///   holds a line break.
    public convenience init(configuration: SessionConfiguration = .default) throws(TransferError) {
        try self.init(configuration) { _ in }
    }

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - configuration: How it works.
    ///   - prepare: Is given the session before anything happens in it: whom it adds misses nothing.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    init(_ configuration: SessionConfiguration, prepare: (TransferSession) -> Void) throws(TransferError) {
        do {
            try Self.check(configuration.headers)
        } catch {
            throw TransferError(.badConfiguration, error.message)
        }
        self.policy = SessionPolicy(configuration)
        self.handlers = Inbox(configuration.callbackContext)
        self.baseOptions = configuration.forDownloads
        self.baseFields = configuration.baseFields
        self.instruments = SessionInstruments(configuration)
        if let place = configuration.background {
            let background = try BackgroundRunner(place, configuration)
            var configuration = configuration
            configuration.directory = background.container
            self.configuration = configuration
            self.background = background
            self.runner = background
            self.gate = nil
            // Numbers go on from run to run: no two runs count from the same microsecond.
            self.registry = TaskRegistry(lastNumber: WallClock.microseconds, keepsSuspended: true)
            prepare(self)
            background.begin(for: self)
            return
        }
        self.configuration = configuration
        self.background = nil
        self.gate = ConditionGate(configuration)
        self.registry = TaskRegistry()
        let engine: TransferEngine
        do {
            engine = try LiveEngine.make(
                configuration.forEngine,
                transport: configuration.forTransport,
                on: SharedRuntime.loops,
                store: self.store,
                pool: SharedRuntime.pool
            )
        } catch {
            throw TransferError(.badConfiguration, "\(error)")
        }
        self.runner = engine
        engine.observe(self.instruments.interest.union(.progress)) { [instruments, policy] event in
            instruments.note(event)
            let task = (event.userInfo as? TaskBox)?.task
            switch event.kind {
            case .finished, .failed, .cancelled: if let id = event.id { policy.ended(id) }
            default: break
            }
            task?.received(event)
        }
        prepare(self)
        engine.start()
    }

    deinit { self.background?.leave() }

    // MARK: Delegates

    /// Adds a delegate; one that is added twice is told once, in the context named last.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, held weakly.
    ///   - context: Where it is called.
    public func addDelegate(_ delegate: any TransferDelegate, on context: CallbackContext = .anyThread) {
        self.delegates.add(ObjectIdentifier(delegate), on: context) { [weak delegate] in delegate }
        self.background?.beginDelivery()
    }

    /// Removes a delegate; a call under way comes to its end.
    public func removeDelegate(_ delegate: any TransferDelegate) {
        self.delegates.remove(ObjectIdentifier(delegate))
    }

    // MARK: All tasks

    /// The tasks that have not ended, by kind.
    ///
    /// For a background session it waits for the daemon, or until the daemon can be neither reached nor started; those
    /// whose end was not told yet are among them.
    public func tasks() async -> SessionTasks {
        guard let background = self.background else { return self.currentTasks }
        _ = await background.opened()
        return self.currentTasks
    }

    var currentTasks: SessionTasks {
        // One whose end is being told is not forgotten yet.
        let tasks = self.registry.tasks.filter { task in !task.facts.withLock { $0.isEnded } }
        return SessionTasks(
            data: tasks.compactMap { $0 as? DataTask },
            download: tasks.compactMap { $0 as? DownloadTask },
            upload: tasks.compactMap { $0 as? UploadTask }
        )
    }

    /// Takes no more tasks; those that were made go on to their end, then the delegates hear that the session is invalid.
    public func finishTasksAndInvalidate() {
        self.registry.finish()
        self.settle()
    }

    /// Takes no more tasks and cancels all there are, then the delegates hear that the session is invalid.
    public func invalidateAndCancel() {
        self.registry.finish()
        if let background = self.background {
            // Those that were never begun are known here only.
            for task in self.registry.tasks where task.transferID == nil { task.cancel() }
            background.close(.cancelling)
        } else {
            let tasks = self.registry.tasks
            // Those that run come last: none of those that wait begins where one makes room.
            for task in tasks where task.state != .running { task.cancel() }
            for task in tasks { task.cancel() }
        }
        self.settle()
    }

    /// Changes how many tasks run at once; those beyond a lower limit run to their end.
    public func setConcurrentTransfers(_ count: Int) { self.runner.setConcurrentTransfers(count) }

    /// Changes how many connections one host gets.
    public func setConnectionsPerHost(_ count: Int) { self.runner.setConnectionsPerHost(count) }

    /// Changes the rate over all tasks, in bytes a second; `nil` lifts the limit, but for that of a ``Discretion``.
    public func setRateLimit(_ rate: Int64?) {
        self.runner.setRateLimit([rate, self.configuration.discretion?.rateCeiling].compactMap(\.self).min())
    }

    /// Forgets the tasks of a background session, whose work goes on, and lets go of the daemon.
    func leave() {
        self.background?.leave()
        for task in self.registry.tasks { self.registry.forget(task.id) }
    }

    /// Becomes invalid once the last task of a session that takes no more has gone.
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

    // MARK: What tasks ask

    /// A task has ended or is gone.
    func forget(_ task: TransferTask) {
        self.registry.forget(task.id)
        self.settle()
    }

    func onPool(_ work: @escaping @Sendable () -> Void) { SharedRuntime.pool.run(work) }

    /// Whether the configuration's conditions let a task start; otherwise it is resumed when they do.
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
