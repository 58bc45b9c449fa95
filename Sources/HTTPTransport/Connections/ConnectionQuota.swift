// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The maximum numbers of open connections, used and idle ones together.
package struct OpenConnectionLimits: Sendable {
    /// The maximum for a host, or `nil` for no limit.
    package var perHost: Int?
    /// The maximum for the hosts of a registered domain, or `nil` for no limit.
    package var perDomain: Int?
    /// Determines the registered domains; `nil` for the built-in list, which is read only if domains have a limit.
    package var suffixes: PublicSuffixes?

    /// Creates limits.
    package init(perHost: Int? = nil, perDomain: Int? = nil, suffixes: PublicSuffixes? = nil) {
        self.perHost = perHost
        self.perDomain = perDomain
        self.suffixes = suffixes
    }
}

/// Limits the open connections of each host and of each domain.
///
/// A connection counts from the step that opens it until it is closed, whether it is used, idle or being closed. A
/// request that needs another connection waits for room. If only idle connections are in its way, the one that has been
/// idle for the longest time is closed.
///
/// Pure value: each event returns the steps that it causes.
///
/// - Invariant: No group has more open connections than its limit.
/// - Invariant: No request waits while its groups have room, or while an idle connection could be closed for it.
struct ConnectionQuota {
    /// One effect.
    enum Step: Equatable {
        /// Open the connection of this request.
        case open(Int)
        /// Close this connection, which is idle; ``closed(_:)`` follows.
        case close(Int)
    }

    /// Connections that have a common limit.
    private enum Group: Hashable {
        case host(Origin)
        case domain(String)
    }

    private enum Phase {
        case waiting
        case used
        case idle
        case closing
    }

    private struct Connection {
        var groups: [Group]
        var phase = Phase.waiting
    }

    private struct Members {
        let limit: Int
        /// The open connections: used, idle and being closed.
        var open = 0
        var closing = 0
        /// The idle connections; the first one has been idle for the longest time.
        var idle: [Int] = []
        /// The requests that wait, in order.
        var waiting: [Int] = []

        var isUnused: Bool { self.open == 0 && self.waiting.isEmpty }
    }

    private let perHost: Int?
    private let perDomain: Int?
    private var groups: [Group: Members] = [:]
    private var connections: [Int: Connection] = [:]
    private var lastNumber = 0

    /// Creates a quota without connections.
    init(perHost: Int?, perDomain: Int?) {
        self.perHost = perHost.map { max(1, $0) }
        self.perDomain = perDomain.map { max(1, $0) }
    }

    /// The number of connections and waiting requests.
    var count: Int { self.connections.count }

    // MARK: Events

    /// A request needs a new connection.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - domain: Its registered domain; only used if domains have a limit.
    /// - Returns: The number of the connection, and the steps; without its ``Step/open(_:)`` it waits.
    mutating func requested(_ host: Origin, domain: String) -> (number: Int, steps: [Step]) {
        self.lastNumber += 1
        let number = self.lastNumber
        var groups: [Group] = []
        if let limit = self.perHost {
            groups.append(.host(host))
            self.groups[.host(host), default: Members(limit: limit)].waiting.append(number)
        }
        if let limit = self.perDomain {
            groups.append(.domain(domain))
            self.groups[.domain(domain), default: Members(limit: limit)].waiting.append(number)
        }
        self.connections[number] = Connection(groups: groups)
        guard !groups.isEmpty else {
            self.connections[number]?.phase = .used
            return (number, [.open(number)])
        }
        return (number, self.advance(groups))
    }

    /// The waiting request is not needed any more.
    ///
    /// - Returns: False if its connection was opened: then ``closed(_:)`` must follow.
    mutating func withdrawn(_ number: Int) -> Bool {
        guard let connection = self.connections[number], connection.phase == .waiting else { return false }
        for group in connection.groups { self.groups[group]?.waiting.removeAll { $0 == number } }
        self.forget(number, connection.groups)
        return true
    }

    /// The connection is idle, and may be used again.
    mutating func becameIdle(_ number: Int) -> [Step] {
        guard let connection = self.connections[number], connection.phase == .used else { return [] }
        self.connections[number]?.phase = .idle
        for group in connection.groups { self.groups[group]?.idle.append(number) }
        return self.advance(connection.groups)
    }

    /// An idle connection is to be used.
    ///
    /// - Returns: False if it is being closed for another request.
    mutating func taken(_ number: Int) -> Bool {
        guard let connection = self.connections[number], connection.phase == .idle else { return false }
        self.connections[number]?.phase = .used
        for group in connection.groups { self.groups[group]?.idle.removeAll { $0 == number } }
        return true
    }

    /// The connection is closed, or could not be opened.
    mutating func closed(_ number: Int) -> [Step] {
        guard let connection = self.connections[number], connection.phase != .waiting else { return [] }
        for group in connection.groups {
            self.groups[group]?.open -= 1
            if connection.phase == .closing { self.groups[group]?.closing -= 1 }
            if connection.phase == .idle { self.groups[group]?.idle.removeAll { $0 == number } }
        }
        self.forget(number, connection.groups)
        return self.advance(connection.groups)
    }

    // MARK: Decisions

    private mutating func forget(_ number: Int, _ groups: [Group]) {
        self.connections[number] = nil
        for group in groups where self.groups[group]?.isUnused == true { self.groups[group] = nil }
    }

    /// Serves the requests that wait for groups, in order.
    private mutating func advance(_ groups: [Group]) -> [Step] {
        var waiting: Set<Int> = []
        for group in groups { waiting.formUnion(self.groups[group]?.waiting ?? []) }
        guard !waiting.isEmpty else { return [] }
        var steps: [Step] = []
        // The number of closing connections that are reserved for earlier requests.
        var promised: [Group: Int] = [:]
        for number in waiting.sorted() {
            guard let own = self.connections[number]?.groups else { continue }
            if own.allSatisfy({ self.room(in: $0) > 0 }) {
                self.open(number, own)
                steps.append(.open(number))
                continue
            }
            guard let closing = self.closable(for: own, promised) else { continue }
            for one in closing {
                self.close(one)
                steps.append(.close(one))
            }
            for group in own { promised[group, default: 0] += 1 }
        }
        return steps
    }

    private func room(in group: Group) -> Int { self.groups[group].map { $0.limit - $0.open } ?? 0 }

    /// The idle connections to close for a request, none if others are being closed for it already; `nil` if used
    /// connections are in its way.
    private func closable(for own: [Group], _ promised: [Group: Int]) -> [Int]? {
        var chosen: [Int] = []
        for group in own {
            guard let members = self.groups[group] else { continue }
            let freed = chosen.count { self.connections[$0]?.groups.contains(group) == true }
            let expected = members.limit - members.open + members.closing + freed - promised[group, default: 0]
            if expected > 0 { continue }
            guard let idle = members.idle.first(where: { !chosen.contains($0) }) else { return nil }
            chosen.append(idle)
        }
        return chosen
    }

    private mutating func open(_ number: Int, _ own: [Group]) {
        self.connections[number]?.phase = .used
        for group in own {
            self.groups[group]?.waiting.removeAll { $0 == number }
            self.groups[group]?.open += 1
        }
    }

    private mutating func close(_ number: Int) {
        for group in self.connections[number]?.groups ?? [] {
            self.groups[group]?.idle.removeAll { $0 == number }
            self.groups[group]?.closing += 1
        }
        self.connections[number]?.phase = .closing
    }
}
