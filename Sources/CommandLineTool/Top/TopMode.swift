// SPDX-License-Identifier: Apache-2.0
import Control

/// The content of the body of the screen.
enum TopMode: Equatable {
    case list
    case details(TopDetails)
    case limits(TopLimitsPage)
    /// The keys, scrolled by a number of lines.
    case help(scroll: Int)
}

/// The details of a transfer.
struct TopDetails: Equatable {
    /// The transfer.
    var id: GID
    /// The transfer as it was last reported.
    var record: TransferRecord
    /// The reason for the lack of newer details, such as that the transfer has left the history.
    var problem: String?
    /// The number of lines scrolled.
    var scroll = 0

    /// The lines for a width; continued lines are indented.
    func lines(width: Int, now: Double) -> [String] {
        var lines = (self.problem.map { ["(\($0))"] } ?? []) + TransferText.lines(self.record, now: now)
        lines = lines.flatMap { TopText.wrapped($0, columns: width, indent: 14) }
        return lines
    }
}

/// The limits, of which one is selected.
struct TopLimitsPage: Equatable {
    /// The limits; `nil` until they are loaded.
    var limits: TopLimits?
    /// The transfers of which the rate can be limited.
    var targets: [TopMarks.Target]
    /// The index of the selected row.
    var cursor = 0

    enum Row: Equatable {
        case rate(Int64)
        case concurrent(Int)
        case host(TopLimits.Host)
        case newHost
        case transfers([TopMarks.Target])
        case schedule(String?)
    }

    var rows: [Row] {
        guard let limits = self.limits else { return [] }
        return [.rate(limits.rate), .concurrent(limits.concurrent)] + limits.hosts.map { .host($0) } + [.newHost]
            + (self.targets.isEmpty ? [] : [.transfers(self.targets)]) + [.schedule(limits.schedule)]
    }

    /// The selected row.
    var current: Row? { self.rows.indices.contains(self.cursor) ? self.rows[self.cursor] : nil }
}
