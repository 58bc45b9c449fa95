// SPDX-License-Identifier: Apache-2.0
package import Control

/// A waiting transfer whose turn it is; see ``QueueReader/nextToRun(_:)``.
package struct NextTransfer: Sendable, Hashable {
    /// The transfer's identifier.
    package var id: GID
    /// Its row.
    package var standing: Standing
    /// The transfer; `nil` if it is one of ``TurnQuery/known``.
    package var transfer: StoredTransfer?

    package var host: HostKey { HostKey(rawValue: self.standing.host) }
}
