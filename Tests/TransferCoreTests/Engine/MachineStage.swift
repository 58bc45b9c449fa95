// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// An ``EngineMachine`` with a clock, and short ways to feed it events.
struct MachineStage {
    var machine: EngineMachine
    var now: Int64 = 0
    /// The transfers that were reported as failed because an outage lasted too long.
    private var expired: [UInt64] = []
    private var wakeUps: [Int64] = []
    /// The time of the next timer.
    var wakeUp: Int64? { self.wakeUps.filter { $0 > self.now }.min() }

    init(limit: Int = 10, perHost: Int? = nil, lanes: Int = 1, starts: Bool = true) {
        self.machine = EngineMachine(limit: limit, connectionsPerHost: perHost, lanes: lanes)
        if starts { self.machine.start() }
    }

    static func origin(_ host: String) -> Origin { Origin(scheme: .http, host: host, port: 80) }

    @discardableResult
    mutating func add(
        _ host: String = "a",
        priority: Priority = .normal,
        fixed: Int? = nil,
        retries: Int = 0,
        isDurable: Bool = false,
        patience: Int64? = nil,
        _ change: (inout EngineMachine.Terms) -> Void = { _ in }
    ) -> TransferID {
        var terms = EngineMachine.Terms(origin: Self.origin(host))
        terms.priority = priority
        terms.fixedConnections = fixed
        terms.retries = retries
        terms.isDurable = isDurable
        terms.outageTimeout = patience
        change(&terms)
        return self.machine.add(terms)
    }

    /// All steps that follow, but those about timers.
    @discardableResult
    mutating func steps(lane: Int? = nil) -> [EngineMachine.Step] {
        var steps: [EngineMachine.Step] = []
        while true {
            let step = self.machine.next(now: self.now, lane: lane)
            switch step {
            case .none: return steps
            case .startTicking: break
            case .wake(let time): self.wakeUps.append(time)
            case .expire(let id, _):
                self.expired.append(id.rawValue)
                steps.append(step)
            default: steps.append(step)
            }
        }
    }

    /// The transfers that start now, by their numbers.
    @discardableResult
    mutating func starts() -> [UInt64] {
        self.steps().compactMap { if case .start(let id, _) = $0 { id.rawValue } else { nil } }
    }

    /// The transfers that failed by now because an outage lasted too long, once.
    mutating func expirations() -> [UInt64] {
        self.steps()
        defer { self.expired = [] }
        return self.expired
    }

    /// The first transfer that starts now; the others stay in line.
    mutating func start() -> UInt64? {
        while true {
            switch self.machine.next(now: self.now) {
            case .start(let id, _): return id.rawValue
            case .none: return nil
            default: break
            }
        }
    }

    /// Takes further connections until one is refused.
    ///
    /// - Returns: The connections taken.
    @discardableResult
    mutating func acquire(_ host: String = "a", for id: UInt64, atMost count: Int = 100) -> Int {
        for taken in 0..<count {
            let isGranted = self.machine.acquireConnection(Self.origin(host), for: TransferID(id), now: self.now)
            if !isGranted { return taken }
        }
        return count
    }

    mutating func release(_ host: String = "a", of id: UInt64, count: Int = 1) {
        for _ in 0..<count { self.machine.connectionReleased(Self.origin(host), by: TransferID(id)) }
    }

    /// Ends a run that has one connection to its host.
    @discardableResult
    mutating func end(
        _ id: UInt64,
        host: String = "a",
        _ result: EngineMachine.RunResult = .finished(isSkipped: false),
        kept: Int64 = 0,
        hasResponse: Bool = false,
        duration: Int64 = 0
    ) -> EngineMachine.Verdict {
        self.release(host, of: id)
        var tally = EngineMachine.Tally()
        tally.kept = kept
        tally.hasResponse = hasResponse
        tally.duration = duration
        return self.machine.runEnded(TransferID(id), result, tally, now: self.now)
    }

    /// Moves the clock to a time, at which the timer has fired.
    mutating func reach(_ time: Int64) {
        self.now = time
        self.wakeUps.removeAll { $0 <= time }
        self.machine.timeReached(time, now: time)
    }

    func state(_ id: UInt64) -> TransferState? { self.machine.state(of: TransferID(id)) }

    /// The host refuses a connection.
    static let refused = EngineMachine.RunResult.retry(EngineMachine.Failure(OutageEvidence(.refused), jitter: 0))
    /// No route to the host.
    static let unreachable = EngineMachine.RunResult.retry(
        EngineMachine.Failure(OutageEvidence(.unreachable), jitter: 0)
    )
    /// A connection breaks before its response.
    static let cut = EngineMachine.RunResult.retry(EngineMachine.Failure(OutageEvidence(.broken), jitter: 0))
    /// A failure that concerns one transfer alone.
    static let late = EngineMachine.RunResult.retry(EngineMachine.Failure(jitter: 0))

    /// The server asks to come back after so many seconds.
    static func throttled(_ seconds: Int64) -> EngineMachine.RunResult {
        .retry(EngineMachine.Failure(isThrottled: true, message: "429", retryAfter: seconds, jitter: 0))
    }
    /// The first delay without jitter, in nanoseconds.
    static let firstDelay: Int64 = 50_000_000
}
