internal import NIOCore

/// The unused connections of one lane, the last used taken first.
///
/// Pure value: it closes nothing itself; what it returns is for the lane to close.
struct ConnectionPool {
    private var idle: [Route: [Connection]] = [:]
    private let maximumPerHost: Int

    init(maximumPerHost: Int) {
        self.maximumPerHost = max(0, maximumPerHost)
    }

    /// Whether nothing is kept, not even an empty place.
    var isEmpty: Bool { self.idle.isEmpty }

    /// Takes the connection over a route that was used last.
    mutating func take(_ route: Route) -> Connection? {
        self.idle[route]?.popLast()
    }

    /// Keeps a connection; returns false where there are enough.
    mutating func keep(_ connection: Connection) -> Bool {
        guard self.idle[connection.route, default: []].count < self.maximumPerHost else { return false }
        self.idle[connection.route, default: []].append(connection)
        return true
    }

    /// Forgets a connection that ended.
    mutating func remove(_ connection: Connection) {
        self.idle[connection.route]?.removeAll { $0 === connection }
    }

    /// Removes and returns what has been unused since `deadline` or longer.
    mutating func removeAll(idleSince deadline: NIODeadline) -> [Connection] {
        var removed: [Connection] = []
        for (route, connections) in self.idle {
            let kept = connections.filter { $0.idleSince > deadline }
            guard kept.count < connections.count || kept.isEmpty else { continue }
            removed += connections.filter { $0.idleSince <= deadline }
            self.idle[route] = kept.isEmpty ? nil : kept
        }
        return removed
    }
}
