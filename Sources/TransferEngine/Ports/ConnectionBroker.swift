// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Grants connections to running transfers, within the limits per host.
///
/// A *slot* is the permission for one connection to an origin. No method may be called under a run's lock.
protocol ConnectionBroker: AnyObject, Sendable {
    /// Takes a further slot for a transfer that has a connection.
    ///
    /// - Returns: False if the limit is reached, the host refused as many recently, or another transfer waits for it.
    func acquireConnection(_ origin: Origin, for transfer: TransferID) -> Bool

    /// Returns a slot without waking a waiting transfer; `connectionsReleased(lane:)` does that.
    func releaseConnection(_ origin: Origin, of transfer: TransferID)

    /// Calls `wake` when a slot of this host has been taken for the transfer.
    func whenConnectionIsFree(_ origin: Origin, for transfer: TransferID, _ wake: @escaping @Sendable () -> Void)

    /// Records that the host refused a further connection: its current number is its limit for some time.
    ///
    /// The slot of the refused connection must have been released before.
    func connectionRefused(_ origin: Origin)

    /// Grants released slots to waiting transfers, preferably on this lane.
    func connectionsReleased(lane: Int?)
}
