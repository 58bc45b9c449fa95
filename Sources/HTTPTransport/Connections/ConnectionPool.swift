// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// The idle connections of one event loop; the most recently used one is taken first.
///
/// Pure value: it does not close connections; the caller closes those that it returns.
struct ConnectionPool {
    private var idle: [Route: [ClientConnection]] = [:]
    /// The connections over the route that was used last, which are not in `idle`: most requests are for one route.
    private var last: (route: Route, connections: [ClientConnection])?
    private let maximumPerHost: Int

    init(maximumPerHost: Int) {
        self.maximumPerHost = max(0, maximumPerHost)
    }

    /// Whether the pool has no entries, not even empty ones.
    var isEmpty: Bool { self.idle.isEmpty && self.last == nil }

    /// Takes the most recently used connection over a route.
    mutating func take(_ route: Route) -> ClientConnection? {
        self.turn(to: route)
        return self.last?.connections.popLast()
    }

    /// Keeps a connection; returns false if the limit is reached.
    mutating func keep(_ connection: ClientConnection) -> Bool {
        self.turn(to: connection.route)
        guard (self.last?.connections.count ?? 0) < self.maximumPerHost else { return false }
        self.last?.connections.append(connection)
        return true
    }

    /// Removes a connection that was closed.
    mutating func remove(_ connection: ClientConnection) {
        self.turn(to: connection.route)
        self.last?.connections.removeAll { $0 === connection }
    }

    /// Removes and returns the connections that have been idle since `deadline` or longer.
    mutating func removeAll(idleSince deadline: NIODeadline) -> [ClientConnection] {
        if let last = self.last { self.idle[last.route] = last.connections }
        self.last = nil
        var removed: [ClientConnection] = []
        for (route, connections) in self.idle {
            let kept = connections.filter { $0.idleSince > deadline }
            guard kept.count < connections.count || kept.isEmpty else { continue }
            removed += connections.filter { $0.idleSince <= deadline }
            self.idle[route] = kept.isEmpty ? nil : kept
        }
        return removed
    }

    /// Makes the connections over a route the ones at hand.
    private mutating func turn(to route: Route) {
        if self.last?.route == route { return }
        if let last = self.last, !last.connections.isEmpty { self.idle[last.route] = last.connections }
        self.last = (route, self.idle.removeValue(forKey: route) ?? [])
    }
}
