// SPDX-License-Identifier: Apache-2.0
import Control

/// A filter by state: the tabs of `martlet top`.
enum TopTab: Int, CaseIterable, Sendable {
    case all = 1
    case active, waiting, paused, failed, ended

    /// The states that are listed; empty for all.
    var states: [TransferRecord.State] {
        switch self {
        case .all: []
        case .active: [.active, .retrying, .held]
        case .waiting: [.waiting]
        case .paused: [.paused]
        case .failed: [.failed]
        case .ended: [.finished, .removed]
        }
    }

    /// The tab's name.
    var title: String {
        switch self {
        case .all: "All"
        case .active: "Active"
        case .waiting: "Waiting"
        case .paused: "Paused"
        case .failed: "Failed"
        case .ended: "Done"
        }
    }

    /// The number of its transfers.
    func count(_ counts: QueueCounts) -> Int {
        func sum(_ numbers: Int...) -> Int { numbers.reduce(0) { $0 + $1.clamped(to: 0...(1 << 40)) } }
        return switch self {
        case .all:
            sum(
                counts.waiting,
                counts.started,
                counts.paused,
                counts.finished,
                counts.failed,
                counts.removed
            )
        case .active: sum(counts.started)
        case .waiting: sum(counts.waiting)
        case .paused: sum(counts.paused)
        case .failed: sum(counts.failed)
        case .ended: sum(counts.finished, counts.removed)
        }
    }

    /// The tab a number of places further, in a circle.
    func next(_ step: Int) -> TopTab {
        let count = Self.allCases.count
        let index = ((self.rawValue - 1 + step) % count + count) % count
        return TopTab(rawValue: index + 1) ?? .all
    }
}
