internal import Synchronization
internal import TransferEngine

/// Items that are brought into memory a few at a time, each with the caller's own information.
///
/// Items may be added before and after ``start()``; the same URL twice is two items. Every item that was added gets exactly
/// one end: its data, or a failure, which after ``requestStop()`` is `cancelled`. Nothing polls; a queue with nothing to do
/// costs nothing. It may be let go of at any time: what was started goes on to its end, what waits with it, and those
/// delegates that are still there hear of it. Every method may be called from any thread.
public final class TransferQueue: Sendable {
    /// One item.
    public struct Item: Sendable {
        /// The item's number in the queue, from 1 on in the order of adding.
        public let number: Int
        /// What is asked for.
        public let request: TransferRequest
        /// The caller's own information.
        public let userInfo: (any Sendable)?
    }

    private struct State {
        var limit: Int
        var nextNumber = 0
        var unstarted: [Item] = []
        /// Items between being taken out of the line and having a task.
        var beginning = 0
        var open: [Int: DataTask] = [:]
        var finished = 0
        var isStarted = false
        var isClosed = false
        var isStopped = false
        var isEndTold = false
        var waiters: [@Sendable () -> Void] = []
    }

    private let session: TransferSession
    private let state: Mutex<State>
    private let delegates = DelegateList<any TransferQueueDelegate>()
    private let maximumBytes: Int

    /// What a queue's session is like where nothing else is said: the default, with 10 seconds for each request.
    public static var defaultConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.requestTimeout = .seconds(10)
        configuration.connectTimeout = .seconds(10)
        return configuration
    }

    /// Makes a queue, which waits for ``start()``.
    ///
    /// - Parameters:
    ///   - limit: How many items run at once; at least 1. It takes the place of the configuration's.
    ///   - configuration: How the requests are made.
    ///   - maximumBytes: The most bytes of one item that are kept in memory.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    public init(
        limit: Int = 1,
        configuration: SessionConfiguration = TransferQueue.defaultConfiguration,
        maximumBytes: Int = DataTask.defaultMaximum
    ) throws(TransferError) {
        if configuration.background != nil { throw .noDataInBackground }
        var configuration = configuration
        configuration.concurrentTransfers = max(1, limit)
        self.session = try TransferSession(configuration: configuration)
        self.state = Mutex(State(limit: max(1, limit)))
        self.maximumBytes = maximumBytes
    }

    /// Adds a delegate; one that is added twice is told once.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, held weakly.
    ///   - context: Where it is called.
    public func addDelegate(_ delegate: any TransferQueueDelegate, on context: CallbackContext = .anyThread) {
        self.delegates.add(ObjectIdentifier(delegate), on: context) { [weak delegate] in delegate }
    }

    /// Removes a delegate; a call under way comes to its end.
    public func removeDelegate(_ delegate: any TransferQueueDelegate) {
        self.delegates.remove(ObjectIdentifier(delegate))
    }

    // MARK: Filling and running

    /// How many items run at once, at least 1; those beyond a lower limit run to their end.
    public var limit: Int {
        get { self.state.withLock { $0.limit } }
        set {
            let limit = max(1, newValue)
            self.state.withLock { $0.limit = limit }
            self.session.setConcurrentTransfers(limit)
        }
    }

    /// Adds an item.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - userInfo: The caller's own information; it comes with every callback of this item.
    /// - Returns: The item.
    /// - Throws: ``TransferError`` with `queueClosed` after ``finishQueuing()`` or ``requestStop()``; `badURL`, `badRequest`.
    @discardableResult
    public func add(_ request: some RequestConvertible, userInfo: (any Sendable)? = nil) throws(TransferError) -> Item {
        let request = try request.transferRequest()
        try TransferSession.check(request)
        let added: (item: Item, isStarted: Bool)? = self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.nextNumber += 1
            let item = Item(number: state.nextNumber, request: request, userInfo: userInfo)
            if state.isStarted { state.beginning += 1 } else { state.unstarted.append(item) }
            return (item, state.isStarted)
        }
        guard let added else {
            throw TransferError(.queueClosed, "the queue takes no more items", remedy: "make another queue")
        }
        if added.isStarted { self.begin(added.item) }
        return added.item
    }

    /// Gives an item to the session.
    ///
    /// Its task keeps the queue until its end, so that letting go of the queue cuts nothing off; one that was never started
    /// goes away with all its items.
    private func begin(_ item: Item) {
        let relay = QueueRelay(item: item, queue: self)
        let task: DataTask
        do throws(TransferError) {
            task = try self.session.makeData(item.request, self.maximumBytes, true, isPrivate: false, relay: relay)
        } catch {
            return self.end(item, .failure(error), wasBeginning: true)
        }
        let isStopped = self.state.withLock { state in
            state.beginning -= 1
            state.open[item.number] = task
            return state.isStopped
        }
        if isStopped { task.cancel() } else { task.resume() }
    }

    /// Begins to run items.
    public func start() {
        let items = self.state.withLock { state in
            guard !state.isStarted, !state.isStopped else { return [Item]() }
            state.isStarted = true
            state.beginning = state.unstarted.count
            defer { state.unstarted = [] }
            return state.unstarted
        }
        for item in items { self.begin(item) }
        self.settle()
    }

    /// No more will come: a later ``add(_:userInfo:)`` throws, and the queue is finished once the last item has ended.
    public func finishQueuing() {
        self.state.withLock { $0.isClosed = true }
        self.settle()
    }

    /// Ends the queue: what runs is cut off, what waits never starts, and each of them ends with `cancelled`.
    ///
    /// Returns at once; delegates hear that the queue was stopped when all have ended.
    public func requestStop() {
        let (tasks, items) = self.state.withLock { state in
            guard !state.isStopped, !state.isEndTold else { return ([DataTask](), [Item]()) }
            state.isStopped = true
            state.isClosed = true
            state.beginning += state.unstarted.count
            defer { state.unstarted = [] }
            return (state.open.sorted { $0.key > $1.key }.map(\.value), state.unstarted)
        }
        for item in items { self.end(item, .failure(.cancelled), wasBeginning: true) }
        // The last first, so that none of those that wait starts when one that runs makes room.
        for task in tasks { task.cancel() }
        self.settle()
    }

    // MARK: Where it stands

    /// The items that have not begun.
    public var waitingCount: Int {
        let (open, waiting) = self.state.withLock { ($0.open.count, $0.unstarted.count + $0.beginning) }
        return waiting + max(0, open - self.runningCount)
    }

    /// The items that run.
    public var runningCount: Int { self.session.runner.runningCount }

    /// The items that have ended, failures included.
    public var finishedCount: Int { self.state.withLock { $0.finished } }

    /// Whether nothing more will happen: no more will come and all have ended, or the queue was stopped.
    public var isFinished: Bool { self.state.withLock { Self.isOver($0) } }

    private static func isOver(_ state: State) -> Bool {
        state.isClosed && state.open.isEmpty && state.unstarted.isEmpty && state.beginning == 0
    }

    /// Returns when the queue is finished; at once where it was never started.
    ///
    /// The delegates' calls may come after this, for they are made in their own context.
    ///
    /// - Precondition: ``finishQueuing()`` or ``requestStop()`` was called, or will be by somebody else.
    public func waitUntilFinished() async {
        await withCheckedContinuation { continuation in self.whenFinished { continuation.resume() } }
    }

    /// Waits until the queue is finished; returns at once where it was never started.
    ///
    /// It needs no thread but the caller's, so it may be called on the main thread while delegates are to be called there.
    ///
    /// - Throws: ``TransferError`` with `wouldDeadlock` on an event loop, and in asynchronous code off the main thread.
    public func waitUntilFinishedBlocking() throws(TransferError) {
        try BlockingCall.check()
        _ = try BlockingCall.wait { done in
            self.whenFinished { done(.success(())) }
        } beginning: {
        }
    }

    private func whenFinished(_ waiter: @escaping @Sendable () -> Void) {
        let isDone = self.state.withLock { state in
            if Self.isOver(state) || (!state.isStarted && !state.isStopped) { return true }
            state.waiters.append(waiter)
            return false
        }
        if isDone { waiter() }
    }

    // MARK: What happens

    /// Those who hear of the items.
    var hearers: [DelegateList<any TransferQueueDelegate>.Member] { self.delegates.current }

    /// An item has its end.
    func end(_ item: Item, _ outcome: Result<DataResponse, TransferError>, wasBeginning: Bool = false) {
        for member in self.hearers {
            member.tell { delegate in
                switch outcome {
                case .success(let data): delegate.queue(self, item: item, didFinishWith: data)
                case .failure(let error): delegate.queue(self, item: item, didFailWith: error)
                }
            }
        }
        self.state.withLock { state in
            state.open[item.number] = nil
            if wasBeginning { state.beginning -= 1 }
            state.finished += 1
        }
        self.settle()
    }

    /// Tells the end once it is there.
    private func settle() {
        let (wasStopped, waiters): (Bool?, [@Sendable () -> Void]) = self.state.withLock { state in
            guard Self.isOver(state), !state.isEndTold, state.isStarted || state.isStopped else { return (nil, []) }
            state.isEndTold = true
            defer { state.waiters = [] }
            return (state.isStopped, state.waiters)
        }
        guard let wasStopped else { return }
        for member in self.hearers { member.tell { wasStopped ? $0.queueDidStop(self) : $0.queueDidFinish(self) } }
        for waiter in waiters { waiter() }
    }
}

/// Passes what happens to an item's task on to its queue's delegates.
private final class QueueRelay: DataRelay {
    private let item: TransferQueue.Item
    private let queue: TransferQueue

    init(item: TransferQueue.Item, queue: TransferQueue) {
        self.item = item
        self.queue = queue
    }

    func received(_ response: HTTPResponse) {
        let (item, queue) = (self.item, self.queue)
        for member in queue.hearers { member.tell { $0.queue(queue, item: item, didReceive: response) } }
    }

    func received(_ bytes: [UInt8], _ flow: FlowGate) -> Int {
        let (item, queue) = (self.item, self.queue)
        let members = queue.hearers
        for member in members {
            let handed = HandedBytes(flow, bytes.count)
            member.tell { delegate in
                delegate.queue(queue, item: item, didReceive: bytes)
                handed.end()
            }
        }
        return members.count
    }

    func ended(_ outcome: Result<DataResponse, TransferError>) { self.queue.end(self.item, outcome) }
}
