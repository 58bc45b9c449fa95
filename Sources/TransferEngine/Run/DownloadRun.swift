// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Drives one run of a download: passes events to its ``DownloadMachine`` and performs the resulting actions.
///
/// Events arrive from the event loops, the pool and the clock. Each is passed to the machine under the lock; actions
/// are performed after the unlock. No other object is called under the lock.
final class DownloadRun: TransferRun {
    let host: any RunHost
    let transport: any Transport
    let time: any TimeSource
    let store: any FileStore
    let events: EventHub
    let transfer: Transfer
    let download: Transfer.Download
    let lane: Int
    let startedAt: Int64
    private let isProbe: Bool
    /// The host at which the run was admitted.
    private let slot: Origin
    let state: Mutex<State>
    /// Held while facts are recorded, so that they are recorded in the order of their events.
    let recording = Mutex(())

    struct State: ~Copyable, Sendable {
        var machine: DownloadMachine
        var file = RunFile.none
        var exchanges: [DownloadExchange] = []
        /// The number of events whose actions are being performed; the end is reported after the last of them.
        var performers = 0
        /// Whether a response was received, and whether that was reported to the engine.
        var response = FirstResponse.none
        /// Whether a note was made that a request must not be repeated.
        var isNoted = false
        /// Runs the blocking operations, one at a time; most small files need none.
        var line: OperationLine?
        /// The outcome, from when everything is closed until it is reported.
        var outcome: RunOutcome?

        /// Takes the outcome if it can be reported: once, and after all actions.
        mutating func takeOutcome() -> RunOutcome? {
            guard self.performers == 0 else { return nil }
            defer { self.outcome = nil }
            return self.outcome
        }
    }

    init(
        host: any RunHost,
        transfer: Transfer,
        download: Transfer.Download,
        lane: Int,
        now: Int64,
        earlier: EarlierRuns
    ) {
        self.host = host
        self.transport = host.transport
        self.time = host.time
        self.store = host.store
        self.events = host.events
        self.transfer = transfer
        self.download = download
        self.lane = lane
        self.startedAt = now
        self.isProbe = earlier.isProbe
        self.slot = earlier.host
        self.state = Mutex(
            State(
                machine: DownloadMachine(
                    download.request.terms(
                        asksForWhole: transfer.asksForWhole,
                        laneCount: host.transport.laneCount
                    ),
                    history: transfer.memory.withLock { $0.download },
                    reserved: transfer.reserved,
                    base: transfer.baseName,
                    isNamedByUser: transfer.isNamedByUser,
                    slot: earlier.host,
                    lane: lane,
                    activeTime: earlier.activeTime,
                    received: earlier.received,
                    now: now
                )
            )
        )
    }

    /// The options, shared with other runs; single ones are read from here, because a copy of all of them is large.
    var shared: SharedOptions { self.download.request.shared }
    var policy: (any TransferPolicy)? { self.download.request.policy }
    var now: Int64 { self.time.now }

    /// Runs this run's blocking operations, one at a time.
    var line: OperationLine {
        self.state.withLock { state in
            if let line = state.line { return line }
            let line = OperationLine(on: self.host.pool)
            state.line = line
            return line
        }
    }

    /// Whether a blocking operation is running or waiting.
    var isLineBusy: Bool { self.state.withLock { $0.line }?.isBusy ?? false }

    // MARK: The engine's calls

    var tally: RunTally {
        self.state.withLock { state in
            let received = state.machine.received
            return RunTally(received: received, hasAdvanced: received > 0, kept: state.machine.kept)
        }
    }

    var position: (bytes: Int64, total: Int64?) { self.state.withLock { $0.machine.position } }

    func begin() { self.handle { $0.began(self.now) } }

    func stopAfterRequest() { self.handle { $0.stoppedAfterRequest() } }

    func interrupt(_ outcome: RunOutcome) { self.handle { $0.interrupted(outcome) } }

    func yieldConnection(_ origin: Origin) { self.handle { $0.yieldRequested(origin) } }

    func tick(_ now: Int64) {
        let isThrottling = self.host.isThrottling
        let wantsProgress = self.events.wants(.progress)
        if let status = self.state.withLock({ $0.response.report() }) {
            self.host.hostResponds(to: self.transfer.id, status: status)
        }
        let floor = self.transfer.memory.withLock { $0.speedFloor }
        self.handle { $0.ticked(now, isThrottling: isThrottling, floor: floor, wantsProgress: wantsProgress) }
        if isThrottling { self.adjustReadQuanta() }
    }

    private func adjustReadQuanta() {
        let exchanges = self.state.withLock { $0.exchanges }
        for exchange in exchanges {
            let quantum = self.host.readQuantum(for: self.transfer, attempts: exchanges.count)
            self.transport.execute(onLane: exchange.lane) { exchange.setReadQuantum(quantum) }
        }
    }

    // MARK: Events

    /// Passes an event to the machine and performs the resulting actions.
    func handle(_ event: (inout DownloadMachine) -> [DownloadAction]) {
        let actions = self.state.withLock { state in
            let actions = event(&state.machine)
            if !actions.isEmpty { state.performers += 1 }
            return actions
        }
        if !actions.isEmpty { self.performAll(consume actions) }
    }

    /// Performs the actions of an event that was counted as a performer.
    func performAll(_ actions: consuming [DownloadAction]) {
        var left = consume actions
        self.perform(&left)
        let outcome: RunOutcome? = self.state.withLock { state in
            state.machine.reuse(&left)
            state.performers -= 1
            return state.takeOutcome()
        }
        if let outcome { self.host.runEnded(self, outcome) }
    }

    /// Passes an event to the machine; the caller performs the resulting actions.
    func report(_ event: (inout DownloadMachine) -> [DownloadAction]) -> [DownloadAction] {
        self.state.withLock { event(&$0.machine) }
    }

    func reading(_ exchange: DownloadExchange) -> ReadDecision {
        self.state.withLock { $0.machine.reading(exchange.number) }
    }

    func connected(_ exchange: DownloadExchange) {
        let now = self.now
        self.state.withLock { $0.machine.connected(exchange.number, now) }
        if self.isProbe { self.host.hostReached(by: self.transfer.id, status: nil) }
    }

    func uses(_ connection: ConnectionReport, for exchange: DownloadExchange) {
        self.policy?.uses(connection, for: self.requestFacts(exchange.plan))
    }

    func received(_ head: ResponseHead, on exchange: DownloadExchange) -> ReadDecision {
        if exchange.isClosed { return .close }
        // Of several sources, the first one requested may be on another host.
        let isOwn = self.download.request.sources.count == 1 || exchange.plan.origin == self.slot
        self.state.withLock { $0.response.received(status: isOwn ? head.status : 0) }
        if self.isProbe, isOwn { self.host.hostReached(by: self.transfer.id, status: head.status) }
        if let policy = self.policy { policy.received(head, to: self.requestFacts(exchange.plan)) }
        self.shared.options.cookies?.receive(of: head, from: exchange.plan.flow.url)
        let (now, wallNow) = (self.now, self.time.wallNow)
        let hasCredentials = exchange.hasCredentials
        self.handle {
            $0.headReceived(head, exchange.number, now, wallNow: wallNow, hasCredentials: hasCredentials)
        }
        return exchange.isClosed ? .close : self.reading(exchange)
    }

    func responseEnded(_ exchange: DownloadExchange, trailers: HeaderFields, cleanly: Bool) {
        let now = self.now
        self.handle { $0.responseEnded(exchange.number, trailers: trailers, cleanly: cleanly, now) }
    }

    func exchangeFailed(_ exchange: DownloadExchange, _ error: TransportError) {
        let now = self.now
        self.handle { $0.requestFailed(TransferFailure(error), exchange.number, now) }
    }
}

extension DownloadRequest {
    /// The terms of a run: those of the options, completed by the request's own.
    func terms(asksForWhole: Bool, laneCount: Int) -> DownloadTerms {
        var terms = self.shared.runTerms()
        terms.sources = self.sources
        terms.method = self.method
        terms.asksForWhole = asksForWhole
        terms.isConditional = !self.conditions.isEmpty
        terms.expected = self.expected
        terms.nameIsExact = self.nameIsExact
        terms.namesByFinalURL = self.namesByFinalURL
        terms.mark = self.mark
        terms.requests.hasPolicy = self.policy != nil
        terms.laneCount = laneCount
        return terms
    }
}

extension DownloadTerms {
    /// The terms that follow from options; without sources.
    init(_ options: DownloadOptions) {
        self.init(sources: [])
        self.destination =
            switch options.destination {
            case .file: .file
            case .stream: .stream
            case .memory(let receiver): .memory(keepsBytes: receiver.keepsBytes)
            }
        self.ifExists = options.ifExists
        self.ifRunning = options.ifRunning
        self.connections = options.connections
        self.minimumSplit = options.minimumSplit
        self.requests = options.requestTerms()
        if self.destination == .file { self.requests.acceptsAnyStatus = false }
        self.durable = options.durable
        self.reportDigest = options.reportDigest
        self.keepBad = options.keepBad
        self.hasRefresher = options.refresher != nil
    }
}

extension Duration {
    /// The duration in whole nanoseconds, clamped to the range of `Int64`.
    var inNanoseconds: Int64 {
        if self == .zero { return 0 }
        let (seconds, attoseconds) = self.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? Int64.max / 2 : product &+ attoseconds / 1_000_000_000
    }
}
