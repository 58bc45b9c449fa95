// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import TransferCore
internal import Synchronization
internal import TransferEngine

// `@unchecked Sendable`: only a final class is checked. Every stored property, here and in the three subclasses, is a
// constant of a sendable type, among them the `Mutex` of the variables.
/// One transfer of a session: the common part of ``DataTask``, ``DownloadTask`` and ``UploadTask``.
///
/// A new task is suspended; ``resume()`` starts it. Resuming a running task, suspending a suspended task and cancelling
/// a task that has ended have no effect. Suspensions are not counted: one `resume()` undoes any number of them, so that
/// two parts of a program can suspend the same task independently.
///
/// The session keeps a strong reference to a task from its first `resume()` until it ends, except while it is
/// suspended. When the program releases the last reference to a suspended task, the task is cancelled. Its handlers and
/// event sequences receive the cancellation; its delegates do not, because the task no longer exists.
public class TransferTask: @unchecked Sendable {
    /// The state of a task.
    public enum State: String, Sendable, Hashable {
        /// Not started, or suspended.
        case suspended
        /// Waiting for a free slot, for a retry, for its host, for its time, or until the configuration's conditions are
        /// met; see ``TransferTask/waitReason``.
        case waiting
        /// Transferring.
        case running
        /// Ended, whatever the outcome.
        case ended
    }

    enum Phase {
        case created
        /// The configuration's conditions are not met, or it is too early. The identifier is that of a paused transfer, or `nil` if none
        /// has started.
        case held(TransferID?)
        case submitted(TransferID)
        case paused(TransferID)
        case ended
    }

    struct Facts {
        var response: TransferResponse?
        /// The last response whose body is not delivered.
        var latest: TransferResponse?
        var error: TransferError?
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        var bytesSent: Int64 = 0
        var bytesToSend: Int64?
        var bytesTold: Int64 = 0
        /// The rate of the last report.
        var rate: Double = 0
        var description = ""
        var userInfo: (any Sendable)?
        var priority: Priority
        var rateLimit: Int64?
        var sequences: [Mailbox.Reference] = []
        /// Progress not yet delivered, per delegate.
        var progress: [ObjectIdentifier: ProgressSlot] = [:]
        var isEnded = false
        /// The time before which it does not begin, in seconds since 1970.
        var earliestBegin: Double?
        /// The reason why it waits since its last attempt.
        var waiting: WaitReason?
        /// Background sessions: text that is stored by the daemon and survives a restart of the program.
        var persistentInfo = ""
        /// Background sessions: whether an earlier run of the program made the task and may have received its response.
        var isAdopted = false
        /// Background sessions: whether the daemon no longer knows the transfer.
        var isLost = false
        /// Background sessions: the number of the last delivered event.
        var eventNumber: Int64?
        /// Background sessions: keeps the event that is being delivered from being acknowledged.
        var hold: CallOnce?

        mutating func takeHold() -> CallOnce? {
            defer { self.hold = nil }
            return self.hold
        }
    }

    /// The task's number in its session, counted from 1; in a background session it is unique over all runs of the
    /// program.
    public let id: Int
    /// The request for which the task was created.
    public let request: TransferRequest

    let session: TransferSession
    /// The value of `Idempotency-Key` in all of its requests, or `nil`.
    let idempotencyKey: String?
    /// Whether delegates are not called, as for the task of a blocking call: the call may block the delegates' own
    /// thread.
    let isPrivate: Bool
    let control = Mutex(Phase.created)
    /// Whether the transfer has ended.
    ///
    /// Separate from `control`, because the engine may report the end on the thread that has just suspended or
    /// cancelled the task and still holds that lock.
    let isOver = Atomic(false)
    let facts: Mutex<Facts>
    let flow = FlowGate()
    let inquiry = Mutex(ResponseInquiry())
    let ownDelegates = Mutex<DelegateList<any TransferDelegate>?>(nil)

    var runner: any TransferRunner { self.session.runner(of: self) }

    init(id: Int, request: TransferRequest, session: TransferSession, isPrivate: Bool) {
        self.id = id
        self.request = request
        self.session = session
        self.isPrivate = isPrivate
        self.idempotencyKey = request.newIdempotencyKey
        self.facts = Mutex(Facts(priority: request.priority, rateLimit: request.rateLimit))
    }

    deinit {
        // No reference is left that could resume it.
        if case .paused(let id) = self.control.withLock({ $0 }) { self.runner.abandon(id) }
        for sequence in self.markEnded(.cancelled) ?? [] {
            sequence.put(.failed(.cancelled))
            sequence.close()
        }
        self.session.forget(self)
    }

    // MARK: Properties

    /// The current state.
    public final var state: State {
        switch self.phase {
        case .created, .paused: .suspended
        case .held: .waiting
        case .ended: .ended
        case .submitted(let id):
            switch self.runner.state(of: id) {
            case .running: .running
            case .waiting, .retrying: .waiting
            case .paused: .suspended
            // The daemon knows the end before the event is delivered.
            case .finished, .failed, .cancelled: .ended
            // The engine knows it before the task reports it.
            case nil: self.facts.withLock { $0.isEnded } ? .ended : .running
            }
        }
    }

    /// The reason why the task waits, if its state is `waiting`; otherwise `nil`.
    ///
    /// In a background session it is known from the first failed attempt that this program has observed.
    public final var waitReason: WaitReason? {
        let id: TransferID
        switch self.phase {
        case .created, .paused, .ended: return nil
        case .held: return self.reasonOfHold
        case .submitted(let submitted): id = submitted
        }
        let known = self.facts.withLock { $0.waiting }
        switch self.runner.state(of: id) {
        case .retrying: return known ?? WaitReason(.retry)
        case .waiting:
            guard self.session.background == nil else { return known ?? WaitReason(.slot) }
            return self.runner.hold(of: self).map { WaitReason($0, known?.error) } ?? WaitReason(.slot)
        case nil, .running, .paused, .finished, .failed, .cancelled: return nil
        }
    }

    /// The response, once its head has arrived and its body is being received.
    public final var response: TransferResponse? { self.facts.withLock { $0.response } }

    /// The error that the task failed with, or `nil`.
    public final var error: TransferError? { self.facts.withLock { $0.error } }

    /// The body bytes received, including those that earlier runs of the program received.
    public final var bytesReceived: Int64 {
        if !self.sends, case .submitted(let id) = self.phase, let now = self.runner.progress(of: id) {
            return max(now.bytes, self.facts.withLock { $0.bytesReceived })
        }
        return self.facts.withLock { $0.bytesReceived }
    }

    /// The length of the complete body, or `nil` while it is unknown.
    public final var bytesExpected: Int64? {
        if let known = self.facts.withLock({ $0.bytesExpected }) { return known }
        if !self.sends, case .submitted(let id) = self.phase { return self.runner.progress(of: id)?.total }
        return nil
    }

    /// The number of bytes of the request's content that were sent.
    public final var bytesSent: Int64 {
        if self.sends, case .submitted(let id) = self.phase, let now = self.runner.progress(of: id) {
            return max(now.bytes, self.facts.withLock { $0.bytesSent })
        }
        return self.facts.withLock { $0.bytesSent }
    }

    /// The length of the request's content in bytes; -1 while that of an upload is unknown.
    public final var bytesExpectedToSend: Int64 {
        guard self.sends else { return Int64(self.request.body?.count ?? 0) }
        if let known = self.facts.withLock({ $0.bytesToSend }) { return known }
        if case .submitted(let id) = self.phase { return self.runner.progress(of: id)?.total ?? -1 }
        return -1
    }

    private var sends: Bool { self is UploadTask }

    /// Text set by the program; it also appears in log messages.
    public final var description: String {
        get { self.facts.withLock { $0.description } }
        set { self.facts.withLock { $0.description = newValue } }
    }

    /// A value set by the program.
    public final var userInfo: (any Sendable)? {
        get { self.facts.withLock { $0.userInfo } }
        set { self.facts.withLock { $0.userInfo = newValue } }
    }

    /// Text set by the program that a background session restores after a restart, as it does ``description``.
    ///
    /// Set it before ``resume()``: a later change is not stored.
    public final var persistentInfo: String {
        get { self.facts.withLock { $0.persistentInfo } }
        set { self.facts.withLock { $0.persistentInfo = newValue } }
    }

    /// Background sessions: the number of the task's last delivered event, for ``TransferSession/acknowledge(upTo:)``.
    public final var eventNumber: Int64? { self.facts.withLock { $0.eventNumber } }

    // MARK: Priority and rate limit

    /// The priority among waiting tasks; a change does not interrupt a running task.
    public final var priority: Priority {
        get { self.facts.withLock { $0.priority } }
        set {
            self.facts.withLock { $0.priority = newValue }
            if let id = self.transferID { self.runner.setPriority(newValue, of: id) }
        }
    }

    /// The rate limit in bytes per second, or `nil` for none.
    public final var rateLimit: Int64? {
        get { self.facts.withLock { $0.rateLimit } }
        set {
            self.facts.withLock { $0.rateLimit = newValue }
            if let id = self.transferID { self.runner.setRateLimit(newValue, of: id) }
        }
    }

    private var phase: Phase { self.isOver.load(ordering: .acquiring) ? .ended : self.control.withLock { $0 } }

    final var transferID: TransferID? {
        switch self.phase {
        case .submitted(let id), .paused(let id), .held(.some(let id)): id
        case .created, .held(nil), .ended: nil
        }
    }

    // MARK: Starting and ending

    /// Starts or continues the task.
    public final func resume() {
        self.begin { phase in
            switch phase {
            case .created: .some(nil)
            case .paused(let id): id
            case .held, .submitted, .ended: nil
            }
        }
    }

    /// Starts or continues the task when the conditions that it waits for are met, or its time has come.
    final func conditionsHold() {
        self.begin { phase in if case .held(let id) = phase { .some(id) } else { nil } }
    }

    /// Starts or continues the transfer.
    ///
    /// - Parameter from: Returns `nil` to do nothing, `.some(nil)` to start a new transfer, or the transfer to resume.
    private func begin(_ from: (Phase) -> TransferID??) {
        let failure: TransferError? = self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring), let id = from(phase) else { return nil }
            do throws(TransferError) {
                if let seconds = self.secondsToBegin {
                    phase = .held(try self.hold(id, for: seconds))
                    return nil
                }
                guard self.session.mayStart(self) else {
                    phase = .held(id)
                    return nil
                }
                if let id {
                    self.session.registry.keep(self)
                    if self.earliestBeginTime != nil { self.session.background?.setBegin(nil, of: id) }
                    phase = .submitted(id)
                    self.runner.resume(id)
                } else {
                    phase = .submitted(try self.session.submit(self))
                }
                return nil
            } catch {
                phase = .ended
                return error
            }
        }
        if let failure { self.fail(failure) }
    }

    /// Suspends the task: it keeps its data and releases its slot.
    public final func suspend() {
        self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring) else { return }
            switch phase {
            case .held(let id):
                if let id { self.session.background?.setBegin(nil, of: id) }
                self.session.registry.letGo(self)
                phase = id.map { .paused($0) } ?? .created
            case .submitted(let id):
                self.runner.pause(id)
                self.session.registry.letGo(self)
                phase = .paused(id)
            case .paused(let id):
                if self.earliestBeginTime != nil { self.session.background?.setBegin(nil, of: id) }
            case .created, .ended: break
            }
        }
    }

    /// Pauses the transfer when the configuration's conditions cease to be met; the task then waits for them.
    final func conditionsEnded() {
        self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring), case .submitted(let id) = phase,
                !self.session.mayStart(self)
            else { return }
            self.runner.pause(id)
            phase = .held(id)
        }
    }

    /// Ends the task with the code `cancelled`; the partial data of a download is deleted.
    public final func cancel() { self.cancel(keeping: false) }

    final func cancel(keeping: Bool) {
        let endsHere = self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring) else { return false }
            switch phase {
            case .created, .held(nil):
                phase = .ended
                return true
            case .submitted(let id), .paused(let id), .held(.some(let id)):
                self.session.registry.keep(self)
                self.runner.cancel(id, keeping: keeping)
                return false
            case .ended: return false
            }
        }
        if endsHere { self.fail(.cancelled) }
    }

    /// Cancels the task and returns data for ``TransferSession/download(resuming:)``.
    ///
    /// - Returns: `nil` if nothing can be resumed: for a data task, if nothing was received, or if the task had ended.
    public func cancelProducingResumeData() async -> ResumeData? {
        self.cancel()
        return nil
    }

    // MARK: Overridden by the kinds of task

    /// Handles the successful end of the transfer.
    func succeed(_ completion: TransferEvent.Completion) {}

    /// Handles a failed transfer; the target may have a partial file to resume from.
    func failed(_ failure: TransferFailure, _ target: FileTarget?) { self.fail(TransferError(failure)) }

    /// Handles a cancelled transfer.
    func wasCancelled(_ target: FileTarget?) { self.fail(.cancelled) }

    /// Ends the task with an error.
    func fail(_ error: TransferError) {}

    /// Forwards the response to an internal observer of the task.
    func relayResponse(_ response: TransferResponse) {}

    /// Puts the end into a sequence that was made after the task ended.
    func tellEnd(to mailbox: Mailbox) {}
}
