// SPDX-License-Identifier: Apache-2.0
/// The meanings of the codes of one queue's unfinished transfers.
///
/// An action on a whole queue changes the meanings of codes instead of a million rows. An unfinished row has a code;
/// the state of a transfer is the meaning of its row's code. A transfer that is changed or added individually gets a
/// code with the state's meaning; if there is none, an unused code is assigned that meaning.
///
/// Pure value. Codes are at most 1, so that `state < 2` selects the unfinished rows; a transfer that ends individually
/// gets its `TransferRecord.State.code` above 1, which has the same meaning in all queues.
struct StateClasses: Sendable, Hashable {
    /// The meaning of a code.
    enum Meaning: Sendable, Hashable {
        case waiting
        case paused
        /// Removed at a time (seconds since 1970), possibly with its partial file; the end will be stored later.
        case removed(at: Double, deletesPartial: Bool)
        /// Removed and forgotten; the row will be deleted later.
        case gone(deletesPartial: Bool)

        /// The number of the state in the database.
        var state: Int64 {
            switch self {
            case .waiting: 0
            case .paused: 1
            case .removed: 4
            case .gone: 5
            }
        }

        /// Whether the transfer is unfinished.
        var isInLine: Bool { self == .waiting || self == .paused }
    }

    static let codes: ClosedRange<Int64> = -30...1
    /// The number of codes at which codes of the same meaning are merged.
    static let most = 8

    /// The meanings of the codes that rows may have.
    private(set) var meanings: [Int64: Meaning]

    /// Creates the default meanings, those of a queue without actions on all of it.
    init() { self.meanings = [0: .waiting, 1: .paused] }

    /// Creates the meanings stored for a queue; empty means the default ones.
    init(stored meanings: [Int64: Meaning]) {
        self.meanings = meanings.isEmpty ? Self().meanings : meanings
    }

    /// Whether all meanings are the default ones, which are not stored.
    var isUsual: Bool { self.meanings.allSatisfy { Self().meanings[$0.key] == $0.value } }

    /// Returns the number of the state that a code means.
    func state(of code: Int64) -> Int64? { self.meanings[code]?.state }

    /// Returns the codes of unfinished transfers in some states, a bit mask of the states' numbers.
    func codes(in states: Int64) -> [Int64] {
        self.meanings.filter { $0.value.isInLine && states >> $0.value.state & 1 == 1 }.keys.sorted(by: >)
    }

    /// Returns a mask with a bit for each code of ``codes(in:)``, see ``shift``.
    func mask(_ states: Int64) -> Int64 {
        self.codes(in: states).reduce(0) { $0 | 1 << ($1 + Self.shift) }
    }

    /// The offset between a code and its bit in a mask.
    static let shift: Int64 = 32

    /// Pauses all waiting transfers.
    mutating func pauseAll() { self.change { $0 == .waiting ? .paused : $0 } }

    /// Resumes all paused transfers.
    mutating func resumeAll() { self.change { $0 == .paused ? .waiting : $0 } }

    /// Removes all unfinished transfers.
    mutating func removeAll(at time: Double, deletesPartial: Bool) {
        self.change { $0.isInLine ? .removed(at: time, deletesPartial: deletesPartial) : $0 }
    }

    /// Forgets all removed transfers whose end is not stored yet.
    mutating func forgetAll() {
        self.change {
            guard case .removed(_, let deletesPartial) = $0 else { return $0 }
            return .gone(deletesPartial: deletesPartial)
        }
    }

    private mutating func change(_ change: (Meaning) -> Meaning) { self.meanings = self.meanings.mapValues(change) }

    /// Frees a code that no row has.
    mutating func drop(_ code: Int64) { self.meanings[code] = nil }

    /// Returns a code with a meaning, assigned to an unused code if necessary.
    ///
    /// - Returns: `nil` if all codes are used; see ``twins``.
    mutating func code(for meaning: Meaning) -> Int64? {
        if let known = self.meanings.filter({ $0.value == meaning }).keys.max() { return known }
        let usual = meaning.state
        let free = self.meanings[usual] == nil && usual < 2 ? usual : Self.codes.last { self.meanings[$0] == nil }
        guard let free else { return nil }
        self.meanings[free] = meaning
        return free
    }

    /// The codes that share their meaning with another code, into which they can be merged.
    var twins: [Int64] {
        self.meanings.keys.filter { code in
            self.meanings.contains { $0.key != code && $0.value == self.meanings[code] }
        }
    }
}
