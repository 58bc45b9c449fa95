// SPDX-License-Identifier: Apache-2.0
package import Control

/// The key of a count: a session and a state.
package struct CountKey: Sendable, Hashable {
    /// The session, or `nil` for the shared queue.
    package var session: String?
    package var state: TransferRecord.State

    package init(session: String?, state: TransferRecord.State) {
        self.session = session
        self.state = state
    }
}
