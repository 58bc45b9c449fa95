// SPDX-License-Identifier: Apache-2.0
/// Limits that protect servers, beyond the number of connections to each host.
public struct PolitenessLimits: Hashable, Sendable {
    /// The maximum number of connections to all hosts of a registered domain, such as `example.co.uk`.
    public var connectionsPerDomain: Int?
    /// The minimum time between the starts of two requests to a host, in nanoseconds.
    public var hostInterval: Int64 = 0
    /// The minimum time between the starts of two requests to a registered domain, in nanoseconds.
    public var domainInterval: Int64 = 0
    /// Whether downloads wait for the `robots.txt` of their origin and obey it.
    public var obeysRobots = false
    /// The addresses to which the requests for `robots.txt` are not sent; `nil` if they may be sent to all.
    package var addresses: AddressRule?

    /// Creates no limits.
    public init() {}

    var concernsDomains: Bool { self.connectionsPerDomain != nil || self.domainInterval > 0 }
    var concernsRequests: Bool { self.hostInterval > 0 || self.domainInterval > 0 || self.obeysRobots }
    var isEmpty: Bool { !self.concernsDomains && !self.concernsRequests }
}

/// The registered domains of the known hosts, with their connections and the hosts that wait for one.
struct DomainTable: Sendable {
    /// One registered domain.
    struct Domain: Sendable {
        var name: String
        /// The hosts that refer to it.
        var references = 0
        var connections = 0
        /// The earliest time of the next request.
        var nextStart = Int64.min
        /// The time for which a wake-up is scheduled.
        var wakeUp = Int64.min
        /// The hosts that are out of rotation until a connection is permitted, for each priority class.
        var parked = Priority.allCases.map { _ in FirstInFirstOut<Int>() }

        /// Whether no host waits.
        var isUnwanted: Bool { self.parked.allSatisfy(\.isEmpty) }
    }

    private var domains: [Domain] = []
    private var indices: [String: Int] = [:]
    private var unused: [Int] = []
    /// The domains that may permit a connection to a parked host.
    var wakeable: Set<Int> = []

    subscript(index: Int) -> Domain {
        @inline(__always) _read { yield self.domains[index] }
        @inline(__always) _modify { yield &self.domains[index] }
    }

    /// The number of domains known.
    var count: Int { self.indices.count }

    /// Adds a reference to a domain and returns its number.
    mutating func retain(_ name: String) -> Int {
        if let index = self.indices[name] {
            self.domains[index].references += 1
            return index
        }
        let index = self.unused.popLast() ?? self.domains.count
        var domain = Domain(name: name)
        domain.references = 1
        if index == self.domains.count { self.domains.append(domain) } else { self.domains[index] = domain }
        self.indices[name] = index
        return index
    }

    /// Removes a reference to a domain.
    mutating func release(_ index: Int) {
        self.domains[index].references -= 1
        guard self.domains[index].references == 0 else { return }
        self.indices[self.domains[index].name] = nil
        self.wakeable.remove(index)
        self.unused.append(index)
    }

    /// Removes a connection; a parked host may get it.
    mutating func disconnect(_ index: Int) {
        self.domains[index].connections -= 1
        if !self.domains[index].isUnwanted { self.wakeable.insert(index) }
    }
}
