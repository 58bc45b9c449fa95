// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// One run of a transfer: from its admission until it has finished, failed, was paused or waits for another attempt.
protocol TransferRun: AnyObject, Sendable {
    var transfer: Transfer { get }
    /// The index of the event loop on which the run begins.
    var lane: Int { get }
    var startedAt: Int64 { get }
    /// The counts of this run up to now.
    var tally: RunTally { get }
    /// The number of bytes present at the destination, and the whole length if known.
    var position: (bytes: Int64, total: Int64?) { get }

    /// Begins the run; called on its event loop.
    func begin()

    /// Ends the run from outside.
    ///
    /// Returns immediately; `runEnded` is called when the run has ended.
    func interrupt(_ outcome: RunOutcome)

    /// Stops the run as ``interrupt(_:)`` does, or when its request has ended if that must not be repeated.
    func stopAfterRequest()

    /// Performs the periodic work, such as timeouts and progress events.
    func tick(_ now: Int64)

    /// Closes one of several connections to a host, for a transfer that waits for one and has none.
    func yieldConnection(_ origin: Origin)
}

/// Whether a run has received a response, and whether that was reported to the engine.
enum FirstResponse: Sendable {
    case none
    /// With the status of a final response, or 0 for another sign of life.
    case received(status: Int)
    case reported

    /// A response was received.
    mutating func received(status: Int) {
        switch self {
        case .none, .received(status: 0): self = .received(status: status)
        case .received, .reported: break
        }
    }

    /// Marks the response as reported.
    ///
    /// - Returns: Its status, or 0, once after a response.
    mutating func report() -> Int? {
        guard case .received(let status) = self else { return nil }
        self = .reported
        return status
    }
}

/// The counts of one run.
struct RunTally: Sendable {
    /// Bytes of body received.
    var received: Int64 = 0
    /// Bytes of content sent.
    var sent: Int64 = 0
    /// Whether the server served this run; the host is not unreachable then, however often the run is interrupted.
    var hasAdvanced = false
    /// The maximum number of kept bytes that a later response continued from; see ``RetryBudget/kept(_:)``.
    var kept: Int64 = 0
    /// Whether the transfer may probe its host, if the run has found out; see ``EngineMachine/Terms/mayProbe``.
    var mayProbe: Bool?
}

/// The counts of a transfer's earlier runs.
struct EarlierRuns: Sendable {
    /// The time spent running and between attempts, in nanoseconds, without the time in the queue.
    var activeTime: Int64 = 0
    /// Bytes of body received.
    var received: Int64 = 0
    /// Bytes of content sent.
    var sent: Int64 = 0
    /// Whether this run probes whether its host responds again.
    var isProbe = false
    /// The host to which the run has a connection: its own, or that of a mirror.
    var host: Origin
}
