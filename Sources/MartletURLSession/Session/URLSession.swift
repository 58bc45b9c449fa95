// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
internal import Martlet
internal import MartletFoundation
internal import Synchronization

// `@unchecked Sendable`: an open class is not checked. Every stored property is a constant of a sendable type or a `Mutex`.
/// A `URLSession` whose tasks are Martlet's transfers.
///
/// It is used as Foundation's: sessions of three kinds, tasks with handlers, delegates or `async` functions, and the values
/// of Foundation. What it does not do does not compile. On Linux it also does what Foundation's does not: background
/// sessions, resume data, the timeout for a whole task, metrics.
///
/// A session need not be invalidated: without tasks it is released with the program's last reference to it.
open class URLSession: NSObject, @unchecked Sendable {
    struct State {
        var delegate: (any URLSessionDelegate)?
        var tasks: [Int: URLSessionTask] = [:]
        var lastNumber = 0
        var isInvalidated = false
        var isClosed = false
        var description: String?
    }

    private static let common = URLSession(configuration: .default)

    /// A session with the default configuration for the whole program; it has no delegate and is never invalidated.
    open class var shared: URLSession { Self.common }

    /// The queue on which delegates and handlers are called, one after another.
    public let delegateQueue: OperationQueue

    let settings: URLSessionConfiguration
    /// Martlet's session, or the error of a configuration that cannot be used: that of every task.
    private let transfers: Result<TransferSession, any Error>
    /// Martlet's sessions in the program for tasks that ``transfers`` does not take: the data tasks of a background session,
    /// and requests that allow no cellular network, by whether they may use an expensive one.
    private let otherTransfers = Mutex<[Bool: Result<TransferSession, any Error>]>([:])
    private let bridge: SessionBridge
    /// Makes the requests that Martlet does not.
    let fallback: FoundationFallback
    let state: Mutex<State>

    /// Creates a session without a delegate.
    ///
    /// - Parameter configuration: The configuration, which is copied.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which is copied. If it cannot be used, for example for a header field with a
    ///     line break, every task fails with the reason.
    ///   - delegate: The delegate, kept until the session is invalidated or released.
    ///   - queue: The queue on which the delegate and handlers are called; `nil` for one of the session's own.
    public init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        let queue = queue ?? Self.ownQueue()
        let settings = configuration.duplicate()
        let bridge = SessionBridge()
        self.delegateQueue = queue
        self.settings = settings
        self.fallback = FoundationFallback(settings)
        self.bridge = bridge
        var state = State(delegate: delegate)
        // The numbers of a background session's tasks are kept by the daemon: later runs of the program have higher ones.
        if settings.identifier != nil { state.lastNumber = Int(Date().timeIntervalSince1970 * 1000) }
        self.state = Mutex(state)
        self.transfers = Self.transfers(settings, settings.identifier, true, bridge, queue)
        super.init()
        bridge.serve(self)
    }

    private static func transfers(
        _ settings: URLSessionConfiguration,
        _ identifier: String?,
        _ allowsExpensive: Bool,
        _ bridge: SessionBridge,
        _ queue: OperationQueue
    ) -> Result<TransferSession, any Error> {
        Result {
            try TransferSession(
                configuration: settings.transferConfiguration(identifier, allowsExpensive),
                delegate: bridge,
                on: CallbackContext { bridge.run($0, on: queue) }
            )
        }
    }

    /// Martlet's session for a task.
    ///
    /// - Throws: `URLError` with `dataNotAllowed` for a background transfer whose request has another rule about networks.
    func transfers(for work: TaskWork, _ request: URLRequest?) throws -> TransferSession {
        let allowsExpensive = self.settings.allowsExpensive
        let isCheap = allowsExpensive && !(request?.allowsCellularAccess ?? true)
        var isData = false
        if case .data = work { isData = true }
        if self.isBackground, !isData {
            guard !isCheap else {
                throw URLError.about(
                    .dataNotAllowed,
                    request?.url,
                    "the tasks of a background session share its networks: set its configuration's allowsCellularAccess"
                )
            }
            return try self.transfers.get()
        }
        if !self.isBackground, !isCheap { return try self.transfers.get() }
        return try self.otherTransfers.withLock { made in
            let known =
                made[!isCheap] ?? Self.transfers(self.settings, nil, !isCheap, self.bridge, self.delegateQueue)
            made[!isCheap] = known
            return try known.get()
        }
    }

    private var allTransfers: [TransferSession] {
        let others = self.otherTransfers.withLock { Array($0.values) }
        return ([self.transfers] + others).compactMap { try? $0.get() }
    }

    /// Martlet's session whose transfers the daemon makes; `nil` if this is not a background session.
    var backgroundTransfers: TransferSession? { self.isBackground ? try? self.transfers.get() : nil }

    private var isBackground: Bool { self.settings.identifier != nil }

    private static func ownQueue() -> OperationQueue {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.name = "URLSession"
        return queue
    }

    /// The delegate; `nil` after the invalidation.
    public var delegate: (any URLSessionDelegate)? { self.state.withLock { $0.delegate } }

    /// A copy of the configuration.
    open var configuration: URLSessionConfiguration { self.settings.duplicate() }

    /// A text for the program's own use.
    open var sessionDescription: String? {
        get { self.state.withLock { $0.description } }
        set { self.state.withLock { $0.description = newValue } }
    }

    // MARK: The end

    /// Refuses new tasks; when the last task is complete, the delegate is notified that the session is invalid.
    ///
    /// Does nothing to ``shared``.
    open func finishTasksAndInvalidate() {
        guard self !== Self.common else { return }
        self.state.withLock { $0.isInvalidated = true }
        self.closeIfDone()
    }

    /// Refuses new tasks and cancels the others, then notifies the delegate that the session is invalid.
    ///
    /// Does nothing to ``shared``. In a background session it also cancels what the daemon transfers.
    open func invalidateAndCancel() {
        guard self !== Self.common else { return }
        let tasks = self.state.withLock { state in
            state.isInvalidated = true
            return state.tasks.values.sorted { $0.taskIdentifier < $1.taskIdentifier }
        }
        self.backgroundTransfers?.invalidateAndCancel()
        for task in tasks { task.cancel() }
        self.closeIfDone()
    }

    /// Whether the session accepts no more tasks.
    var isInvalidated: Bool { self.state.withLock { $0.isInvalidated } }

    private func closeIfDone() {
        let closes = self.state.withLock { state in
            guard state.isInvalidated, state.tasks.isEmpty, !state.isClosed else { return false }
            state.isClosed = true
            return true
        }
        guard closes else { return }
        for case .success(let transfers) in self.otherTransfers.withLock({ $0.values }) {
            transfers.finishTasksAndInvalidate()
        }
        guard case .success(let transfers) = self.transfers else { return self.becameInvalid() }
        self.bridge.close(self)
        transfers.finishTasksAndInvalidate()
    }

    /// Notifies the delegate, once, and releases it.
    func becameInvalid() {
        let delegate = self.state.withLock { state in
            defer { state.delegate = nil }
            return state.delegate
        }
        guard let delegate else { return }
        self.delegateQueue.addOperation { delegate.urlSession(self, didBecomeInvalidWithError: nil) }
    }

    // MARK: Storage

    /// Deletes the session's cookies, credentials and cached responses.
    open func reset(completionHandler: @escaping @Sendable () -> Void) {
        self.settings.urlCache?.removeAllCachedResponses()
        if let storage = self.settings.urlCredentialStorage {
            for (space, credentials) in storage.allCredentials {
                for credential in credentials.values { storage.remove(credential, for: space) }
            }
        }
        if let cookies = self.settings.httpCookieStorage {
            for cookie in cookies.cookies ?? [] { cookies.deleteCookie(cookie) }
        }
        // Those of challenges that were answered for the session.
        for transfers in self.allTransfers { transfers.forgetCredentials() }
        self.delegateQueue.addOperation(completionHandler)
    }

    /// Calls the handler: Foundation's storages write each change at once.
    open func flush(completionHandler: @escaping @Sendable () -> Void) {
        self.delegateQueue.addOperation(completionHandler)
    }

    // MARK: Tasks

    /// Creates a data task for a URL.
    open func dataTask(with url: URL) -> URLSessionDataTask { self.dataTask(with: URLRequest(url: url)) }

    /// Creates a data task for a request.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        self.made(URLSessionDataTask(self, request, .data, .delegate))
    }

    /// Creates a data task for a URL that passes its result to a handler.
    open func dataTask(
        with url: URL,
        completionHandler: @escaping URLSessionDataHandler
    ) -> URLSessionDataTask { self.dataTask(with: URLRequest(url: url), completionHandler: completionHandler) }

    /// Creates a data task for a request that passes its result to a handler.
    open func dataTask(
        with request: URLRequest,
        completionHandler: @escaping URLSessionDataHandler
    ) -> URLSessionDataTask { self.made(URLSessionDataTask(self, request, .data, .data(completionHandler))) }

    // MARK: Downloads

    /// Creates a download task for a URL.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        self.downloadTask(with: URLRequest(url: url))
    }

    /// Creates a download task for a request.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        self.made(URLSessionDownloadTask(self, request, .download, .delegate))
    }

    /// Creates a download task for a URL that passes its file to a handler; then the file is deleted.
    open func downloadTask(
        with url: URL,
        completionHandler: @escaping URLSessionFileHandler
    ) -> URLSessionDownloadTask { self.downloadTask(with: URLRequest(url: url), completionHandler: completionHandler) }

    /// Creates a download task for a request that passes its file to a handler; then the file is deleted.
    open func downloadTask(
        with request: URLRequest,
        completionHandler: @escaping URLSessionFileHandler
    ) -> URLSessionDownloadTask {
        self.made(URLSessionDownloadTask(self, request, .download, .file(completionHandler, keepsFile: false)))
    }

    /// Creates a download task that continues another one.
    ///
    /// The task fails if these are not resume data. A file that has changed on the server meanwhile is fetched again as a whole.
    ///
    /// - Parameter resumeData: What ``URLSessionDownloadTask/cancel(byProducingResumeData:)`` or an error's
    ///   `NSURLSessionDownloadTaskResumeData` has, also of an earlier run of the program.
    /// - Returns: The task.
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        self.resumed(resumeData, .delegate)
    }

    /// Creates a download task that continues another one and passes its file to a handler.
    open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping URLSessionFileHandler
    ) -> URLSessionDownloadTask { self.resumed(resumeData, .file(completionHandler, keepsFile: false)) }

    // MARK: Uploads

    /// Creates a task that sends bytes; a request's method `GET` becomes `PUT`.
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        self.made(URLSessionUploadTask(self, request, .upload(.bytes(bodyData)), .delegate))
    }

    /// Creates a task that sends a file; a request's method `GET` becomes `PUT`.
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        self.made(URLSessionUploadTask(self, request, .upload(.file(fileURL)), .delegate))
    }

    /// Creates a task that sends bytes and passes its result to a handler.
    open func uploadTask(
        with request: URLRequest,
        from bodyData: Data?,
        completionHandler: @escaping URLSessionDataHandler
    ) -> URLSessionUploadTask {
        self.made(
            URLSessionUploadTask(self, request, .upload(.bytes(bodyData ?? Data())), .data(completionHandler))
        )
    }

    /// Creates a task that sends a file and passes its result to a handler.
    open func uploadTask(
        with request: URLRequest,
        fromFile fileURL: URL,
        completionHandler: @escaping URLSessionDataHandler
    ) -> URLSessionUploadTask {
        self.made(URLSessionUploadTask(self, request, .upload(.file(fileURL)), .data(completionHandler)))
    }

    /// Creates a task that sends the stream of its request, or that which its delegate has.
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        self.made(URLSessionUploadTask(self, request, .upload(.stream), .delegate))
    }

    // MARK: The registry

    /// A number for a task.
    func nextNumber() -> Int {
        self.state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Keeps a task until it is complete.
    func keep(_ task: URLSessionTask) {
        self.state.withLock { $0.tasks[task.taskIdentifier] = task }
    }

    /// Forgets a complete task.
    func forget(_ task: URLSessionTask) {
        let kept = self.state.withLock { $0.tasks.removeValue(forKey: task.taskIdentifier) }
        withExtendedLifetime(kept) { self.closeIfDone() }
    }

    /// The task of a transfer: an earlier run of the program made it if this one does not know it.
    func task(of transfer: TransferTask) -> URLSessionTask? {
        if let reference = transfer.userInfo as? TaskReference { return reference.task }
        guard self.settings.identifier != nil else { return nil }
        return self.state.withLock { state in
            // Another thread may have been first.
            if let known = (transfer.userInfo as? TaskReference)?.task { return known }
            let task =
                transfer is UploadTask
                ? URLSessionUploadTask(adopting: transfer, in: self)
                : URLSessionDownloadTask(adopting: transfer, in: self)
            state.tasks[task.taskIdentifier] = task
            return task
        }
    }
}
