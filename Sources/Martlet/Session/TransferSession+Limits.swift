// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The limits of a session that can change while it runs.
struct SessionLimits: Sendable {
    var concurrentTransfers: Int
    /// `nil` for the default.
    var connectionsPerHost: Int?
    var rateLimit: Int64?

    init(_ configuration: SessionConfiguration) {
        self.concurrentTransfers = max(1, configuration.concurrentTransfers)
        self.connectionsPerHost = configuration.connectionsPerHost.map { max(1, $0) }
        self.rateLimit = Self.rate(configuration.rateLimit)
    }

    /// A rate of zero or less is no limit.
    static func rate(_ rate: Int64?) -> Int64? { rate.flatMap { $0 > 0 ? $0 : nil } }

    /// The configuration of another engine of the session.
    func applied(to configuration: SessionConfiguration) -> SessionConfiguration {
        var configuration = configuration
        configuration.concurrentTransfers = self.concurrentTransfers
        configuration.connectionsPerHost = self.connectionsPerHost
        configuration.rateLimit = self.rateLimit
        return configuration
    }
}

/// Limits that apply at once when they are set, from any thread.
extension TransferSession {
    /// The maximum number of tasks that run at once, at least 1: a lower value is taken as 1.
    ///
    /// A higher number starts waiting tasks at once. Running tasks beyond a lower number are not interrupted.
    public var concurrentTransfers: Int {
        get { self.limits.withLock { $0.concurrentTransfers } }
        set {
            let count = max(1, newValue)
            self.limits.withLock { $0.concurrentTransfers = count }
            for runner in self.runners { runner.setConcurrentTransfers(count) }
        }
    }

    /// The maximum number of connections per host (scheme, host and port), at least 1: a lower value is taken as 1.
    ///
    /// Unless it is set here or in the configuration, it follows ``concurrentTransfers``, and is at least 4.
    /// Open connections beyond a lower number are used to the end of their transfers.
    public var connectionsPerHost: Int {
        get { self.limits.withLock { $0.connectionsPerHost ?? max(4, $0.concurrentTransfers) } }
        set {
            let count = max(1, newValue)
            self.limits.withLock { $0.connectionsPerHost = count }
            for runner in self.runners { runner.setConnectionsPerHost(count) }
        }
    }

    /// The rate limit of all tasks together in bytes per second; `nil`, and zero or less, for none.
    ///
    /// The ceiling of a ``Discretion`` remains in force.
    public var rateLimit: Int64? {
        get { self.limits.withLock { $0.rateLimit } }
        set {
            let limit = SessionLimits.rate(newValue)
            self.limits.withLock { $0.rateLimit = limit }
            let ceiling = SessionLimits.rate(self.configuration.discretion?.rateCeiling)
            let rate = [limit, ceiling].compactMap(\.self).min()
            for runner in self.runners { runner.setRateLimit(rate) }
        }
    }
}
