/// Where a transfer stands.
///
/// Nothing between two of these states is ever observable or persisted.
package enum TransferState: Hashable, Sendable {
    /// It waits for its turn.
    case waiting
    /// It holds a place among the running ones.
    case running
    /// An attempt failed; the next one begins at this monotonic time in nanoseconds.
    case retrying(at: Int64)
    /// Somebody paused it.
    case paused
    /// The file is there.
    case finished
    /// It ended without the file.
    case failed
    /// Somebody cancelled it.
    case cancelled

    /// Whether nothing more will happen.
    package var isEnded: Bool {
        switch self {
        case .finished, .failed, .cancelled: true
        case .waiting, .running, .retrying, .paused: false
        }
    }

    /// Whether a transfer may go from this state to another.
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
