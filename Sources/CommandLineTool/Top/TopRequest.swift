// SPDX-License-Identifier: Apache-2.0
import Control

/// The data for the screen, requested from the daemon once per interval.
struct TopRequest: Equatable, Sendable {
    /// The rows of the table.
    var query = TopQuery()
    /// The index of the first row.
    var offset = 0
    /// The number of rows; 0 if only counts are needed.
    var limit = 0
    /// The transfer whose details are shown.
    var details: GID?
    /// Whether the queue's limits are shown.
    var wantsLimits = false
    /// Whether the names of the sessions' programs are needed.
    var wantsSessions = false
}

/// The transfers of the table, and their order.
struct TopQuery: Equatable, Sendable {
    /// The states.
    var tab = TopTab.all
    /// Words that the name or the URL contains; empty for all.
    var search = ""
    var order = TopOrder.queue

    /// Whether the daemon is to list from the end: ended transfers are listed by their end, the latest is wanted first.
    var isReversed: Bool {
        switch self.order {
        case .queue: self.tab == .failed || self.tab == .ended
        case .newest, .largest: true
        case .name: false
        }
    }
}

/// An order of the table.
enum TopOrder: CaseIterable, Sendable {
    /// Unfinished transfers in the order of the queue, then ended ones.
    case queue
    case newest, name, largest

    /// The value of `sort` of `martlet.list`; `nil` for its default.
    var parameter: String? {
        switch self {
        case .queue: nil
        case .newest: "added"
        case .name: "name"
        case .largest: "size"
        }
    }

    /// The order in words.
    var text: String {
        switch self {
        case .queue: "in the order of the queue"
        case .newest: "newest first"
        case .name: "by name"
        case .largest: "largest first"
        }
    }

    var next: TopOrder {
        let all = Self.allCases
        let index = all.firstIndex(of: self) ?? 0
        return all[(index + 1) % all.count]
    }
}

/// The features that older daemons lack.
struct TopFeatures: Equatable, Sendable {
    /// Whether `martlet.list` and `martlet.counts` search.
    var canSearch = false
    /// Whether `martlet.list` sorts.
    var canSort = false
}

/// The daemon's answer to a request.
struct TopSnapshot: Sendable {
    var request: TopRequest
    /// The rows.
    var records: [TransferRecord] = []
    /// The number of transfers in each state, and the rate.
    var counts = QueueCounts()
    /// The features of the daemon.
    var features = TopFeatures()
    /// The details or the error; `nil` if they were not requested.
    var details: Result<TransferRecord, ControlError>?
    /// The limits, if they were requested.
    var limits: TopLimits?
    /// The programs by session, if they were requested.
    var sessions: [String: String]?
    /// How long the answer took, in seconds.
    var seconds = 0.0
}
