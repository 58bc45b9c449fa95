// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The part of the engine that a run depends on.
protocol RunHost: ConnectionBroker, NameReserver, RateGate, RequestGate {
    var transport: any Transport { get }
    var store: any FileStore { get }
    var time: any TimeSource { get }
    var pool: any BlockingPool { get }
    var events: EventHub { get }

    /// Called once, when a run's connections are closed and its file is kept, named or deleted.
    func runEnded(_ run: any TransferRun, _ outcome: RunOutcome)

    /// A run received a response, or the host accepts its content; called once in a run, not under the run's lock.
    func hostResponds(to transfer: TransferID, status: Int)

    /// A run that probes its host has connected, or received a response; not under a run's lock.
    func hostReached(by transfer: TransferID, status: Int?)

    /// Deletes the resource of an abandoned upload at its server; returns immediately.
    func terminate(_ record: UploadRecord, of transfer: Transfer)

    /// Deletes the resource of an upload whose journal was not read, and its journal record; returns immediately.
    func giveUp(_ request: UploadRequest)
}

/// Decides when requests are sent.
protocol RequestGate: AnyObject, Sendable {
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
}

/// The permit of a request.
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

/// Reserves file names, so that no two transfers of an engine write the same file.
protocol NameReserver: AnyObject, Sendable {
    /// Reserves a name, numbered if it is taken.
    func takeName(directory: String, base: String) -> FileTarget

    /// Reserves the next numbered name.
    func takeNextName(directory: String, base: String) -> FileTarget
}

/// Limits the rates at which bytes are transferred.
protocol RateGate: AnyObject, Sendable {
    /// Whether a limit was ever set; bytes need not be charged otherwise.
    var isThrottling: Bool { get }

    /// Charges bytes to the limits that apply to a transfer.
    func charge(_ count: Int, to transfer: Transfer, now: Int64) -> RateTickets

    /// The time until the charged bytes may pass, in nanoseconds; 0 if they may pass now.
    func wait(for tickets: RateTickets, of transfer: Transfer, now: Int64) -> Int64

    /// The maximum size of one read, so that limited transfers share fairly; `nil` without a limit.
    func readQuantum(for transfer: Transfer, attempts: Int) -> Int?
}

/// Positions in the queues of the limiters that a transfer's bytes pass.
struct RateTickets: Sendable {
    var global: RateLimiter.Ticket?
    var own: RateLimiter.Ticket?
}
