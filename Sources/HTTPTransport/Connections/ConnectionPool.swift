// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// The idle connections of one event loop; the most recently used one is taken first.
///
/// Pure value: it does not close connections; the caller closes those that it returns.
struct ConnectionPool {
    private var idle: [Route: [ClientConnection]] = [:]
    private let maximumPerHost: Int

    init(maximumPerHost: Int) {
        self.maximumPerHost = max(0, maximumPerHost)
    }

    /// Whether the pool has no entries, not even empty ones.
    var isEmpty: Bool { self.idle.isEmpty }

    /// Takes the most recently used connection over a route.
    mutating func take(_ route: Route) -> ClientConnection? {
        self.idle[route]?.popLast()
    }

    /// Keeps a connection; returns false if the limit is reached.
    mutating func keep(_ connection: ClientConnection) -> Bool {
        Self.append(connection, to: &self.idle[connection.route, default: []], atMost: self.maximumPerHost)
    }

    /// In one access: each looks the route up.
    private static func append(
        _ connection: ClientConnection,
        to idle: inout [ClientConnection],
        atMost limit: Int
    ) -> Bool {
        guard idle.count < limit else { return false }
        idle.append(connection)
        return true
    }

    /// Removes a connection that was closed.
    mutating func remove(_ connection: ClientConnection) {
        self.idle[connection.route]?.removeAll { $0 === connection }
    }

    /// Removes and returns the connections that have been idle since `deadline` or longer.
    mutating func removeAll(idleSince deadline: NIODeadline) -> [ClientConnection] {
        var removed: [ClientConnection] = []
        for (route, connections) in self.idle {
            let kept = connections.filter { $0.idleSince > deadline }
            guard kept.count < connections.count || kept.isEmpty else { continue }
            removed += connections.filter { $0.idleSince <= deadline }
            self.idle[route] = kept.isEmpty ? nil : kept
        }
        return removed
    }
}
