internal import Control

extension TransferRecord.State {
    /// The state's number in the database; the two unfinished ones are below 2.
    ///
    /// What runs is in line.
    var code: Int64 {
        switch self {
        case .waiting, .active: 0
        case .paused: 1
        case .finished: 2
        case .failed: 3
        case .removed: 4
        }
    }

    /// The state of a number.
    init?(code: Int64) {
        switch code {
        case 0: self = .waiting
        case 1: self = .paused
        case 2: self = .finished
        case 3: self = .failed
        case 4: self = .removed
        default: return nil
        }
    }
}

extension Set<TransferRecord.State> {
    /// A bit for the number of each; `WHERE (mask >> state) & 1` is one statement for all choices.
    ///
    /// Nothing is stored as `active`, and so nothing is found by it.
    var mask: Int64 { self.subtracting([.active]).reduce(0) { $0 | 1 << $1.code } }
}
