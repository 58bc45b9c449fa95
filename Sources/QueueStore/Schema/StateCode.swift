// SPDX-License-Identifier: Apache-2.0
internal import Control

extension TransferRecord.State {
    /// The state's number in the database; below 2 for unfinished transfers.
    ///
    /// A transfer that has started is stored as waiting.
    var code: Int64 {
        switch self {
        case .waiting, .active, .retrying, .held: 0
        case .paused: 1
        case .finished: 2
        case .failed: 3
        case .removed: 4
        }
    }

    /// Creates the state of a number; `nil` for an unknown number.
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
    /// A bit mask of the states' numbers; one statement with `WHERE (mask >> state) & 1` serves all sets.
    ///
    /// The states of started transfers are ignored: none is stored.
    var mask: Int64 { self.subtracting(TransferRecord.State.started).reduce(0) { $0 | 1 << $1.code } }
}
