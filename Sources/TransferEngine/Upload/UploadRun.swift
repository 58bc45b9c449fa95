// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization
internal import TransferCore

/// One run of an upload: passes events to an ``UploadMachine`` and performs its actions.
///
/// Events from other threads are moved to the run's event loop. Actions are performed there, too, in order, without
/// the lock. Byte counts of content and responses are passed to the machine directly, under the lock.
final class UploadRun: TransferRun {
    struct State {
        var machine: UploadMachine
        var parts: SourceParts?
        var exchange: Current?
        /// The actions still to be performed.
        var actions = DrainQueue<UploadMachine.Action>()
        /// Whether a response was received, and whether that was reported to the engine.
        var response = FirstResponse.none
        /// The number of bytes sent at the last tick; while it grows, the host responds.
        var lastSent: Int64 = 0
        /// The request whose response is being handled: the returned decision resumes reading or closes the connection.
        var handling: Int?
    }

    /// The running request.
    struct Current: Sendable {
        let request: UploadMachine.OutgoingRequest
        let exchange: any Exchange
    }

    let host: any RunHost
    let transfer: Transfer
    let upload: Transfer.Upload
    let lane: Int
    let startedAt: Int64
    private let isProbe: Bool
    let state: Mutex<State>
    /// Runs blocking operations in order.
    let line: OperationLine

    init(
        host: any RunHost,
        transfer: Transfer,
        upload: Transfer.Upload,
        lane: Int,
        now: Int64,
        earlier: EarlierRuns
    ) {
        self.host = host
        self.transfer = transfer
        self.upload = upload
        self.lane = lane
        self.startedAt = now
        self.isProbe = earlier.isProbe
        var history = transfer.memory.withLock { $0.upload }
        history.sent = earlier.sent
        let machine = UploadMachine(
            upload.request.plan,
            history: history,
            slot: transfer.origin,
            now: now,
            earlierTime: earlier.activeTime,
            earlierReceived: earlier.received
        )
        self.state = Mutex(State(machine: machine))
        self.line = OperationLine(on: host.pool)
    }

    var now: Int64 { self.host.time.now }
    var isEnding: Bool { self.state.withLock { $0.machine.isEnding } }

    var tally: RunTally {
        self.state.withLock { state in
            let machine = state.machine
            return RunTally(
                received: machine.received,
                sent: machine.sent,
                hasAdvanced: machine.hasAdvanced,
                kept: machine.kept,
                mayProbe: machine.length.map { self.upload.request.mayProbe(length: $0) }
            )
        }
    }

    var position: (bytes: Int64, total: Int64?) {
        self.state.withLock { ($0.machine.position, $0.machine.length) }
    }

    // MARK: Events from the engine

    func begin() { self.apply { $0.began() } }

    func stopAfterRequest() { self.applyOnLane { $0.interrupted(by: .stoppedAfterRequest) } }

    func interrupt(_ outcome: RunOutcome) {
        let reason: UploadMachine.Interruption
        switch outcome {
        case .paused: reason = .paused
        case .stopped: reason = .stopped
        case .cancelled(let keeping): reason = .cancelled(keeping: keeping)
        case .finished, .failed, .retry: preconditionFailure("a run is not interrupted by \(outcome)")
        }
        self.applyOnLane { $0.interrupted(by: reason) }
    }

    func tick(_ now: Int64) {
        let (isEnding, parts, status) = self.state.withLock { state in
            if state.machine.sent > state.lastSent, state.lastSent > 0 { state.response.received(status: 0) }
            state.lastSent = state.machine.sent
            return (state.machine.isEnding, state.parts, state.response.report())
        }
        if let status { self.host.hostResponds(to: self.transfer.id, status: status) }
        if isEnding { return }
        let content = parts?.state ?? .unchanged
        let reports = self.host.events.wants(.progress)
        let floor = self.transfer.memory.withLock { $0.speedFloor }
        self.applyOnLane { $0.ticked(now, floor: floor, reports: reports, content: content) }
    }

    func yieldConnection(_ origin: Origin) {}

    // MARK: Events from the transport

    func connected(_ id: Int) {
        let now = self.now
        self.state.withLock { $0.machine.connected(id, now: now) }
        if self.isProbe { self.host.hostReached(by: self.transfer.id, status: nil) }
    }

    func received(interim status: Int, _ fields: HeaderFields, on id: Int) {
        self.apply { $0.interimReceived(status, fields, on: id) }
    }

    func uses(_ connection: ConnectionReport, for request: UploadMachine.OutgoingRequest) {
        self.upload.request.policy?.uses(connection, for: self.facts(of: request))
    }

    func received(
        _ head: ResponseHead,
        on request: UploadMachine.OutgoingRequest,
        hasCredentials: Bool
    ) -> ReadDecision {
        let decision = self.state.withLock { state in
            state.response.received(status: head.status)
            return state.machine.reading(request.id)
        }
        if case .close = decision { return .close }
        if self.isProbe { self.host.hostReached(by: self.transfer.id, status: head.status) }
        self.upload.request.policy?.received(head, to: self.facts(of: request))
        self.upload.request.options.cookies?.receive(of: head, from: request.flow.url)
        let (now, wallNow) = (self.now, self.host.time.wallNow)
        return self.handle(request.id) {
            self.apply {
                $0.headReceived(head, on: request.id, now: now, wallNow: wallNow, hasCredentials: hasCredentials)
            }
        }
    }

    func received(_ body: UnsafeRawBufferPointer, on id: Int) -> ReadDecision {
        let now = self.now
        let (handling, decision) = self.state.withLock { state in
            let handling = state.machine.bodyReceived(body, on: id, now: now)
            return (handling, state.machine.reading(id))
        }
        switch handling {
        case .discard: return decision
        case .perform(let actions): return self.handle(id) { self.apply { _ in actions } }
        case .deliver:
            guard let receiver = self.upload.request.receiver else { return decision }
            do throws(TransferFailure) {
                try receiver.take(body)
                return decision
            } catch {
                return self.handle(id) { self.apply { $0.failed(error) } }
            }
        }
    }

    func responseEnded(_ id: Int) {
        self.forget(id)
        self.apply { $0.responseEnded(id) }
    }

    func requestFailed(_ id: Int, _ error: TransportError, content: TransferFailure?) {
        self.forget(id)
        var content = content
        if error.code == .content, content == nil { content = self.contentFailure }
        self.apply { [content] in $0.requestFailed(id, error, content: content) }
    }

    private var contentFailure: TransferFailure? {
        switch self.state.withLock({ $0.parts })?.state {
        case nil, .unchanged: nil
        case .changed(let failure), .unreadable(let failure): failure
        }
    }

    /// Handles a part of a response, then returns the machine's decision about reading.
    private func handle(_ id: Int, _ body: () -> Void) -> ReadDecision {
        let outer = self.state.withLock { state in
            defer { state.handling = id }
            return state.handling
        }
        body()
        return self.state.withLock { state in
            state.handling = outer
            let decision = state.machine.reading(id)
            if case .close = decision, state.exchange?.request.id == id { state.exchange = nil }
            return decision
        }
    }

    /// Releases the exchange of a request that has ended, because it retains its receiver and so the run.
    private func forget(_ id: Int) {
        self.state.withLock { state in
            if state.exchange?.request.id == id { state.exchange = nil }
        }
    }

    // MARK: Events from the content

    func contentSent(_ count: Int, of id: Int, _ now: Int64) {
        self.state.withLock { $0.machine.contentSent(count, of: id, now: now) }
    }

    func contentHeld(_ isHeld: Bool, of id: Int) {
        let now = self.now
        self.state.withLock { $0.machine.contentHeld(isHeld, of: id, now: now) }
    }

    func contentEnded(at count: Int64, of id: Int) {
        self.state.withLock { $0.machine.contentEnded(at: count, of: id) }
    }

    // MARK: Driving the machine

    /// Passes an event to the machine and performs the actions; on the event loop.
    ///
    /// If an action causes an event, such as a policy's immediate decision, the resulting actions are performed after
    /// those that are pending.
    func apply(_ event: (inout UploadMachine) -> [UploadMachine.Action]) {
        let performs = self.state.withLock { state in
            state.actions.append(contentsOf: event(&state.machine))
            return state.actions.claim()
        }
        guard performs else { return }
        while let actions = self.state.withLock({ $0.actions.next() }) {
            for action in actions { self.perform(action) }
        }
    }

    func applyOnLane(_ event: @escaping @Sendable (inout UploadMachine) -> [UploadMachine.Action]) {
        self.host.transport.execute(onLane: self.lane) { self.apply(event) }
    }
}
