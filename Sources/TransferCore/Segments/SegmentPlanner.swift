// SPDX-License-Identifier: Apache-2.0
/// Decides which connection fetches which bytes of one file.
///
/// Pure value: no I/O, no clock, no lock. The file is covered by pieces; each piece is fetched from its start to its
/// end by at most one connection. A connection without a piece takes an unowned one, or half of the remainder of the
/// one with the most bytes left.
///
/// - Invariant: Pieces are disjoint; `start <= written <= reserved <= end` for each.
package struct SegmentPlanner: Sendable {
    /// A connection's number, chosen by the caller.
    package typealias Connection = Int

    /// A run of bytes still to be fetched, in part or whole.
    package struct Piece: Sendable, Equatable {
        /// The first byte.
        package var start: Int64
        /// The end of the bytes reserved for writing.
        package var reserved: Int64
        /// The end of the bytes that were written.
        package var written: Int64
        /// The end, `Int64.max` if the length is unknown.
        package var end: Int64
        /// The connection that fetches it, or `nil`.
        package var owner: Connection?
    }

    /// The whole length, or `nil` while unknown.
    package private(set) var length: Int64?

    /// The incomplete pieces, unordered.
    package private(set) var pieces: [Piece] = []

    /// The number of bytes present.
    package private(set) var completed: Int64 = 0

    /// Creates a plan for the missing bytes.
    ///
    /// - Parameters:
    ///   - length: The whole length, or `nil` if unknown; then everything after `have` is one open piece.
    ///   - have: The byte ranges present: ascending and disjoint.
    package init(length: Int64?, have: [ByteRange] = []) {
        self.length = length
        let end = length ?? Int64.max
        var position: Int64 = 0
        for range in have {
            let lower = min(max(range.lowerBound, position), end)
            let upper = min(max(range.upperBound, lower), end)
            if lower > position { self.pieces.append(Self.piece(position, lower)) }
            self.completed += upper - lower
            position = upper
        }
        if position < end { self.pieces.append(Self.piece(position, end)) }
    }

    /// Whether every byte is present.
    ///
    /// False while the length is unknown.
    package var isComplete: Bool { self.length != nil && self.pieces.isEmpty }

    /// The number of missing bytes, or `nil` while the length is unknown.
    package var remaining: Int64? { self.length.map { $0 - self.completed } }

    package func piece(of connection: Connection) -> Piece? {
        self.pieces.first { $0.owner == connection }
    }

    /// The number of bytes present from offset 0 on without a gap.
    package var heldPrefix: Int64 {
        self.pieces.min { $0.start < $1.start }.map { $0.written } ?? self.completed
    }

    /// The ranges present: ascending and disjoint.
    package var held: [ByteRange] {
        var ranges: [ByteRange] = []
        var position: Int64 = 0
        for piece in self.pieces.sorted(by: { $0.start < $1.start }) {
            if piece.written > position { ranges.append(position..<piece.written) }
            position = piece.end
        }
        if let length, position < length { ranges.append(position..<length) }
        return ranges
    }

    /// The number of bytes present directly before the start of a piece.
    package func run(before offset: Int64) -> Int64 {
        offset - (self.pieces.lazy.map(\.end).filter { $0 <= offset }.max() ?? 0)
    }

    /// The number of bytes that a connection still has to fetch; 0 without a piece.
    package func remaining(of connection: Connection) -> Int64 {
        self.piece(of: connection).map { $0.end - $0.reserved } ?? 0
    }

    /// Whether a piece can be assigned to another connection.
    package func canAssign(minimumSplit: Int64) -> Bool {
        self.pieces.contains { $0.owner == nil || Self.isWorthSplitting($0, minimumSplit) }
    }

    /// Assigns the first unowned piece to a connection, or half of the remainder of the piece with the most bytes left.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - minimumSplit: The least number of bytes worth a connection.
    ///   - isJoining: Whether unowned pieces that follow without a gap become part of its piece, because no other connection
    ///     will fetch them at the same time.
    /// - Returns: Its piece, or `nil` if no remainder is worth another connection.
    package mutating func assign(
        to connection: Connection,
        minimumSplit: Int64,
        joining isJoining: Bool = false
    ) -> Piece? {
        precondition(self.piece(of: connection) == nil, "connection \(connection) already has a piece")
        let free = self.pieces.indices.filter { self.pieces[$0].owner == nil }
        if let index = free.min(by: { self.pieces[$0].start < self.pieces[$1].start }) {
            self.pieces[index].owner = connection
            if isJoining { self.reclaim(for: connection, upTo: .max) }
            return self.piece(of: connection)
        }
        guard
            let index = self.pieces.indices
                .filter({ Self.isWorthSplitting(self.pieces[$0], minimumSplit) })
                .max(by: { self.left($0) < self.left($1) })
        else { return nil }
        let middle = Self.middle(of: self.pieces[index])
        var taken = Self.piece(middle, self.pieces[index].end)
        taken.owner = connection
        self.pieces[index].end = middle
        self.pieces.append(taken)
        return taken
    }

    /// Reserves space in a connection's piece for bytes that arrived.
    ///
    /// - Returns: The number of them that belong to the piece; the rest is beyond its end and must be discarded.
    package mutating func reserve(_ count: Int, for connection: Connection) -> Int {
        guard let index = self.pieces.firstIndex(where: { $0.owner == connection }) else { return 0 }
        let usable = min(Int64(count), self.pieces[index].end - self.pieces[index].reserved)
        self.pieces[index].reserved += usable
        return Int(usable)
    }

    /// Records that reserved bytes have been written.
    ///
    /// - Returns: Whether the connection's piece is complete and removed; also true for a connection without a piece.
    package mutating func wrote(_ count: Int, by connection: Connection) -> Bool {
        guard let index = self.pieces.firstIndex(where: { $0.owner == connection }) else { return true }
        let piece = self.pieces[index]
        precondition(piece.written + Int64(count) <= piece.reserved, "more bytes were written than reserved")
        self.pieces[index].written += Int64(count)
        self.completed += Int64(count)
        guard self.pieces[index].written == piece.end else { return false }
        self.pieces.remove(at: index)
        return true
    }

    /// Releases a connection's piece; the bytes not written are available to other connections.
    package mutating func release(_ connection: Connection) {
        guard let index = self.pieces.firstIndex(where: { $0.owner == connection }) else { return }
        self.pieces[index].owner = nil
        self.pieces[index].start = self.pieces[index].written
        self.pieces[index].reserved = self.pieces[index].written
    }

    /// Extends a connection's piece over the unowned pieces adjacent to its end, up to the end of its response.
    package mutating func reclaim(for connection: Connection, upTo limit: Int64) {
        guard let index = self.pieces.firstIndex(where: { $0.owner == connection }) else { return }
        while let free = self.pieces.firstIndex(where: { piece in
            piece.owner == nil && piece.start == self.pieces[index].end && piece.end <= limit
        }) {
            self.pieces[index].end = self.pieces[free].end
            self.pieces.remove(at: free)
            // The removal may have moved the connection's own piece.
            return self.reclaim(for: connection, upTo: limit)
        }
    }

    /// Sets the length once it is known, from a `Content-Range` or the end of the body.
    ///
    /// - Returns: Whether it is consistent with the known length and the reserved bytes.
    package mutating func setLength(_ length: Int64) -> Bool {
        guard self.length == nil else { return self.length == length }
        for index in self.pieces.indices.reversed() where self.pieces[index].end == Int64.max {
            guard self.pieces[index].reserved <= length else { return false }
            self.pieces[index].end = length
            if self.pieces[index].written == length { self.pieces.remove(at: index) }
        }
        self.length = length
        return true
    }

    /// The offset at which a piece is divided: the middle of its remainder.
    ///
    /// A piece that has hardly started is halved as a whole, so that connections started together end together. If the
    /// server sends each second's bytes in one burst, a slightly longer piece would take another second.
    private static func middle(of piece: Piece) -> Int64 {
        let isFresh = piece.reserved - piece.start <= (piece.end - piece.start) / 64
        let from = isFresh ? piece.start : piece.reserved
        return from + (piece.end - from) / 2
    }

    private func left(_ index: Int) -> Int64 { self.pieces[index].end - self.pieces[index].reserved }

    private static func isWorthSplitting(_ piece: Piece, _ minimumSplit: Int64) -> Bool {
        piece.end != Int64.max && piece.end - piece.reserved >= max(2, 2 * minimumSplit)
    }

    private static func piece(_ start: Int64, _ end: Int64) -> Piece {
        Piece(start: start, reserved: start, written: start, end: end, owner: nil)
    }
}
