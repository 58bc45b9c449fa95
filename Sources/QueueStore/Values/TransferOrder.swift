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
}
