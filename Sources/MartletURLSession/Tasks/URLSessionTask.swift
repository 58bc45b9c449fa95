// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation
internal import Synchronization

// `@unchecked Sendable`: an open class is not checked. Every stored property is a constant of a sendable type or a `Mutex`.
/// One transfer of a session.
///
/// A new task is suspended; ``resume()`` starts it. Suspensions are counted: a task runs when each ``suspend()`` and its first
/// suspension were undone by a ``resume()``. The session keeps a task that was started until it is complete.
open class URLSessionTask: NSObject, NSCopying, @unchecked Sendable {
    /// The state of a task.
    public enum State: Int, Sendable {
        /// Transferring, or waiting for a connection.
        case running = 0
        /// Not started, or suspended.
        case suspended = 1
        /// Cancelled, and not complete yet.
        case canceling = 2
        case completed = 3
    }

    /// The variables of the task.
    struct Facts {
        var life = TaskLifecycle()
        /// The transfer; `nil` until it begins.
        var transfer: TransferTask?
        var currentRequest: URLRequest?
        /// Foundation's task, if Martlet does not make the request.
        var fallback: FoundationTask?
        /// The replacement of the transfer after its end: the request of a redirect that the delegate rewrote, or a stored
        /// response.
        var instead: Replacement?
        var response: URLResponse?
        var error: (any Error)?
        var description: String?
        var priority = URLSessionTask.defaultPriority
        var earliestBeginDate: Date?
        var delegate: (any URLSessionTaskDelegate)?
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64 = NSURLSessionTransferSizeUnknown
        var bytesSent: Int64 = 0
        /// The bytes of a page that were written.
        var bytesWritten: Int64 = 0
        var bytesToSend: Int64 = 0
        var clientReceives: Int64 = NSURLSessionTransferSizeUnknown
        var clientSends: Int64 = NSURLSessionTransferSizeUnknown
        /// Whether the transfer is stored, and waits for the task's date.
        var isDelayed = false
        /// Whether the delegate was notified that the task waits for its host.
        var hasWaited = false
        var transactions: [TransactionRecord] = []
        var redirects = 0
        /// The data for the handler, or for the cache.
        var body = Data()
        /// The file that receives the body of a response that is not a success.
        var page: ErrorPageFile?
        var caching = CachingState()
        /// Decompresses the body.
        var decoder: ContentDecoder?
        /// Whether the stream of the body was used, so that another one is needed to send it again.
        var hasUsedStream = false
        /// Whether the delegate wants the redirect as the response.
        var refusesRedirect = false
    }

    /// The number of the task in its session.
    public let taskIdentifier: Int
    /// The request for which the task was created; only URL and method of one that an earlier run of the program created.
    public let originalRequest: URLRequest?
    /// The progress in bytes; cancelling, pausing and resuming it does so with the task.
    public let progress: Progress

    let session: URLSession
    let work: TaskWork
    let sink: TaskSink
    let created = Date()
    let facts: Mutex<Facts>
    /// Held while the state is applied to the transfer, so that the last state is applied last.
    private let applying = Mutex(())

    init(_ session: URLSession, _ request: URLRequest?, _ work: TaskWork, _ sink: TaskSink) {
        self.session = session
        self.work = work
        self.sink = sink
        self.originalRequest = request
        self.taskIdentifier = session.nextNumber()
        self.progress = Progress(totalUnitCount: NSURLSessionTransferSizeUnknown)
        var facts = Facts()
        facts.currentRequest = request
        if case .upload(.bytes(let data)) = work { facts.bytesToSend = Int64(data.count) }
        if let body = request?.httpBody { facts.bytesToSend = Int64(body.count) }
        self.facts = Mutex(facts)
        super.init()
        self.connectProgress()
    }

    /// Creates the task of a transfer that an earlier run of the program started.
    init(adopting transfer: TransferTask, in session: URLSession) {
        self.session = session
        self.work = .adopted
        self.sink = .delegate
        var request = URL(string: transfer.request.url.withoutUserInfo).map { URLRequest(url: $0) }
        let method = transfer.request.method
        request?.httpMethod = transfer is UploadTask && method == "GET" ? "PUT" : method
        self.originalRequest = request
        let kept = KeptInfo(transfer.persistentInfo)
        self.taskIdentifier = kept?.number ?? transfer.id
        self.progress = Progress(totalUnitCount: transfer.bytesExpected ?? NSURLSessionTransferSizeUnknown)
        var facts = Facts()
        facts.currentRequest = request
        facts.transfer = transfer
        facts.life = .adopted(isSuspended: transfer.state == .suspended)
        facts.description = kept?.description
        facts.bytesReceived = transfer.bytesReceived
        facts.bytesExpected = transfer.bytesExpected ?? NSURLSessionTransferSizeUnknown
        self.facts = Mutex(facts)
        super.init()
        transfer.userInfo = TaskReference(self)
        self.connectProgress()
    }

    /// Creates the download task of a transfer that a data task began.
    init(continuing task: URLSessionTask, _ facts: Facts, _ transfer: DownloadTask) {
        self.session = task.session
        self.work = .adopted
        self.sink = .delegate
        self.originalRequest = task.originalRequest
        self.taskIdentifier = task.session.nextNumber()
        self.progress = Progress(totalUnitCount: task.progress.totalUnitCount)
        var facts = facts
        facts.transfer = transfer
        self.facts = Mutex(facts)
        super.init()
        transfer.userInfo = TaskReference(self)
        self.connectProgress()
    }

    private func connectProgress() {
        self.progress.cancellationHandler = { [weak self] in self?.cancel() }
        self.progress.pausingHandler = { [weak self] in self?.suspend() }
        self.progress.resumingHandler = { [weak self] in self?.resume() }
    }

    /// Returns the same task: tasks are not copied.
    public func copy(with zone: NSZone?) -> Any { self }

    // MARK: Commands

    /// Undoes one suspension; the last one starts or continues the task.
    open func resume() {
        if self.session.isInvalidated, !self.facts.withLock({ $0.life.hasStarted }) { return self.cancel() }
        let (effect, transfer, fallback) = self.facts.withLock { ($0.life.resume(), $0.transfer, $0.fallback) }
        switch effect {
        case .start:
            self.session.keep(self)
            self.begin()
        case .resume:
            transfer.map(self.apply(to:))
            fallback?.resume()
        case .nothing, .suspend, .cancel: break
        }
    }

    /// Brings a transfer into the task's state, which another thread may have changed since: its commands are idempotent.
    func apply(to transfer: TransferTask) {
        self.applying.withLock { _ in
            let (state, isDelayed) = self.facts.withLock { ($0.life.state, $0.isDelayed) }
            switch state {
            case .running: if isDelayed { transfer.store() } else { transfer.resume() }
            case .suspended: transfer.suspend()
            case .canceling, .completed: transfer.cancel()
            }
        }
    }

    /// Suspends the task: it keeps what it has received and releases its connection.
    open func suspend() {
        let (effect, transfer, fallback) = self.facts.withLock { ($0.life.suspend(), $0.transfer, $0.fallback) }
        guard effect == .suspend else { return }
        transfer.map(self.apply(to:))
        fallback?.suspend()
    }

    /// Ends the task with `URLError.cancelled`, also if it was never started.
    open func cancel() {
        let (effect, transfer) = self.facts.withLock { ($0.life.cancel(), $0.transfer) }
        guard effect == .cancel else { return }
        if let transfer {
            self.session.keep(self)
            transfer.cancel()
        } else {
            self.endCancelled()
        }
    }

    /// Ends a cancelled task that has no transfer.
    func endCancelled() {
        self.session.keep(self)
        self.facts.withLock { $0.fallback }?.cancel()
        self.session.delegateQueue.addOperation { self.complete(URLError.about(.cancelled, self.url, "cancelled")) }
    }

    // MARK: Properties

    /// The state.
    open var state: State { State(rawValue: self.facts.withLock { $0.life.state.rawValue }) ?? .completed }

    /// The request of the last redirect, otherwise the original one.
    open var currentRequest: URLRequest? { self.facts.withLock { $0.currentRequest } }

    /// The response, once its head was received.
    open var response: URLResponse? { self.facts.withLock { $0.response } }

    /// The error of a task that is complete.
    open var error: (any Error)? { self.facts.withLock { $0.error } }

    /// A text for the program's own use; a background session keeps what is set before the task is started.
    open var taskDescription: String? {
        get { self.facts.withLock { $0.description } }
        set { self.facts.withLock { $0.description = newValue } }
    }

    /// A delegate for this task instead of the session's, until the task is complete.
    open var delegate: (any URLSessionTaskDelegate)? {
        get { self.facts.withLock { $0.delegate } }
        set { self.facts.withLock { $0.delegate = newValue } }
    }

    /// The time before which the task does not begin.
    ///
    /// A background session stores the task at once, and this program begins it; if it has ended, the next one that creates the
    /// session does, without asking its delegate.
    open var earliestBeginDate: Date? {
        get { self.facts.withLock { $0.earliestBeginDate } }
        set { self.facts.withLock { $0.earliestBeginDate = newValue } }
    }

    /// The priority among waiting tasks, from 0 to 1.
    open var priority: Float {
        get { self.facts.withLock { $0.priority } }
        set {
            let transfer = self.facts.withLock { facts in
                facts.priority = newValue
                return facts.transfer
            }
            transfer?.priority = Self.level(newValue)
        }
    }

    /// 0.5.
    public static let defaultPriority: Float = 0.5
    /// 0.25.
    public static let lowPriority: Float = 0.25
    /// 0.75.
    public static let highPriority: Float = 0.75

    static func level(_ priority: Float) -> Priority {
        priority < 0.4 ? .low : priority > 0.6 ? .high : .normal
    }

    // MARK: Counts

    /// The bytes of the body that were received; those of a download include what was present when it continued.
    open var countOfBytesReceived: Int64 {
        let (count, transfer) = self.facts.withLock { ($0.bytesReceived, $0.transfer as? DownloadTask) }
        return max(count, transfer?.bytesReceived ?? 0)
    }

    /// The length of the body, or -1 if it is not known.
    open var countOfBytesExpectedToReceive: Int64 { self.facts.withLock { $0.bytesExpected } }

    /// The bytes of the request's body that were sent.
    open var countOfBytesSent: Int64 { self.facts.withLock { $0.bytesSent } }

    /// The length of the request's body; -1 if it is not known.
    open var countOfBytesExpectedToSend: Int64 { self.facts.withLock { $0.bytesToSend } }

    /// The program's guess of the bytes to be received.
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { self.facts.withLock { $0.clientReceives } }
        set { self.facts.withLock { $0.clientReceives = newValue } }
    }

    /// The program's guess of the bytes to be sent.
    open var countOfBytesClientExpectsToSend: Int64 {
        get { self.facts.withLock { $0.clientSends } }
        set { self.facts.withLock { $0.clientSends = newValue } }
    }

    var isListed: Bool {
        self.facts.withLock { $0.life.hasStarted && ($0.life.state == .running || $0.life.state == .suspended) }
    }

    var url: URL? { self.currentRequest?.url }
}

/// The number and the description of a task, which a background session keeps in one text.
struct KeptInfo {
    let number: Int
    let description: String?

    init(number: Int, description: String?) {
        self.number = number
        self.description = description
    }

    /// Decodes the text; `nil` if it is another one.
    init?(_ text: String) {
        let parts = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard let number = parts.first.flatMap({ Int($0) }) else { return nil }
        self.number = number
        self.description = parts.count > 1 ? String(parts[1]) : nil
    }

    var text: String { self.description.map { "\(self.number) \($0)" } ?? "\(self.number)" }
}

// `@unchecked Sendable`: inherited; it has no stored properties.
/// A task that receives a body in memory.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

// `@unchecked Sendable`: inherited; it has no stored properties.
/// A task that sends a body and receives another one in memory, of at most 16 MiB.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

// `@unchecked Sendable`: inherited; it has no stored properties.
/// A task that receives a body into a file.
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    /// Cancels the task and passes data for ``URLSession/downloadTask(withResumeData:)`` to a handler.
    ///
    /// - Parameter completionHandler: Receives `nil` if nothing can be resumed; called on the delegate's queue.
    open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        Task {
            let data = await self.cancelByProducingResumeData()
            self.session.delegateQueue.addOperation { completionHandler(data) }
        }
    }

    /// Cancels the task and returns data for ``URLSession/downloadTask(withResumeData:)``.
    ///
    /// - Returns: `nil` if nothing can be resumed.
    public func cancelByProducingResumeData() async -> Data? {
        let (effect, transfer) = self.facts.withLock { ($0.life.cancel(), $0.transfer) }
        guard effect == .cancel else { return nil }
        guard let transfer else {
            self.endCancelled()
            return nil
        }
        self.session.keep(self)
        return await transfer.cancelProducingResumeData()?.data
    }
}
