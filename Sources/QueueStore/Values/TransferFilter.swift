// SPDX-License-Identifier: Apache-2.0
package import Control

/// Selects transfers by state, session and text.
package struct TransferFilter: Sendable {
    /// The states, not empty.
    package var states: Set<TransferRecord.State>
    /// `.some(nil)` for the shared queue alone, `nil` for everything.
    package var session: String??
    /// The words that the name or a URL must contain.
    package var words: [String]
    /// The started transfers, which are stored as waiting, by their states.
    package var started: [TransferRecord.State: Set<GID>]

    package init(
        states: Set<TransferRecord.State>,
        session: String??,
        words: [String] = [],
        started: [TransferRecord.State: Set<GID>] = [:]
    ) {
        self.states = states
        self.session = session
        self.words = words
        self.started = started
    }
}
