// SPDX-License-Identifier: Apache-2.0
/// Whether transfers of one host may start, based on the failures and successes of its transfers.
///
/// There are two reasons to hold a host. In an *outage* it is unreachable: its transfers wait, one of them at a time
/// probes it, and the first sign of life ends the outage. It is *throttled* while at least two different transfers were
/// requested to retry later.
///
/// Pure value: times are nanoseconds of a monotonic clock, transfers are plain numbers.
package struct HostHealth: Hashable, Sendable {
    /// A time during which a host, or the network, is unreachable.
    package struct Outage: Hashable, Sendable {
        /// The time of the first failure.
        package let since: Int64
        /// The last failure.
        package internal(set) var cause: OutageCause
        /// The message of the last failure.
        package internal(set) var message: String
        /// The number of failed attempts.
        package internal(set) var failures = 1
        /// The time of the next attempt, unless one is in progress.
        package internal(set) var nextProbe: Int64
        /// The time of the last failed attempt.
        package internal(set) var lastFailure: Int64
        /// The transfer that is making an attempt for all.
        package internal(set) var prober: UInt64?
        /// A failed attempt was made for every transfer with a number up to this one.
        package internal(set) var served: UInt64
        /// The number that ``served`` becomes if the current attempt fails.
        private var probed: UInt64 = 0

        init(since: Int64, _ cause: OutageCause, _ message: String, served: UInt64, jitter: Double) {
            self.since = since
            self.cause = cause
            self.message = message
            self.served = served
            self.lastFailure = since
            self.nextProbe = since + Self.delay(after: 1, jitter: jitter)
        }

        /// Attempts are made at increasing intervals: 1 s doubled up to 60 s, minus up to a quarter.
        static func delay(after failures: Int, jitter: Double) -> Int64 {
            let ceiling = min(Self.firstDelay << Int64(min(max(failures - 1, 0), 6)), Self.longestDelay)
            return ceiling - Int64(Double(ceiling / 4) * min(max(jitter, 0), 1))
        }

        mutating func probeStarted(by transfer: UInt64, for number: UInt64) {
            self.prober = transfer
            self.probed = number
        }

        /// The attempt produced no evidence: another one may be made immediately.
        mutating func probeAbandoned(by transfer: UInt64) {
            if self.prober == transfer { self.prober = nil }
        }

        mutating func probeFailed(_ failure: HostFailure, now: Int64) {
            self.cause = failure.cause
            self.message = failure.message
            self.failures += 1
            self.lastFailure = now
            self.prober = nil
            self.served = max(self.served, self.probed)
            var next = now + Self.delay(after: self.failures, jitter: failure.jitter)
            // The last attempt before a transfer gives up is made when its timeout expires, not earlier.
            let end = failure.end(from: self.since)
            if end > now { next = min(next, end) }
            self.nextProbe = next
        }

        /// The delay before the second attempt, and the minimum between any two, in nanoseconds.
        package static let firstDelay: Int64 = 1_000_000_000
        /// The maximum time between two attempts, in nanoseconds.
        package static let longestDelay: Int64 = 60_000_000_000
    }

    /// A failure that is evidence of an outage.
    package struct HostFailure: Sendable {
        /// The kind of failure.
        package var cause: OutageCause
        /// A message for the user.
        package var message: String
        /// The transfer concerned.
        package var transfer: UInt64
        /// The outage timeout of this transfer, in nanoseconds.
        package var timeout: Int64
        /// A random number from 0 to 1.
        package var jitter: Double

        /// Creates the facts.
        package init(_ cause: OutageCause, _ message: String, transfer: UInt64, timeout: Int64, jitter: Double) {
            self.cause = cause
            self.message = message
            self.transfer = transfer
            self.timeout = timeout
            self.jitter = jitter
        }

        /// The time at which the transfer gives up in an outage that started at a time; `Int64.max` if it never does.
        func end(from start: Int64) -> Int64 {
            let (end, isOverflow) = start.addingReportingOverflow(self.timeout)
            return isOverflow ? .max : end
        }
    }

    /// Whether a transfer may start.
    package enum Permission: Hashable, Sendable {
        /// It may start.
        case free
        /// One may start, to find out whether the host is reachable again.
        case probe
        /// None may start before a time, or before an attempt has ended.
        case held(until: Int64?)
    }

    private struct Throttle: Hashable, Sendable {
        var transfer: UInt64
        var until: Int64
    }

    /// The outage, if there is one.
    package private(set) var outage: Outage?
    /// The message of the last request to retry later.
    package private(set) var throttleMessage = ""
    /// The time since which the host is throttled; valid only while it is.
    package private(set) var throttledSince: Int64 = 0
    /// The transfers that were requested to retry later, the longest delay first.
    private var throttles: [Throttle] = []
    /// Transfers whose connections broke before a response, since the host last responded.
    private var broken: [UInt64] = []

    /// Creates the health of an unknown host.
    package init() {}

    /// Whether an event could clear anything.
    package var isSuspect: Bool { self.outage != nil || !self.broken.isEmpty }

    /// Whether a transfer may start at a time.
    package func permission(at now: Int64) -> Permission {
        if let until = self.throttledUntil, until > now { return .held(until: until) }
        guard let outage = self.outage else { return .free }
        if outage.prober != nil { return .held(until: nil) }
        return outage.nextProbe > now ? .held(until: outage.nextProbe) : .probe
    }

    // MARK: Outages

    /// A transfer without a response failed in a way that is evidence of an outage.
    ///
    /// A connection that cannot be made is immediate evidence. One that breaks is evidence only if connections of two
    /// different transfers broke since the last response: otherwise a single resource may be the cause.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - now: The time.
    /// - Returns: Whether there is an outage, which the transfer waits out.
    package mutating func failed(_ failure: HostFailure, now: Int64) -> Bool {
        if let outage = self.outage {
            // Other attempts were in progress when the outage started; they provide no new information.
            if outage.prober == failure.transfer { self.outage?.probeFailed(failure, now: now) }
            return true
        }
        if failure.cause == .broken {
            if !self.broken.contains(failure.transfer) { self.broken.append(failure.transfer) }
            guard self.broken.count > 1 else { return false }
        }
        self.broken = []
        self.outage = Outage(
            since: now,
            failure.cause,
            failure.message,
            served: failure.transfer,
            jitter: failure.jitter
        )
        if failure.timeout > 0, let next = self.outage?.nextProbe {
            self.outage?.nextProbe = min(next, failure.end(from: now))
        }
        return true
    }

    /// The host responded.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func responded() -> Outage? {
        guard self.isSuspect else { return nil }
        self.broken = []
        defer { self.outage = nil }
        return self.outage
    }

    /// A connection to the host was made, which ends an outage in which that was impossible.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func connected() -> Outage? {
        guard let outage = self.outage, outage.cause != .broken else { return nil }
        self.outage = nil
        return outage
    }

    /// A transfer starts in order to probe the host.
    ///
    /// - Parameters:
    ///   - transfer: The transfer.
    ///   - number: The highest number of a transfer that the attempt is made for.
    package mutating func probeStarted(by transfer: UInt64, for number: UInt64) {
        self.outage?.probeStarted(by: transfer, for: number)
    }

    /// The transfer that probed ended without evidence.
    package mutating func probeAbandoned(by transfer: UInt64) { self.outage?.probeAbandoned(by: transfer) }

    /// Another attempt is worthwhile earlier than planned.
    package mutating func probe(at time: Int64) {
        guard let outage = self.outage, outage.prober == nil, outage.nextProbe > time else { return }
        self.outage?.nextProbe = time
    }

    // MARK: Throttling

    /// The end of the delay requested from at least two transfers.
    package var throttledUntil: Int64? { self.throttles.count > 1 ? self.throttles[1].until : nil }

    /// A transfer was requested to retry later (429, 503).
    ///
    /// - Returns: Whether the host is throttled now and was not before.
    package mutating func throttled(_ transfer: UInt64, until time: Int64, _ message: String, now: Int64) -> Bool {
        self.throttles.removeAll { $0.until <= now || $0.transfer == transfer }
        let wasHeld = self.throttles.count > 1
        let place = self.throttles.firstIndex { $0.until < time } ?? self.throttles.count
        self.throttles.insert(Throttle(transfer: transfer, until: time), at: place)
        if self.throttles.count > Self.throttlesKept { self.throttles.removeLast() }
        self.throttleMessage = message
        guard !wasHeld, self.throttles.count > 1 else { return false }
        self.throttledSince = now
        return true
    }

    /// A transfer that was requested to retry later no longer exists, so its delay does not count.
    ///
    /// - Returns: Whether that released the host.
    package mutating func forgetThrottle(of transfer: UInt64) -> Bool {
        guard let place = self.throttles.firstIndex(where: { $0.transfer == transfer }) else { return false }
        let wasHeld = self.throttles.count > 1
        self.throttles.remove(at: place)
        return wasHeld && self.throttles.count < 2
    }

    private static let throttlesKept = 16

    /// Resets everything: a user knows that the host is reachable again.
    package mutating func release() { self = HostHealth() }
}

/// The kind of an outage.
package enum OutageCause: String, Hashable, Sendable, CaseIterable {
    /// The host refuses connections.
    case refused
    /// The host cannot be routed to, or the network is down.
    case unreachable
    /// No name server responds.
    case resolver
    /// Connecting times out.
    case timeout
    /// Connections cannot be made for another reason.
    case connect
    /// Connections break before any response.
    case broken

    /// Whether other hosts are likely to fail as well.
    package var concernsNetwork: Bool { self == .unreachable || self == .resolver }

    /// The code of the failure of a transfer that was given up in such an outage.
    package var code: TransferFailure.Code {
        switch self {
        case .refused: .connectionRefused
        case .unreachable: .hostUnreachable
        case .resolver: .nameResolution
        case .timeout: .timeout
        case .connect: .network
        case .broken: .connectionReset
        }
    }

    /// A short description of the cause.
    package var words: String {
        switch self {
        case .refused: "connection refused"
        case .unreachable: "no route to the host"
        case .resolver: "no name server responds"
        case .timeout: "connecting timed out"
        case .connect: "cannot connect"
        case .broken: "connections are reset"
        }
    }
}

/// Evidence of an outage in a failure.
package struct OutageEvidence: Hashable, Sendable {
    /// The kind of failure.
    package var cause: OutageCause
    /// The host, or the proxy, to which the connection was to be made; `nil` if unknown.
    package var peer: Origin?

    /// Creates evidence.
    package init(_ cause: OutageCause, peer: Origin? = nil) {
        self.cause = cause
        self.peer = peer
    }
}
