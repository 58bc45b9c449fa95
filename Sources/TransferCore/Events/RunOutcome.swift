/// How a run ends.
package enum RunOutcome: Sendable {
    case finished(TransferCompletion)
    case failed(TransferFailure)
    case retry(TransferFailure)
    case paused
    case stopped
    case cancelled(keeping: Bool)

    package var isCancellation: Bool { if case .cancelled = self { true } else { false } }
}
