// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import HTTPTransport
internal import Synchronization

internal import Platform

/// Blocking calls, for scripts and synchronous code.
///
/// They may be made on any thread that may block, including the main thread and the threads and queues on which
/// delegates are called. No delegate is called, because the call may block its thread; challenges are handled with the
/// session's credentials. Blocking calls have separate slots and connections, as many as the session allows, so that
/// they never wait for transfers whose delegates they block. On an event loop and on the threads of Swift's concurrency
/// pool, which must not block, they throw `wouldDeadlock` at once. Success is a status from 200 to 299, in practice 200
/// and 206.
extension TransferSession {
    /// Receives a body in memory, and blocks until it is complete.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - referer: The value of the `Referer` field.
    ///   - headers: Header fields in addition to the request's.
    ///   - maximumBytes: The maximum size of the body in bytes.
    ///   - timeout: How long to wait for the end, `nil` for no limit; then the transfer is cancelled.
    /// - Returns: The response and its body.
    /// - Throws: ``TransferError``, with `timeout` after that time; for a status other than success it has the status,
    ///   its name and the first bytes of the body.
    public func dataBlocking(
        from request: some RequestConvertible,
        referer: HTTPURL? = nil,
        headers: HeaderFields = [:],
        maximumBytes: Int = DataTask.defaultMaximum,
        timeout: Duration? = nil
    ) throws(TransferError) -> DataResponse {
        try BlockingCall.check()
        let request = try Self.request(request.transferRequest(), referer, headers)
        let task = try self.makeData(request, maximumBytes, true, isPrivate: true)
        return try BlockingCall.wait(timeout, cancelling: task) { task.whenEnded($0) }
    }

    /// Receives a body into a file, and blocks until it is complete.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: The destination of the file; a temporary one is deleted when the caller releases the result.
    ///   - referer: The value of the `Referer` field.
    ///   - headers: Header fields in addition to the request's.
    ///   - timeout: How long to wait for the end, `nil` for no limit; then the transfer is cancelled.
    /// - Returns: The file.
    /// - Throws: ``TransferError``, with `timeout` after that time; for a status other than success it has the status,
    ///   its name and the first bytes of the body.
    public func downloadBlocking(
        from request: some RequestConvertible,
        to destination: Destination = .temporary,
        referer: HTTPURL? = nil,
        headers: HeaderFields = [:],
        timeout: Duration? = nil
    ) throws(TransferError) -> DownloadedFile {
        try BlockingCall.check()
        let request = try Self.request(request.transferRequest(), referer, headers)
        let task = try self.makeDownload(request, destination, isPrivate: true)
        return try BlockingCall.wait(timeout, cancelling: task) { task.whenEnded($0) }
    }

    static func request(_ request: TransferRequest, _ referer: HTTPURL?, _ headers: HeaderFields)
        -> TransferRequest
    {
        var request = request
        if let referer { request.referer = referer }
        for (name, value) in headers { request.headers.append(name, value) }
        return request
    }
}

/// Blocks a thread until another one has produced a result.
enum BlockingCall {
    /// Checks that this thread may block.
    ///
    /// - Throws: ``TransferError`` with `wouldDeadlock` on an event loop, and in asynchronous code off the main thread.
    static func check() throws(TransferError) {
        if SharedLoops.isCurrentThread {
            throw TransferError(
                .wouldDeadlock,
                "a blocking call on an event loop's thread, which must not block",
                remedy: "use the asynchronous call, or call this method on a separate thread"
            )
        }
        if withUnsafeCurrentTask(body: { $0 != nil }), !Self.isMainThread {
            throw TransferError(
                .wouldDeadlock,
                "a blocking call in asynchronous code, whose threads must not block",
                remedy: "use the asynchronous call with await"
            )
        }
    }

    /// Whether the calling thread is the main thread, or runs work of the main queue.
    static var isMainThread: Bool {
        // On Linux the main queue, the main actor's executor, leaves the main thread once the program waits for it.
        if DispatchQueue.getSpecific(key: self.mainQueueKey) == true { return true }
        return SystemThread.isMain
    }

    private static let mainQueueKey: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Starts a task and waits for its end.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait, `nil` for no limit; then the task is cancelled.
    ///   - task: The task.
    ///   - register: Registers the callback that receives the result.
    /// - Returns: The result's value.
    /// - Throws: The result's error; `timeout` after that time.
    static func wait<Value: Sendable>(
        _ timeout: Duration?,
        cancelling task: TransferTask,
        _ register: (@escaping @Sendable (Result<Value, TransferError>) -> Void) -> Void
    ) throws(TransferError) -> Value {
        do throws(TransferError) {
            return try self.wait(timeout, register, beginning: { task.resume() })
        } catch {
            task.cancel()
            throw error
        }
    }

    /// Waits for a result that another thread produces.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait; `nil` for no limit.
    ///   - subject: The name of the awaited operation, for the error.
    ///   - attendant: The signal that wakes this thread.
    ///   - register: Registers the callback that receives the result.
    ///   - begin: Starts the work.
    ///   - meanwhile: Called on this thread before it blocks, and each time it is woken.
    /// - Returns: The result's value.
    /// - Throws: The result's error; `timeout` after that time.
    static func wait<Value: Sendable>(
        _ timeout: Duration? = nil,
        for subject: String = "the transfer",
        attendant: Attendant = Attendant(),
        _ register: (@escaping @Sendable (Result<Value, TransferError>) -> Void) -> Void,
        beginning begin: () -> Void,
        meanwhile: () -> Void = {}
    ) throws(TransferError) -> Value {
        let end: DispatchTime = timeout.map { .now() + $0.inSeconds } ?? .distantFuture
        let slot = Slot<Result<Value, TransferError>>()
        register { outcome in
            slot.value.withLock { $0 = outcome }
            attendant.wake()
        }
        begin()
        while true {
            meanwhile()
            if let outcome = slot.value.withLock({ $0.take() }) { return try outcome.get() }
            guard attendant.wait(until: end) else {
                throw TransferError(
                    .timeout,
                    "\(subject) did not end within the blocking call's timeout of \(timeout.map { "\($0)" } ?? "")",
                    remedy: "increase the timeout"
                )
            }
        }
    }

    private final class Slot<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}
