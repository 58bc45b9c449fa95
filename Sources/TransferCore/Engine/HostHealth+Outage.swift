// SPDX-License-Identifier: Apache-2.0
/// Outages, the failures that are evidence of them, and the permission to start.
extension HostHealth {
    /// A time during which a host, or the network, is unreachable, or a host responds with errors only.
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
        /// The transfer that makes every other attempt, and the number of attempts that failed.
        private var anchor: UInt64?
        private var anchorProbes = 0
        private var probes = 0
        /// The time for which the host itself asked to wait, which does not count as part of the outage.
        package internal(set) var askedTime: Int64 = 0
        /// The number of consecutive attempts after which the host asked to wait.
        private var askedWaits = 0

        /// The transfer that should make the next attempt; `nil` for another one than before.
        ///
        /// One transfer makes every other attempt, because a host may fail the first requests for each URL. The others
        /// are made by different transfers, because it may fail all requests for some URLs.
        var nextProber: UInt64? { self.probes % 2 == 1 ? self.anchor : nil }
        /// The transfer that does not make the next attempt if another one may.
        var avoidedProber: UInt64? { self.probes % 2 == 0 ? self.anchor : nil }

        init(since: Int64, now: Int64, _ cause: OutageCause, _ message: String, served: UInt64, jitter: Double) {
            self.since = since
            self.cause = cause
            self.message = message
            self.served = served
            self.lastFailure = now
            self.nextProbe = now + Self.delay(after: 1, cause, jitter: jitter)
        }

        /// Attempts are made at increasing intervals: 1 s doubled up to 60 s, or to 10 s if the host accepts
        /// connections, minus up to a quarter.
        static func delay(after failures: Int, _ cause: OutageCause, jitter: Double) -> Int64 {
            let longest = cause.acceptsConnections ? Self.longestDelayIfConnected : Self.longestDelay
            let ceiling = min(Self.firstDelay << Int64(min(max(failures - 1, 0), 6)), longest)
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
            if self.anchor == nil || self.probes % 2 == 1 {
                self.anchorProbes = self.anchor == failure.transfer ? self.anchorProbes + 1 : 1
                self.anchor = self.anchorProbes < Self.longestAnchor ? failure.transfer : nil
            }
            self.probes += 1
            if self.waitAsAsked(failure, now) { return }
            var next = now + Self.delay(after: self.failures, failure.cause, jitter: failure.jitter)
            // The last attempt before a transfer gives up is made when its timeout expires, not earlier.
            let end = failure.end(from: self.since + self.askedTime)
            if end > now { next = min(next, end) }
            self.nextProbe = next
        }

        /// Schedules the next attempt for the time that the host asked for, unless it did so too often in a row.
        ///
        /// - Returns: Whether it asked for one.
        mutating func waitAsAsked(_ failure: HostFailure, _ now: Int64) -> Bool {
            guard let asked = failure.asked else {
                self.askedWaits = 0
                return false
            }
            guard self.askedWaits < RetryBudget.longestWaits else { return false }
            self.askedWaits += 1
            let delay = max(asked, min(Self.delay(after: self.failures, failure.cause, jitter: 0), Self.askedDelay))
            self.askedTime += delay
            self.nextProbe = now + delay
            return true
        }

        /// The number of attempts after which another transfer makes every other one.
        private static let longestAnchor = 5
        /// The minimum time between two attempts if the host asks for shorter ones, in nanoseconds.
        private static let askedDelay: Int64 = 3_000_000_000
        /// The delay before the second attempt, and the minimum between any two, in nanoseconds.
        package static let firstDelay: Int64 = 1_000_000_000
        /// The maximum time between two attempts, in nanoseconds.
        package static let longestDelay: Int64 = 60_000_000_000
        /// The same while the host accepts connections: any of its transfers may succeed.
        package static let longestDelayIfConnected: Int64 = 10_000_000_000
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
        /// The delay that the host requested, in nanoseconds.
        package var asked: Int64?
        /// Identifies the transfer's URL, for responses.
        package var resource = 0
        /// Whether a response concerns every transfer of the host, such as that to a request for its `robots.txt`.
        package var concernsHost = false
        /// The number of unfinished transfers of the host.
        package var transfers = 0

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
}
