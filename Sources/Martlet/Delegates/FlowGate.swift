// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization

/// Pauses a body while the recipients of its bytes do not keep up.
///
/// Bytes are counted once per recipient, from their delivery until the recipient has taken them.
final class FlowGate: Sendable {
    private struct State {
        var outstanding = 0
        var resume: (@Sendable () -> Void)?
    }

    /// The counts in bytes at which reading pauses (above `high`) and resumes (at most `low`).
    static let high = 1 << 20
    static let low = 256 << 10

    private let state = Mutex(State())

    /// Counts delivered bytes.
    ///
    /// - Returns: Whether reading may continue; otherwise `resume` is called once there is room.
    func admit(_ bytes: Int, resume: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            state.outstanding += bytes
            guard bytes > 0, state.outstanding > Self.high else { return true }
            state.resume = resume
            return false
        }
    }

    /// Subtracts bytes that a recipient has taken.
    func release(_ bytes: Int) {
        let resume = self.state.withLock { state -> (@Sendable () -> Void)? in
            state.outstanding -= bytes
            guard state.outstanding <= Self.low else { return nil }
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
    }

    /// Hands bytes to one recipient, which has taken them when it calls ``CallOnce/now()`` or drops the last reference.
    func handed(_ bytes: Int) -> CallOnce { CallOnce { self.release(bytes) } }
}
