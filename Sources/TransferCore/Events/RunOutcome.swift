// SPDX-License-Identifier: Apache-2.0
package enum RunOutcome: Sendable {
    indirect case finished(TransferCompletion)
    indirect case failed(TransferFailure)
    indirect case retry(TransferFailure)
    case paused
    case stopped
    case cancelled(keeping: Bool)

    /// Whether no other run follows.
    package var isEnd: Bool {
        switch self {
        case .finished, .failed, .cancelled: true
        case .retry, .paused, .stopped: false
        }
    }

    package var isCancellation: Bool { if case .cancelled = self { true } else { false } }
}
