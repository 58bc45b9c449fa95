// SPDX-License-Identifier: Apache-2.0
/// Whether the whole network is unavailable: then hosts are not probed one by one.
///
/// Pure value: times are nanoseconds of a monotonic clock.
package struct NetworkHealth: Hashable, Sendable {
    /// The minimum number of unreachable hosts, with no response from any other host in between.
    package static let hostsConcerned = 3

    /// The outage, if there is one.
    package private(set) var outage: HostHealth.Outage?
    /// Whether only name resolution is affected, because no name server responds.
    private var isResolver = true
    private var suspects: [Origin] = []
    private var firstFailure: Int64 = 0

    /// Creates the health of an unknown network.
    package init() {}

    /// Whether an event could clear anything.
    package var isSuspect: Bool { !self.suspects.isEmpty }

    /// Whether an outage of the network concerns a host.
    package func concerns(_ origin: Origin) -> Bool {
        guard self.outage != nil else { return false }
        return !origin.isLoopback && !(self.isResolver && origin.isAddress)
    }

    /// A host could not be reached.
    ///
    /// - Returns: Whether the network is held now and was not before.
    package mutating func failed(
        _ origin: Origin,
        _ failure: HostHealth.HostFailure,
        now: Int64
    ) -> Bool {
        if let outage = self.outage {
            if outage.prober == failure.transfer { self.outage?.probeFailed(failure, now: now) }
            if failure.cause == .unreachable { self.isResolver = false }
            return false
        }
        guard failure.cause.concernsNetwork, !origin.isLoopback else { return false }
        if self.suspects.isEmpty {
            self.firstFailure = now
            self.isResolver = true
        }
        if failure.cause == .unreachable { self.isResolver = false }
        if !self.suspects.contains(origin) { self.suspects.append(origin) }
        guard self.suspects.count >= Self.hostsConcerned else { return false }
        var outage = HostHealth.Outage(
            since: self.firstFailure,
            now: self.firstFailure,
            failure.cause,
            failure.message,
            served: 0,
            jitter: failure.jitter
        )
        outage.nextProbe = now + HostHealth.Outage.delay(after: 1, failure.cause, jitter: failure.jitter)
        self.outage = outage
        return true
    }

    /// A host other than this one responded, refused a connection, or was resolved.
    ///
    /// - Returns: The outage that ended with it.
    @discardableResult
    package mutating func responded() -> HostHealth.Outage? {
        guard self.isSuspect else { return nil }
        self.suspects = []
        defer { self.outage = nil }
        return self.outage
    }

    /// A transfer starts in order to probe the network.
    package mutating func probeStarted(by transfer: UInt64, for number: UInt64) {
        self.outage?.probeStarted(by: transfer, for: number)
    }

    /// The transfer that probed ended without evidence.
    package mutating func probeAbandoned(by transfer: UInt64) { self.outage?.probeAbandoned(by: transfer) }

    /// Forgets everything.
    package mutating func release() { self = NetworkHealth() }
}

extension Origin {
    /// Whether it is this machine, which an outage of the network does not affect.
    package var isLoopback: Bool {
        self.host == "localhost" || self.host == "::1" || (self.isAddress && self.host.hasPrefix("127."))
    }

    /// Whether the host is an address, which requires no name server.
    package var isAddress: Bool {
        self.host.utf8.contains(UInt8(ascii: ":"))
            || self.host.utf8.allSatisfy {
                $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            }
    }
}
