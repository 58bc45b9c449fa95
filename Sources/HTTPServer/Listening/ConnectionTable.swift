// SPDX-License-Identifier: Apache-2.0
/// Decides which connection to close for a new one.
///
/// Pure value. A connection can be closed for another one while it is not protected, the oldest first: the one that has
/// been unprotected for the longest time. What protects a connection is the listener's choice: a request in progress, or
/// an authenticated client.
///
/// - Invariant: There are at most `limit` connections, of which at most `limit - reserve` are unprotected.
struct ConnectionTable<ID: Hashable> {
    /// The decision about a new connection.
    enum Admission: Equatable {
        /// Accept it, and close another one, which was removed from the table.
        case accept(closing: ID?)
        /// Refuse it: all connections are protected.
        case refuse
    }

    private let limit: Int
    private let reserve: Int
    /// The turn of each connection in ``queue``; `nil` while it is protected.
    private var turns: [ID: Int?] = [:]
    /// The unprotected connections, the oldest first; an element is obsolete if its turn is not that of ``turns``.
    private var queue: [(id: ID, turn: Int)] = []
    private var first = 0
    private var lastTurn = 0
    private var unprotectedCount = 0

    /// Creates an empty table.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of connections, at least 1.
    ///   - reserve: The number of places that only protected connections can have; at least one is for others.
    init(limit: Int, reserve: Int = 0) {
        self.limit = max(1, limit)
        self.reserve = min(max(0, reserve), self.limit - 1)
    }

    /// The number of connections.
    var count: Int { self.turns.count }

    /// A connection was accepted.
    mutating func opened(_ id: ID) -> Admission {
        var victim: ID?
        if self.turns.count >= self.limit || self.unprotectedCount >= self.limit - self.reserve {
            victim = self.oldest()
            if let victim { self.closed(victim) } else if self.turns.count >= self.limit { return .refuse }
        }
        self.turns[id] = .some(nil)
        self.unprotected(id)
        return .accept(closing: victim)
    }

    /// The connection must not be closed for another one from now on.
    mutating func protected(_ id: ID) {
        guard let turn = self.turns[id], turn != nil else { return }
        self.turns[id] = .some(nil)
        self.unprotectedCount -= 1
    }

    /// The connection can be closed for another one again.
    mutating func unprotected(_ id: ID) {
        guard let turn = self.turns[id], turn == nil else { return }
        self.lastTurn += 1
        self.turns[id] = .some(self.lastTurn)
        self.unprotectedCount += 1
        self.queue.append((id, self.lastTurn))
        self.dropObsolete()
    }

    mutating func closed(_ id: ID) {
        guard let turn = self.turns.removeValue(forKey: id) else { return }
        if turn != nil { self.unprotectedCount -= 1 }
    }

    /// The oldest unprotected connection.
    private mutating func oldest() -> ID? {
        while self.first < self.queue.count {
            let (id, turn) = self.queue[self.first]
            if self.turns[id] == .some(.some(turn)) { return id }
            self.first += 1
        }
        return nil
    }

    /// Bounds the number of obsolete elements by that of connections.
    private mutating func dropObsolete() {
        guard self.queue.count > 2 * self.turns.count + 64 else { return }
        self.queue = self.queue[self.first...].filter { self.turns[$0.id] == .some(.some($0.turn)) }
        self.first = 0
    }
}
