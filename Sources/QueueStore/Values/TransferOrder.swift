// SPDX-License-Identifier: Apache-2.0
/// An order of transfers.
package enum TransferOrder: String, Sendable, Hashable, CaseIterable {
    /// Unfinished transfers in queue order, then ended ones by their end.
    case queue
    /// By the time at which they were added.
    case added
    /// By the name of the file, without regard to the case of ASCII letters.
    case name
    /// By the length of the file, or the bytes received while it is unknown.
    case size
    /// By the share of the bytes that are stored.
    case progress
    /// By the first URL without its scheme.
    case host
    /// By the state: started, waiting, paused, finished, failed, removed.
    case state
    /// By the current rate; transfers that do not run are last, in both directions.
    case rate
    /// By the time left; transfers for which it is unknown are last, in both directions.
    case left

    /// Whether the order depends on unstored values of started transfers.
    package var isOfStarted: Bool { self == .state || self == .rate || self == .left }
}
