// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The part of the engine that a run depends on.
///
/// A *slot* is the permission for one connection to an origin. No method may be called under a run's lock.
protocol RunHost: AnyObject, Sendable {
    var transport: any Transport { get }
    var store: any FileStore { get }
    var time: any TimeSource { get }
    var pool: any BlockingPool { get }
    var events: EventHub { get }

    /// Called once, when a run's connections are closed and its file is kept, named or deleted.
    func runEnded(_ run: any TransferRun, _ outcome: RunOutcome)

    /// A run received a response, or the host accepts its content; called once in a run.
    func hostResponds(to transfer: TransferID, status: Int)

    /// A run that probes its host has connected, or received a response.
    func hostReached(by transfer: TransferID, status: Int?)

    /// Deletes the resource of an abandoned upload at its server; returns immediately.
    func terminate(_ record: UploadRecord, of transfer: Transfer)

    /// Deletes the resource of an upload whose journal was not read, and its journal record; returns immediately.
    func giveUp(_ request: UploadRequest)

    // MARK: Connections

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

    // MARK: Requests

    /// Whether requests may have to wait; otherwise no permit is needed.
    var pacesRequests: Bool { get }

    /// Permits a request of a running download.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - transfer: The transfer.
    ///   - lane: The event loop of the request.
    ///   - again: Called if the permit is `later`, on any thread; another permit is needed then.
    /// - Returns: The permit.
    func permit(_ url: HTTPURL, for transfer: TransferID, lane: Int, _ again: @escaping @Sendable () -> Void)
        -> RequestPermit

    // MARK: Names, reserved so that no two transfers of an engine write the same file

    /// Reserves a name, numbered if it is taken.
    func takeName(directory: String, base: String) -> FileTarget

    /// Reserves the next numbered name.
    func takeNextName(directory: String, base: String) -> FileTarget

    // MARK: Rates

    /// Whether a limit was ever set; bytes need not be charged otherwise.
    var isThrottling: Bool { get }

    /// Charges bytes to the limits that apply to a transfer.
    func charge(_ count: Int, to transfer: Transfer, now: Int64) -> RateTickets

    /// The time until the charged bytes may pass, in nanoseconds; 0 if they may pass now.
    func wait(for tickets: RateTickets, of transfer: Transfer, now: Int64) -> Int64

    /// The maximum size of one read, so that limited transfers share fairly; `nil` without a limit.
    func readQuantum(for transfer: Transfer, attempts: Int) -> Int?
}

enum RequestPermit {
    /// It may be sent now.
    case granted
    /// It may be sent after a delay in nanoseconds.
    case delayed(Int64)
    /// The rules of its origin are being requested.
    case later
    /// It must not be sent.
    case refused(TransportError)
}

/// Positions in the queues of the limiters that a transfer's bytes pass.
struct RateTickets: Sendable {
    var global: RateLimiter.Ticket?
    var own: RateLimiter.Ticket?
}
