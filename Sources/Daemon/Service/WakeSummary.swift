// SPDX-License-Identifier: Apache-2.0
/// The state of a session's wake command, as shown to users.
package struct WakeSummary: Sendable, Hashable {
    /// A state of a wake command.
    package enum State: String, Sendable, Hashable {
        /// No end of a transfer is unhandled.
        case idle
        /// It is started when all transfers have ended, or soon after the first end.
        case gathering
        /// It runs.
        case running
        /// It has failed and is started again after a pause.
        case pausing
        /// It has failed too often and is started again when another transfer ends.
        case exhausted
    }

    package var state: State
    /// The number of consecutive failed starts.
    package var failures: Int
    /// The last failure, if there is one.
    package var problem: String?

    package init(state: State, failures: Int, problem: String?) {
        self.state = state
        self.failures = failures
        self.problem = problem
    }
}
