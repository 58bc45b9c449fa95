internal import TransferCore

/// One transfer while it runs: from being admitted to finished, failed, paused or waiting for another attempt.
protocol TransferRun: AnyObject, Sendable {
    var transfer: Transfer { get }
    /// The index of the event loop on which the run begins.
    var lane: Int { get }
    var startedAt: Int64 { get }
    /// The number of body bytes received by this run.
    var received: Int64 { get }
    /// Whether the server served this run: then the host is not considered down, however often the run is interrupted.
    var hasAdvanced: Bool { get }
    /// The number of content bytes sent by this run.
    var sent: Int64 { get }
    /// The number of bytes present at the destination, and the whole length if known.
    var position: (bytes: Int64, total: Int64?) { get }

    /// Begins the run; called on its event loop.
    func begin()

    /// Ends the run from outside.
    ///
    /// Returns immediately; the engine is notified when the run has ended.
    func interrupt(_ outcome: RunOutcome)

    /// Performs the periodic work, such as timeouts and progress events.
    func tick(_ now: Int64)
}

/// How a run ends.
enum RunOutcome {
    case finished(TransferEvent.Completion)
    case failed(TransferFailure)
    case retry(TransferFailure)
    case paused
    case stopped
    case cancelled(keeping: Bool)

    var isCancellation: Bool { if case .cancelled = self { true } else { false } }
}
