// SPDX-License-Identifier: Apache-2.0
import Control

/// A change that the user requested of the daemon.
enum TopCall: Equatable, Sendable {
    case pause(TopSelection)
    case resume(TopSelection)
    case retry(TopSelection)
    case remove(TopSelection, deletesPartial: Bool)
    case forget(TopSelection)
    /// Moves a transfer in the queue.
    case move(GID, TopPlace)
    /// Sets the total rate in bytes per second; 0 removes the limit.
    case limitRate(Int64)
    case limitConcurrent(Int)
    /// Sets a host's connections; 0 removes the limit.
    case limitHost(String, Int)
    /// Sets the rate of single transfers in bytes per second; 0 removes the limit.
    case limitTransfers([GID], Int64)
    /// Replaces the URLs and queues a transfer again that had failed or was removed.
    case replaceURLs(GID, [String], retries: Bool)
}

/// The transfers that a change applies to.
enum TopSelection: Equatable, Sendable {
    case ids([GID])
    /// All of the shared queue to which the change applies.
    case all

    /// The selection for the client.
    var control: ControlSelection {
        switch self {
        case .ids(let ids): .ids(ids.map(\.description))
        case .all: .all(session: nil)
        }
    }
}

/// A place in the queue.
enum TopPlace: Equatable, Sendable {
    case first, last
    /// The place of another transfer, which moves by one.
    case of(GID)
    /// A number of places further back; negative for further to the front.
    case relative(Int)
}
