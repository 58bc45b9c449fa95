// SPDX-License-Identifier: Apache-2.0
/// Whether transfers of one host may start, based on the failures and successes of its transfers.
///
/// There are two reasons to hold a host. In an *outage* it is unreachable, or responds to different transfers with
/// nothing but errors: its transfers wait, one of them at a time probes it, and the first sign of life ends the outage.
/// It is *throttled* while at least two different transfers were requested to retry later.
///
/// Pure value: times are nanoseconds of a monotonic clock, transfers are plain numbers.
package struct HostHealth: Hashable, Sendable {
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
    /// The last responses that report an outage, of transfers with different URLs, without another response since.
    private var complaints: [Complaint] = []
    /// The outages that ended within a minute of the next one, and the time of the last failure in them.
    private var relapses = 0
    private var lastRelapse: Int64 = 0
    /// Whether the host has ever sent a response that does not report an outage.
    package private(set) var hasServed = false

    /// The start of an outage that was forgotten without a response: the next one continues it.
    private var forgottenSince: Int64?

    private struct Complaint: Hashable, Sendable {
        var transfer: UInt64
        var resource: Int
        var time: Int64
    }

    /// The number of transfers with different URLs whose responses are evidence of an outage.
    package static let complaintsConcerned = 3
    /// The number that is needed now: a host that fails the first requests for each URL is not held after every success.
    ///
    /// - Parameter transfers: The number of unfinished transfers of the host, a quarter of which is always enough.
    /// - Returns: The number.
    package func complaintsNeeded(among transfers: Int) -> Int {
        min(Self.complaintsConcerned << self.relapses, max(Self.complaintsConcerned, transfers / 4))
    }
    private static let mostRelapses = 5
    private static let relapsePeriod: Int64 = 60_000_000_000
    /// The time within which they must arrive, in nanoseconds.
    package static let complaintPeriod: Int64 = 10_000_000_000

    /// Creates the health of an unknown host.
    package init() {}

    /// Whether an event could clear anything.
    package var isSuspect: Bool { self.outage != nil || !self.broken.isEmpty || !self.complaints.isEmpty }
    /// Whether the last responses report an outage, but are not enough evidence for one.
    package var isDoubted: Bool { self.outage == nil && !self.complaints.isEmpty }

    /// The number of these responses.
    package var complaintCount: Int { self.complaints.count }

    /// Whether a transfer may start at a time.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isProxy: Whether the host is only a proxy for the transfer, so that its own responses do not matter.
    /// - Returns: The permission.
    package func permission(at now: Int64, isProxy: Bool = false) -> Permission {
        if !isProxy, let until = self.throttledUntil, until > now { return .held(until: until) }
        guard let outage = self.outage, !(isProxy && outage.cause == .errors) else { return .free }
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
            if outage.prober == failure.transfer {
                self.outage?.probeFailed(failure, now: now)
            } else if outage.cause.acceptsConnections, !failure.cause.acceptsConnections {
                self.outage?.cause = failure.cause
                self.outage?.message = failure.message
            }
            return true
        }
        if failure.cause == .errors, !failure.concernsHost, !self.complain(failure, now) { return false }
        if failure.cause == .broken {
            if !self.broken.contains(failure.transfer) { self.broken.append(failure.transfer) }
            guard self.broken.count > 1 else { return false }
        }
        self.broken = []
        self.outage = Outage(
            since: self.forgottenSince ?? now,
            now: now,
            failure.cause,
            failure.message,
            served: failure.transfer,
            jitter: failure.jitter
        )
        if self.outage?.waitAsAsked(failure, now) == true { return true }
        if failure.timeout > 0, let next = self.outage?.nextProbe {
            self.outage?.nextProbe = min(next, failure.end(from: now))
        }
        return true
    }

    /// Records a response that reports an outage.
    ///
    /// - Returns: Whether it is enough evidence with the earlier ones.
    private mutating func complain(_ failure: HostFailure, _ now: Int64) -> Bool {
        self.complaints.removeAll {
            now - $0.time > Self.complaintPeriod || $0.transfer == failure.transfer || $0.resource == failure.resource
        }
        if now - self.lastRelapse > Self.relapsePeriod { self.relapses = 0 }
        self.complaints.append(Complaint(transfer: failure.transfer, resource: failure.resource, time: now))
        return self.complaints.count >= self.complaintsNeeded(among: failure.transfers)
    }

    /// Takes the transfers whose responses were evidence of the outage that has just started.
    package mutating func takeComplainants() -> [UInt64] {
        defer { self.complaints = [] }
        return self.complaints.map(\.transfer)
    }

    /// The host responded.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func responded() -> Outage? {
        self.hasServed = true
        self.forgottenSince = nil
        guard self.isSuspect else { return nil }
        self.broken = []
        self.complaints = []
        defer { self.outage = nil }
        return self.outage
    }

    /// The host responded, if only with an error.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func answered() -> Outage? {
        self.broken = []
        guard let outage = self.outage, outage.cause != .errors else { return nil }
        self.outage = nil
        return outage
    }

    /// The host sent a final response that does not report an outage, which ends an outage that responses reported.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func served() -> Outage? {
        self.hasServed = true
        self.forgottenSince = nil
        guard self.isSuspect else { return nil }
        self.complaints = []
        guard let outage = self.outage, outage.cause == .errors else { return nil }
        self.outage = nil
        self.relapses = min(self.relapses + 1, Self.mostRelapses)
        self.lastRelapse = outage.lastFailure
        return outage
    }

    /// No transfer may probe the host any more, so that the outage's end would not be noticed.
    ///
    /// - Returns: The outage that is forgotten.
    package mutating func forgetOutage() -> Outage? {
        defer { self.outage = nil }
        self.forgottenSince = self.outage?.since
        return self.outage
    }

    /// A connection to the host was made, which ends an outage in which that was impossible.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func connected() -> Outage? {
        guard let outage = self.outage, !outage.cause.acceptsConnections else { return nil }
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
