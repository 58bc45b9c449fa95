// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization
internal import TransferEngine

/// A queue of items that are received in memory, a few at a time, each with a value set by the caller.
///
/// Items may be added before and after ``start()``; adding the same URL twice makes two items. Every item has exactly
/// one end: its data, or a failure, which after ``requestStop()`` is `cancelled`. An idle queue uses no CPU time. The
/// queue may be released at any time: started and waiting items still run to their end, and the remaining delegates are
/// notified. Every method may be called from any thread.
public final class TransferQueue: Sendable {
    /// One item.
    public struct Item: Sendable {
        /// The item's number in the queue, counted from 1 in the order of adding.
        public let number: Int
        /// The request.
        public let request: TransferRequest
        /// The value set by the caller.
        public let userInfo: (any Sendable)?
    }

    private struct State {
        var nextNumber = 0
        var unstarted: [Item] = []
        /// The number of items that were taken from `unstarted` and have no task yet.
        var beginning = 0
        var open: [Int: DataTask] = [:]
        var finished = 0
        var isStarted = false
        var isClosed = false
        var isStopped = false
        var isEndTold = false
        /// Whether the delegates' calls about the end, and all before them, have returned.
        var isEndDelivered = false
        var waiters: [Int: @Sendable () -> Void] = [:]
        var nextWaiter = 0
    }

    private let session: TransferSession
    private let state: Mutex<State>
    private let delegates = DelegateList<any TransferQueueDelegate>()
    private let maximumBytes: Int

    /// The default configuration of a queue's session, with a timeout of 10 seconds for each request.
    public static var defaultConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration.default
        configuration.requestTimeout = .seconds(10)
        configuration.connectTimeout = .seconds(10)
        return configuration
    }

    /// Creates a queue; ``start()`` starts it.
    ///
    /// - Parameters:
    ///   - concurrentTransfers: The maximum number of items that run at once, at least 1; it replaces the configuration's.
    ///   - configuration: The configuration of the requests.
    ///   - maximumBytes: The maximum size of one item in bytes.
    /// - Throws: ``TransferError`` with `badConfiguration`.
    public init(
        concurrentTransfers: Int = 1,
        configuration: SessionConfiguration = TransferQueue.defaultConfiguration,
        maximumBytes: Int = DataTask.defaultMaximum
    ) throws(TransferError) {
        if configuration.background != nil { throw .noDataInBackground }
        var configuration = configuration
        configuration.concurrentTransfers = max(1, concurrentTransfers)
        self.session = try TransferSession(configuration: configuration)
        self.state = Mutex(State())
        self.maximumBytes = maximumBytes
    }

    /// Adds a delegate; adding it again only changes its context.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, referenced weakly.
    ///   - context: The context in which it is called.
    public func addDelegate(_ delegate: any TransferQueueDelegate, on context: CallbackContext = .anyThread) {
        self.delegates.add(ObjectIdentifier(delegate), on: context) { [weak delegate] in delegate }
    }

    /// Removes a delegate; a call in progress is completed.
    public func removeDelegate(_ delegate: any TransferQueueDelegate) {
        self.delegates.remove(ObjectIdentifier(delegate))
    }

    // MARK: Adding and running items

    /// The maximum number of items that run at once, at least 1: a lower value is taken as 1.
    ///
    /// A higher number starts waiting items at once. Running items beyond a lower number are not interrupted.
    public var concurrentTransfers: Int {
        get { self.session.concurrentTransfers }
        set { self.session.concurrentTransfers = newValue }
    }

    /// Adds an item.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - userInfo: A value set by the caller, passed to every callback for this item.
    /// - Returns: The item.
    /// - Throws: ``TransferError`` with `queueClosed` after ``finishQueuing()`` or ``requestStop()``; `badURL`,
    ///   `badRequest`.
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
            throw TransferError(.queueClosed, "the queue accepts no more items", remedy: "create another queue")
        }
        if added.isStarted { self.begin(added.item) }
        return added.item
    }

    /// Submits an item to the session.
    ///
    /// Its task keeps the queue alive until its end, so that releasing the queue interrupts nothing; a queue that was
    /// never started is released with all its items.
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

    /// Starts the queue.
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

    /// Closes the queue: a later ``add(_:userInfo:)`` throws, and the queue is finished once the last item has ended.
    public func finishQueuing() {
        self.state.withLock { $0.isClosed = true }
        self.settle()
    }

    /// Stops the queue: running and waiting items end with `cancelled`, and no item starts.
    ///
    /// Returns at once; when all items have ended, delegates are notified that the queue was stopped.
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
        // The last items first, so that no waiting item starts in a slot that a running one frees.
        for task in tasks { task.cancel() }
        self.settle()
    }

    // MARK: State

    /// The number of waiting items.
    public var waitingCount: Int {
        let (open, waiting) = self.state.withLock { ($0.open.count, $0.unstarted.count + $0.beginning) }
        return waiting + max(0, open - self.runningCount)
    }

    /// The number of running items.
    public var runningCount: Int { self.session.runner.runningCount }

    /// The number of items that have ended, including failures.
    public var finishedCount: Int { self.state.withLock { $0.finished } }

    /// Whether the queue is closed or stopped and all items have ended.
    public var isFinished: Bool { self.state.withLock { Self.isOver($0) } }

    private static func isOver(_ state: State) -> Bool {
        state.isClosed && state.open.isEmpty && state.unstarted.isEmpty && state.beginning == 0
    }

    /// Waits until the queue is finished and all calls of its delegates have returned; returns at once if it was never
    /// started.
    ///
    /// - Throws: `CancellationError` if the surrounding Swift task is cancelled; the queue continues.
    /// - Precondition: ``finishQueuing()`` or ``requestStop()`` has been or will be called.
    public func waitUntilFinished() async throws {
        var waiter: Int?
        defer { if let waiter { self.state.withLock { _ = $0.waiters.removeValue(forKey: waiter) } } }
        try await Promise<Void>.wait { done in waiter = self.whenDelivered { done(.success(())) } }
    }

    /// Blocks until the queue is finished and all calls of its delegates have returned; returns at once if it was never
    /// started.
    ///
    /// It may be called on the thread on which delegates are called, such as the main thread, or in a delegate's call:
    /// the waiting thread then makes these calls itself.
    ///
    /// - Parameter timeout: How long to wait, `nil` for no limit; the queue continues after the timeout. A call that the
    ///   waiting thread makes itself is completed first.
    /// - Throws: ``TransferError`` with `timeout` after that time; `wouldDeadlock` on an event loop, and in asynchronous
    ///   code off the main thread.
    public func waitUntilFinishedBlocking(timeout: Duration? = nil) throws(TransferError) {
        try BlockingCall.check()
        let attendant = Attendant()
        self.delegates.attend(attendant)
        var waiter: Int?
        defer {
            self.delegates.leave(attendant)
            if let waiter { self.state.withLock { _ = $0.waiters.removeValue(forKey: waiter) } }
        }
        try BlockingCall.wait(timeout, for: "the queue", attendant: attendant) { done in
            waiter = self.whenDelivered { done(.success(())) }
        } beginning: {
        } meanwhile: {
            self.delegates.makeCallsOfThisThread()
        }
    }

    /// - Returns: The waiter's number; `nil` if it was called immediately.
    private func whenDelivered(_ waiter: @escaping @Sendable () -> Void) -> Int? {
        let number: Int? = self.state.withLock { state in
            if state.isEndDelivered || (!state.isStarted && !state.isStopped) { return nil }
            state.nextWaiter += 1
            state.waiters[state.nextWaiter] = waiter
            return state.nextWaiter
        }
        if number == nil { waiter() }
        return number
    }

    // MARK: Ends of items

    var hearers: [DelegateList<any TransferQueueDelegate>.Member] { self.delegates.current }

    /// Records and reports the end of an item.
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

    /// Reports the end of the queue once all items have ended.
    private func settle() {
        let wasStopped: Bool? = self.state.withLock { state in
            guard Self.isOver(state), !state.isEndTold, state.isStarted || state.isStopped else { return nil }
            state.isEndTold = true
            return state.isStopped
        }
        guard let wasStopped else { return }
        let members = self.hearers
        for member in members {
            member.tell { wasStopped ? $0.queueDidStop(self) : $0.queueDidFinish(self) }
        }
        guard !members.isEmpty else { return self.delivered() }
        let undelivered = CallFence(members.count) { self.delivered() }
        for member in members { member.afterEarlierCalls { undelivered.arrived() } }
    }

    /// All calls of the delegates have returned.
    private func delivered() {
        let waiters = self.state.withLock { state in
            state.isEndDelivered = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter() }
    }
}

/// Passes the events of an item's task to the queue's delegates.
private final class QueueRelay: DataRelay {
    private let item: TransferQueue.Item
    private let queue: TransferQueue

    init(item: TransferQueue.Item, queue: TransferQueue) {
        self.item = item
        self.queue = queue
    }

    func received(_ response: TransferResponse) {
        let (item, queue) = (self.item, self.queue)
        for member in queue.hearers { member.tell { $0.queue(queue, item: item, didReceive: response) } }
    }

    func received(_ bytes: [UInt8], _ flow: FlowGate) -> Int {
        let (item, queue) = (self.item, self.queue)
        let members = queue.hearers
        for member in members {
            let handed = flow.handed(bytes.count)
            member.tell { delegate in
                delegate.queue(queue, item: item, didReceive: bytes)
                handed.now()
            }
        }
        return members.count
    }

    func ended(_ outcome: Result<DataResponse, TransferError>) { self.queue.end(self.item, outcome) }
}
