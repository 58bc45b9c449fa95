internal import Synchronization
internal import TransferEngine

/// One transfer of a session: the common part of ``DataTask``, ``DownloadTask`` and ``UploadTask``.
///
/// A task is made suspended and begins with ``resume()``. Resuming a task that runs, suspending one that is suspended and
/// cancelling one that has ended do nothing; suspends are not counted: one `resume()` undoes any number of them, so that
/// two parts of a program that suspend the same task need not know of each other.
///
/// The session keeps a task from its first `resume()` to its end, suspensions excepted; a suspended task that the program
/// lets go of is cancelled, which its handlers and sequences hear of, but no delegate: there is no task to name any more.
public class TransferTask: @unchecked Sendable {
    // Unchecked because the class is open to its subclasses: every stored property here and there is a constant.

    /// Where a task stands.
    public enum State: String, Sendable, Hashable {
        /// Not begun yet, or suspended.
        case suspended
        /// Waiting for its turn, for its next attempt, or for the conditions that the configuration sets.
        case waiting
        /// Transferring.
        case running
        /// Ended, in whatever way.
        case ended
    }

    enum Phase {
        case created
        /// The configuration's conditions do not hold; a transfer that had begun is paused.
        case held(TransferID?)
        case submitted(TransferID)
        case paused(TransferID)
        case ended
    }

    struct Facts {
        var response: HTTPResponse?
        /// The last response without a body to take.
        var latest: HTTPResponse?
        var error: TransferError?
        var bytesReceived: Int64 = 0
        var bytesExpected: Int64?
        var bytesSent: Int64 = 0
        var bytesToSend: Int64?
        var bytesTold: Int64 = 0
        var description = ""
        var userInfo: (any Sendable)?
        var priority: Priority
        var rateLimit: Int64?
        var sequences: [Mailbox.Reference] = []
        /// What each delegate has not heard of yet.
        var progress: [ObjectIdentifier: ProgressSlot] = [:]
        var isEnded = false
        /// In a background session: a text that outlives the program.
        var persistentInfo = ""
        /// In a background session: whether an earlier run of the program made it, which may have heard of the response.
        var isAdopted = false
        /// In a background session: whether the daemon lost it.
        var isLost = false
        /// In a background session: the number of the last event that was told.
        var eventNumber: Int64?
        /// In a background session: holds the event that is being told.
        var hold: EventHold?

        mutating func takeHold() -> EventHold? {
            defer { self.hold = nil }
            return self.hold
        }
    }

    /// The task's number in its session, from 1 on.
    public let id: Int
    /// The request that the task was made for.
    public let request: TransferRequest

    let session: TransferSession
    /// Whether no delegate hears of it: a blocking call's, whose delegates may be what it blocks.
    let isPrivate: Bool
    let control = Mutex(Phase.created)
    /// Whether the transfer has ended.
    ///
    /// Beside `control`, because the engine may tell the end on the thread that has just suspended or cancelled the task,
    /// under that lock.
    let isOver = Atomic(false)
    let facts: Mutex<Facts>
    let flow = FlowGate()
    let ownDelegates = Mutex<DelegateList<any TransferDelegate>?>(nil)

    init(id: Int, request: TransferRequest, session: TransferSession, isPrivate: Bool) {
        self.id = id
        self.request = request
        self.session = session
        self.isPrivate = isPrivate
        self.facts = Mutex(Facts(priority: request.priority, rateLimit: request.rateLimit))
    }

    deinit {
        // Nobody can resume it any more.
        if case .paused(let id) = self.control.withLock({ $0 }) { self.session.runner.abandon(id) }
        for sequence in self.markEnded(.cancelled) ?? [] {
            sequence.put(.failed(.cancelled))
            sequence.close()
        }
        self.session.forget(self)
    }

    // MARK: What is known of it

    /// Where the task stands.
    public final var state: State {
        switch self.phase {
        case .created, .paused: .suspended
        case .held: .waiting
        case .ended: .ended
        case .submitted(let id):
            switch self.session.runner.state(of: id) {
            case .running: .running
            case .waiting, .retrying: .waiting
            case .paused: .suspended
            // The end is known to the engine before it is told.
            case nil, .finished, .failed, .cancelled: self.facts.withLock { $0.isEnded } ? .ended : .running
            }
        }
    }

    /// The response, once its head came and its body is taken.
    public final var response: HTTPResponse? { self.facts.withLock { $0.response } }

    /// Why the task failed; `nil` while it has not.
    public final var error: TransferError? { self.facts.withLock { $0.error } }

    /// The bytes of body that are there, those of earlier runs included.
    public final var bytesReceived: Int64 {
        if !self.sends, case .submitted(let id) = self.phase, let now = self.session.runner.progress(of: id) {
            return max(now.bytes, self.facts.withLock { $0.bytesReceived })
        }
        return self.facts.withLock { $0.bytesReceived }
    }

    /// The length of the whole body, or `nil` while it is unknown.
    public final var bytesExpected: Int64? {
        if let known = self.facts.withLock({ $0.bytesExpected }) { return known }
        if !self.sends, case .submitted(let id) = self.phase { return self.session.runner.progress(of: id)?.total }
        return nil
    }

    /// The bytes of the request's content that were sent.
    public final var bytesSent: Int64 {
        if self.sends, case .submitted(let id) = self.phase, let now = self.session.runner.progress(of: id) {
            return max(now.bytes, self.facts.withLock { $0.bytesSent })
        }
        return self.facts.withLock { $0.bytesSent }
    }

    /// The bytes of the request's content in all; -1 while an upload's is not known.
    public final var bytesExpectedToSend: Int64 {
        guard self.sends else { return Int64(self.request.body?.count ?? 0) }
        if let known = self.facts.withLock({ $0.bytesToSend }) { return known }
        if case .submitted(let id) = self.phase { return self.session.runner.progress(of: id)?.total ?? -1 }
        return -1
    }

    private var sends: Bool { self is UploadTask }

    /// A text of the program's own; it also stands in log messages.
    public final var description: String {
        get { self.facts.withLock { $0.description } }
        set { self.facts.withLock { $0.description = newValue } }
    }

    /// The program's own information.
    public final var userInfo: (any Sendable)? {
        get { self.facts.withLock { $0.userInfo } }
        set { self.facts.withLock { $0.userInfo = newValue } }
    }

    /// A text of the program's own that a background session gives back after a restart, as it does ``description``.
    ///
    /// To be set before ``resume()``; what is set later stays in this program.
    public final var persistentInfo: String {
        get { self.facts.withLock { $0.persistentInfo } }
        set { self.facts.withLock { $0.persistentInfo = newValue } }
    }

    /// In a background session the number of the last event told of this task, for ``TransferSession/acknowledge(upTo:)``.
    public final var eventNumber: Int64? { self.facts.withLock { $0.eventNumber } }

    // MARK: What can be changed

    /// The order in which waiting tasks start; one that runs keeps running.
    public final var priority: Priority {
        get { self.facts.withLock { $0.priority } }
        set {
            self.facts.withLock { $0.priority = newValue }
            if let id = self.transferID { self.session.runner.setPriority(newValue, of: id) }
        }
    }

    /// The most bytes a second, or `nil`.
    public final var rateLimit: Int64? {
        get { self.facts.withLock { $0.rateLimit } }
        set {
            self.facts.withLock { $0.rateLimit = newValue }
            if let id = self.transferID { self.session.runner.setRateLimit(newValue, of: id) }
        }
    }

    private var phase: Phase { self.isOver.load(ordering: .acquiring) ? .ended : self.control.withLock { $0 } }

    final var transferID: TransferID? {
        switch self.phase {
        case .submitted(let id), .paused(let id), .held(.some(let id)): id
        case .created, .held(nil), .ended: nil
        }
    }

    /// Lets a delegate of this task alone hear of it, after the session's.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, held weakly.
    ///   - context: Where it is called.
    public final func addDelegate(_ delegate: any TransferDelegate, on context: CallbackContext = .anyThread) {
        let list = self.ownDelegates.withLock { list in
            let known = list ?? DelegateList()
            list = known
            return known
        }
        list.add(ObjectIdentifier(delegate), on: context) { [weak delegate] in delegate }
    }

    /// Takes over the delegates of a task whose transfer goes on as this one's.
    final func takeDelegates(of other: TransferTask) {
        let list = other.ownDelegates.withLock { $0 }
        self.ownDelegates.withLock { $0 = list }
    }

    /// Removes a delegate of this task alone; a call under way comes to its end.
    public final func removeDelegate(_ delegate: any TransferDelegate) {
        self.ownDelegates.withLock { $0 }?.remove(ObjectIdentifier(delegate))
    }

    /// The task's events from now on; see ``TaskEvents``.
    ///
    /// To hear of all of them, make it before ``resume()``. While it is held it is one of those who are told a finished
    /// download's temporary file.
    public final var events: TaskEvents {
        let mailbox = Mailbox(self.flow)
        let isOver = self.facts.withLock { facts in
            facts.sequences.removeAll { $0.mailbox == nil }
            if !facts.isEnded { facts.sequences.append(Mailbox.Reference(mailbox: mailbox)) }
            return facts.isEnded
        }
        if isOver {
            self.tellEnd(to: mailbox)
            mailbox.close()
        }
        return TaskEvents(mailbox: mailbox)
    }

    // MARK: Beginning and ending

    /// Begins the task, or goes on with it.
    public final func resume() {
        self.begin { phase in
            switch phase {
            case .created: .some(nil)
            case .paused(let id): id
            case .held, .submitted, .ended: nil
            }
        }
    }

    /// The conditions that it waits for hold now.
    final func conditionsHold() {
        self.begin { phase in if case .held(let id) = phase { .some(id) } else { nil } }
    }

    /// Begins or goes on where `from` gives the transfer to go on with, or `nil` inside for a new one.
    private func begin(_ from: (Phase) -> TransferID??) {
        let failure: TransferError? = self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring), let id = from(phase) else { return nil }
            guard self.session.mayStart(self) else {
                phase = .held(id)
                return nil
            }
            do throws(TransferError) {
                if let id {
                    self.session.registry.keep(self)
                    phase = .submitted(id)
                    self.session.runner.resume(id)
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

    /// Suspends the task; it keeps what it has and loses its place among the running ones.
    public final func suspend() {
        self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring) else { return }
            switch phase {
            case .held(let id):
                self.session.registry.letGo(self)
                phase = id.map { .paused($0) } ?? .created
            case .submitted(let id):
                self.session.runner.pause(id)
                self.session.registry.letGo(self)
                phase = .paused(id)
            case .created, .paused, .ended: break
            }
        }
    }

    /// The conditions that it needs no longer hold: it waits for them again.
    final func conditionsEnded() {
        self.control.withLock { phase in
            guard !self.isOver.load(ordering: .acquiring), case .submitted(let id) = phase,
                !self.session.mayStart(self)
            else { return }
            self.session.runner.pause(id)
            phase = .held(id)
        }
    }

    /// Ends the task with the code `cancelled`; what a download has gathered is deleted.
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
                self.session.runner.cancel(id, keeping: keeping)
                return false
            case .ended: return false
            }
        }
        if endsHere { self.fail(.cancelled) }
    }

    /// Cancels the task and gives what ``TransferSession/download(resuming:)`` goes on from.
    ///
    /// - Returns: `nil` where nothing can be gone on from: a data task, nothing received yet, or ended already.
    public func cancelProducingResumeData() async -> ResumeData? {
        self.cancel()
        return nil
    }

    // MARK: What the kinds do

    /// The transfer ended well.
    func succeed(_ completion: TransferEvent.Completion) {}

    /// The transfer failed; a file that is to be gone on from may lie at the target.
    func failed(_ failure: TransferFailure, _ target: FileTarget?) { self.fail(TransferError(failure)) }

    /// The transfer was cancelled.
    func wasCancelled(_ target: FileTarget?) { self.fail(.cancelled) }

    /// Ends the task with an error.
    func fail(_ error: TransferError) {}

    /// Passes the response on to whoever made the task for a purpose of its own.
    func relayResponse(_ response: HTTPResponse) {}

    /// Puts the end into a sequence that was made after it.
    func tellEnd(to mailbox: Mailbox) {}
}
