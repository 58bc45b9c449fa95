internal import TransferCore

/// One transfer while it runs: from being admitted to finished, failed, paused or waiting for another attempt.
protocol TransferRun: AnyObject, Sendable {
    var transfer: Transfer { get }
    /// The lane on which it begins.
    var lane: Int { get }
    var startedAt: Int64 { get }
    /// The bytes of bodies that this run received.
    var received: Int64 { get }
    /// Whether the server did something for it, so that the host is not down, however often it breaks off.
    var hasAdvanced: Bool { get }
    /// The bytes of content that this run sent.
    var sent: Int64 { get }
    /// The bytes that are there, at either end, and the whole length where it is known.
    var position: (bytes: Int64, total: Int64?) { get }

    /// Begins; on the run's lane.
    func begin()

    /// Ends the run from outside; returns at once, the engine hears when it has really ended.
    func interrupt(_ outcome: RunOutcome)

    /// Time has passed.
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
