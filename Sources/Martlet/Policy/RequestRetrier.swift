// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Decides for a session whether, and when, another attempt follows one that failed.
///
/// It is asked after each attempt that ``SessionConfiguration/retries`` allow to repeat: a network failure, a timeout, or
/// one of ``SessionConfiguration/RetryPolicy/statuses``, also if no retries are left. It is not asked if the attempt must
/// not be repeated, such as a POST that the server may have processed, if the task was suspended or cancelled meanwhile,
/// or if this machine is the cause: a full disk, or too few file descriptors.
///
/// To await something before the next attempt, such as a new token, use a ``RequestAdapter``, which may take its time.
public protocol RequestRetrier: Sendable {
    /// Decides about the next attempt.
    ///
    /// Called on a thread of the session, for several tasks at the same time: return at once, and do not block.
    ///
    /// - Parameter attempt: The attempt that failed.
    /// - Returns: The decision.
    func decision(after attempt: FailedAttempt) -> FailedAttempt.Decision
}

/// An attempt that failed and could be repeated.
public struct FailedAttempt: Sendable {
    /// What follows a failed attempt.
    public enum Decision: Sendable, Hashable {
        /// What ``SessionConfiguration/retries`` and the server's `Retry-After` say.
        case automatic
        /// Another attempt after this time, at once if it is not positive; it uses up none of the retries.
        ///
        /// The `Retry-After` of the response is not considered. Timeouts and limits apply: the task may wait longer for a
        /// slot, or for its host, if that is down (``SessionConfiguration/outageTimeout``) or has asked other tasks to wait.
        case retry(after: Duration)
        /// None: the task fails with ``FailedAttempt/error``.
        case fail
    }

    /// The task.
    public let task: TransferTask
    /// The failure, with the ``TransferError/status`` of the response if there was one.
    public let error: TransferError
    /// The number of attempts that the task has made, this one included.
    public let number: Int
}

extension RequestRetrier {
    func decision(after failure: TransferFailure, _ number: Int, of task: TransferTask) -> RetryDecision? {
        switch self.decision(after: FailedAttempt(task: task, error: TransferError(failure), number: number)) {
        case .automatic: nil
        case .retry(let delay): .retry(after: delay)
        case .fail: .fail
        }
    }
}
