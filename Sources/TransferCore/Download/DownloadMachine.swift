// SPDX-License-Identifier: Apache-2.0
/// Makes all decisions of one run of a download.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock. Events are methods; each returns the actions to
/// perform, in order. A driver calls it under one lock, performs the actions after the unlock, and reports their results
/// as further events. The byte path is a direct call: `bytesReceived`, then `wrote`.
///
/// Late events of a closed request are ignored: they overtook the action that closed it.
package struct DownloadMachine: ~Copyable, Sendable {
    /// The progress of a run; each case owns what only it needs.
    enum Phase: Sendable {
        /// Determines the file's name and surveys the existing files under it.
        case locating(Locating)
        /// Nothing is open: awaits the first response, then its file.
        case opening(Opening)
        /// A small file is open.
        case small(SmallDownload)
        /// A partial file or a stream is open; connections fetch its bytes.
        case fetching(Fetching)
        /// All bytes are present; the file is verified and gets its name.
        case committing(Committing)
        case ended
        /// Used only while a case's data is being changed in place.
        case borrowed
    }

    enum Locating: Sendable {
        case surveying
        indirect case examining(ExistingFile)
        indirect case comparingDigests(ExistingFile)
        case openingPartial(FileTarget, isForeign: Bool)
    }

    /// The file's name and the rules for existing files with that name.
    struct Name: Sendable {
        var target: FileTarget { didSet { self.path = self.target.path } }
        /// The path of the target, which several events report.
        private(set) var path: String
        /// The name without a number.
        var base: String
        var isGivenByUser: Bool
        var rule: IfExistsRule
        /// Whether an existing file is replaced.
        var overwrites = false
        /// The only file that is replaced, unless the user has asked for any to be.
        var replaceable: FileIdentity?
        /// Whether requests for the whole are conditional on another version than that of the existing file.
        var revalidates = false
        /// Whether the body was diverted from memory to a file, whose name has not been surveyed yet.
        var isDiverted = false
        /// The number of surveys that led to another one, or to another name.
        var attempts = 0

        init(target: FileTarget, base: String, isGivenByUser: Bool, rule: IfExistsRule) {
            self.target = target
            self.path = target.path
            self.base = base
            self.isGivenByUser = isGivenByUser
            self.rule = rule
        }
    }

    /// The terms of the request; on the heap, because the machine is moved often and they never change.
    private let constant: Constant
    var terms: DownloadTerms { _read { yield self.constant.terms } }
    /// The data that outlives the run; final once `DownloadAction.end` was returned.
    package internal(set) var history: DownloadHistory
    /// Whether a request that must not be repeated was sent, and not refused with a response.
    package internal(set) var hasSentUnrepeatable = false
    var phase = Phase.locating(.surveying)
    var name: Name
    var requests: [FetchRequest] = []
    var nextRequest = 0
    /// A slot without a request: that of the admission, or of a request that is replaced.
    var heldSlot: Origin?
    /// Whether this event has returned a slot to those who wait for one.
    var hasReturnedSlot = false
    /// The existing file with which the server's is compared.
    var existing: Boxed<ExistingFile>?
    /// The redirect targets of sources; further ranges are requested there directly.
    var pinned: [Int: RequestFlow] = [:]
    var connections: ConnectionPlan
    /// Bytes of body received.
    package internal(set) var received: Int64 = 0
    /// The maximum number of kept bytes that a response continued.
    package internal(set) var kept: Int64 = 0
    /// The number of bytes present when the run began.
    package internal(set) var resumedFrom: Int64 = 0
    var window = RateWindow()
    var speed = SpeedWatch()
    var reported: Int64 = -1
    /// The older partial file, kept while a response without validators is written to a second one.
    var older: OlderPartial?
    /// Whether held bytes are known to be wrong, so that the file must not be resumed.
    var holdsWrongBytes = false
    /// Whether a digest showed that a second partial file is wrong, so that it does not replace the older one.
    var isNewerWrong = false
    /// The time when the run began, and the time that the transfer had been active before.
    let startedAt: Int64
    let earlierActiveTime: Int64
    let earlierReceived: Int64
    let lane: Int
    /// The time of the head being handled, in seconds since 1970.
    var wallNow: Int64 = 0
    /// The actions of the event being handled.
    var actions: [DownloadAction] = []

    /// Creates the machine of a run.
    ///
    /// - Parameters:
    ///   - terms: The terms of the request.
    ///   - history: The history of earlier runs.
    ///   - reserved: The name reserved when the transfer was added.
    ///   - base: That name without a number.
    ///   - isNamedByUser: Whether the user chose it.
    ///   - slot: The connection slot of the admission.
    ///   - lane: The index of the event loop on which the run starts.
    ///   - activeTime: The time of earlier runs, in nanoseconds.
    ///   - received: The bytes of body received by earlier runs.
    ///   - now: The time.
    package init(
        _ terms: consuming DownloadTerms,
        history: consuming DownloadHistory = DownloadHistory(),
        reserved: FileTarget,
        base: String,
        isNamedByUser: Bool,
        slot: Origin,
        lane: Int = 0,
        activeTime: Int64 = 0,
        received: Int64 = 0,
        now: Int64
    ) {
        if !terms.asksForWhole { history.ranges.isRefused = true }
        self.connections = ConnectionPlan(terms.connections)
        var name = Name(
            target: history.name ?? reserved,
            base: base,
            isGivenByUser: isNamedByUser,
            rule: terms.ifExists
        )
        self.constant = Constant(terms)
        if let diversion = history.diversion {
            name.isGivenByUser = diversion.name != nil
            name.rule = diversion.ifExists
            name.base = diversion.name ?? base
        }
        if let base = history.baseName { name.base = base }
        self.name = name
        self.history = history
        self.heldSlot = slot
        self.lane = lane
        self.startedAt = now
        self.earlierActiveTime = activeTime
        self.earlierReceived = received
    }

    /// Creates a machine in the state of another one, for exhaustive checks, which continue one state in many ways.
    package init(copying other: borrowing DownloadMachine) {
        self.constant = other.constant
        self.history = other.history
        self.phase = other.phase
        self.name = other.name
        self.requests = other.requests
        self.nextRequest = other.nextRequest
        self.heldSlot = other.heldSlot
        self.existing = other.existing
        self.pinned = other.pinned
        self.connections = other.connections
        self.received = other.received
        self.kept = other.kept
        self.resumedFrom = other.resumedFrom
        self.window = other.window
        self.speed = other.speed
        self.reported = other.reported
        self.older = other.older
        self.holdsWrongBytes = other.holdsWrongBytes
        self.isNewerWrong = other.isNewerWrong
        self.startedAt = other.startedAt
        self.earlierActiveTime = other.earlierActiveTime
        self.earlierReceived = other.earlierReceived
        self.lane = other.lane
        self.wallNow = other.wallNow
        self.actions = other.actions
    }

    /// The destination, which a policy may have changed from memory to a file.
    var destination: DownloadTerms.Destination { self.history.diversion == nil ? self.terms.destination : .file }

    /// Returns the actions of the event that was handled.
    ///
    /// A slot that was returned is granted to a request that waits for it, of this download or another one; the end of a run
    /// grants it anyway.
    mutating func takeActions() -> [DownloadAction] {
        if self.hasReturnedSlot {
            self.hasReturnedSlot = false
            if !self.isEnded { self.emit(.slotsReleased(lane: self.lane)) }
        }
        if self.actions.isEmpty { return [] }
        var taken: [DownloadAction] = []
        swap(&taken, &self.actions)
        return taken
    }

    /// Takes the empty list of actions that have been performed, so that the next event need not allocate one.
    package mutating func reuse(_ list: inout [DownloadAction]) {
        if list.isEmpty, self.actions.capacity == 0 { swap(&list, &self.actions) }
    }

    /// Adds an action to those of the event.
    mutating func emit(_ action: consuming DownloadAction) {
        // Most events have one to four.
        if self.actions.capacity == 0 { self.actions.reserveCapacity(4) }
        self.actions.append(action)
    }

    // MARK: Beginning

    /// The run was admitted, and is on its event loop.
    package mutating func began(_ now: Int64) -> [DownloadAction] {
        // It may have been interrupted before.
        guard case .locating(.surveying) = self.phase else { return [] }
        self.emit(.started)
        if self.history.mayBeProcessed {
            self.end(.failed(.mayBeProcessed))
            return self.takeActions()
        }
        switch self.destination {
        case .file:
            if self.history.target == nil, !self.name.isGivenByUser { self.noteReplacedName() }
            self.survey()
        case .stream, .memory: self.beginStream(now)
        }
        return self.takeActions()
    }

    private mutating func beginStream(_ now: Int64) {
        let position = self.history.stream
        guard position.count > 0 else {
            self.phase = .opening(.awaiting)
            return self.launchFirst(.fetch, now)
        }
        var fetching = Fetching(
            .stream,
            SegmentPlanner(length: position.facts?.length, have: [0..<position.count]),
            facts: position.facts,
            now: now
        )
        fetching.digests = position.serverDigests
        self.resumedFrom = position.count
        let isComplete = fetching.planner.isComplete
        self.phase = .fetching(fetching)
        if isComplete { return self.commit(now) }
        self.launchFirst(.fetch, now)
    }

    // MARK: State

    /// Whether the run has ended; `DownloadAction.end` was returned.
    package var isEnded: Bool { if case .ended = self.phase { true } else { false } }

    /// Whether the file is being verified and named.
    package var isCommitting: Bool { if case .committing = self.phase { true } else { false } }

    /// The file's name, as far as it is known.
    package var target: FileTarget { self.name.target }

    /// The path that events report; empty for a stream.
    package var path: String { self.isStream ? "" : self.name.path }

    /// The facts of the response that the held bytes are from.
    package var facts: ResourceFacts? {
        if case .fetching(let fetching) = self.phase { fetching.facts?.value } else { nil }
    }

    /// Whether the bytes go to a sink or to memory.
    package var isStream: Bool { self.destination != .file }

    /// Whether a request is part of the run, and so must be sent.
    package func contains(_ number: DownloadAction.RequestNumber) -> Bool {
        self.requests.contains { $0.number == number }
    }

    /// Whether to continue reading a response after its event was handled.
    package func reading(_ number: DownloadAction.RequestNumber) -> ReadDecision {
        guard let index = self.index(of: number) else { return .close }
        if self.requests[index].isResponseOver { return .close }
        return self.requests[index].isPaused ? .pause : .read
    }

    /// The number of requests in flight, among which a rate limit is divided.
    package var requestCount: Int { self.requests.count }

    /// The number of bytes present, and the whole length if known.
    package var position: (bytes: Int64, total: Int64?) {
        switch self.phase {
        case .small(let small): (small.received, small.length)
        case .fetching(let fetching): (fetching.planner.completed, fetching.planner.length)
        case .committing(let committing): (committing.length, committing.length)
        case .locating, .opening, .ended, .borrowed: (0, nil)
        }
    }

    func index(of number: DownloadAction.RequestNumber) -> Int? {
        self.requests.firstIndex { $0.number == number }
    }

    /// The data of the fetching phase, changed in place; the accessor allocates, so the byte path does not use it.
    var fetching: Fetching? {
        get { if case .fetching(let fetching) = self.phase { fetching } else { nil } }
        _modify {
            guard self.isFetching, case .fetching(let current) = self.takePhase() else {
                var none: Fetching?
                yield &none
                return
            }
            var fetching: Fetching? = current
            defer { if let fetching { self.phase = .fetching(fetching) } }
            yield &fetching
        }
    }

    private final class Constant: Sendable {
        let terms: DownloadTerms
        init(_ terms: consuming DownloadTerms) { self.terms = terms }
    }

    var isFetching: Bool { if case .fetching = self.phase { true } else { false } }

    /// Takes the phase out, to move its data; the caller sets the next one.
    mutating func takePhase() -> Phase {
        var taken = Phase.borrowed
        swap(&taken, &self.phase)
        return taken
    }

    mutating func note(_ text: String) { self.emit(.note(text)) }

    /// Reports a fact that the user has to know.
    mutating func warn(_ text: String) { self.emit(.warn(text)) }
}
