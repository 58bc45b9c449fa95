/// What the codes of one queue's unfinished transfers mean.
///
/// An order for all of a queue changes the meaning of codes instead of a million rows. An unfinished row has a code; the
/// state of a transfer is the meaning of its row's code. A transfer that is changed or added by itself gets a code that has
/// the state's meaning; where there is none, an unused code takes it.
///
/// Pure value. Codes are at most 1, so that `state < 2` finds the unfinished rows; what ends by itself gets a code of
/// `TransferRecord.State` above 1, which has one meaning in all queues.
struct StateClasses: Sendable, Hashable {
    /// A meaning of a code.
    enum Meaning: Sendable, Hashable {
        case waiting
        case paused
        /// Removed at a time (seconds since 1970), with or without its partial file; its end is not stored yet.
        case removed(at: Double, deletesPartial: Bool)
        /// Removed and forgotten; its row is not deleted yet.
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

        /// Whether the transfer is in its queue's line.
        var isInLine: Bool { self == .waiting || self == .paused }
    }

    /// The codes there are.
    static let codes: ClosedRange<Int64> = -30...1
    /// The number of codes from which those of one meaning are made one.
    static let most = 8

    /// The codes that rows may have.
    private(set) var meanings: [Int64: Meaning]

    /// A queue that no order for all was given to.
    init() { self.meanings = [0: .waiting, 1: .paused] }

    /// What the database has of a queue.
    init(stored meanings: [Int64: Meaning]) {
        self.meanings = meanings.isEmpty ? Self().meanings : meanings
    }

    /// Whether nothing must be stored.
    var isUsual: Bool { self.meanings.allSatisfy { Self().meanings[$0.key] == $0.value } }

    /// The number of the state that a code means.
    func state(of code: Int64) -> Int64? { self.meanings[code]?.state }

    /// The codes of transfers in some states (a bit for each state's number) that are in line.
    func codes(in states: Int64) -> [Int64] {
        self.meanings.filter { $0.value.isInLine && states >> $0.value.state & 1 == 1 }.keys.sorted(by: >)
    }

    /// A bit for each code of ``codes(in:)``, see ``shift``.
    func mask(_ states: Int64) -> Int64 {
        self.codes(in: states).reduce(0) { $0 | 1 << ($1 + Self.shift) }
    }

    /// Added to a code to get its bit.
    static let shift: Int64 = 32

    /// All that wait are paused.
    mutating func pauseAll() { self.change { $0 == .waiting ? .paused : $0 } }

    /// All that are paused wait.
    mutating func resumeAll() { self.change { $0 == .paused ? .waiting : $0 } }

    /// All in line are removed.
    mutating func removeAll(at time: Double, deletesPartial: Bool) {
        self.change { $0.isInLine ? .removed(at: time, deletesPartial: deletesPartial) : $0 }
    }

    /// All that are removed and have no end yet are forgotten.
    mutating func forgetAll() {
        self.change {
            guard case .removed(_, let deletesPartial) = $0 else { return $0 }
            return .gone(deletesPartial: deletesPartial)
        }
    }

    private mutating func change(_ change: (Meaning) -> Meaning) { self.meanings = self.meanings.mapValues(change) }

    /// No row has this code.
    mutating func drop(_ code: Int64) { self.meanings[code] = nil }

    /// A code that has a meaning, or takes it.
    ///
    /// - Returns: `nil` where all codes are used; see ``twins``.
    mutating func code(for meaning: Meaning) -> Int64? {
        if let known = self.meanings.filter({ $0.value == meaning }).keys.max() { return known }
        let usual = meaning.state
        let free = self.meanings[usual] == nil && usual < 2 ? usual : Self.codes.last { self.meanings[$0] == nil }
        guard let free else { return nil }
        self.meanings[free] = meaning
        return free
    }

    /// Codes of which all rows could have another code of the same meaning.
    var twins: [Int64] {
        self.meanings.keys.filter { code in
            self.meanings.contains { $0.key != code && $0.value == self.meanings[code] }
        }
    }
}
