// SPDX-License-Identifier: Apache-2.0
/// The state of a transfer.
///
/// No intermediate state is ever observable or persisted.
package enum TransferState: Hashable, Sendable {
    /// Waiting for its turn.
    case waiting
    /// Running, with a slot.
    case running
    /// An attempt failed; the next one starts at this monotonic time in nanoseconds.
    case retrying(at: Int64)
    /// Paused by the user.
    case paused
    /// Finished with a complete file.
    case finished
    /// Ended without the file.
    case failed
    /// Cancelled by the user.
    case cancelled

    /// Whether the state is final.
    package var isEnded: Bool {
        switch self {
        case .finished, .failed, .cancelled: true
        case .waiting, .running, .retrying, .paused: false
        }
    }

    /// Whether a transfer may change from this state to another.
    package func allows(_ next: TransferState) -> Bool {
        switch (self, next) {
        case (.waiting, .running), (.waiting, .paused), (.waiting, .failed), (.waiting, .cancelled): true
        case (.running, .waiting), (.running, .retrying), (.running, .paused): true
        case (.running, .finished), (.running, .failed), (.running, .cancelled): true
        case (.retrying, .waiting), (.retrying, .paused), (.retrying, .cancelled): true
        case (.paused, .waiting), (.paused, .cancelled): true
        default: false
        }
    }
}
