// SPDX-License-Identifier: Apache-2.0
package import Control

/// A session in the database.
package struct StoredSession: Sendable, Hashable {
    package var identifier: String
    /// Its configuration, JSON text.
    package var configuration: String
    /// The number of the last acknowledged event, or 0.
    package var acknowledged: Int64
    /// The number of the last event ever stored, or 0.
    package var last: Int64

    package init(identifier: String, configuration: String, acknowledged: Int64, last: Int64) {
        self.identifier = identifier
        self.configuration = configuration
        self.acknowledged = acknowledged
        self.last = last
    }
}

/// An event of a session in the database.
package struct StoredEvent: Sendable, Hashable {
    /// Its number in the session, from 1 on.
    package var number: Int64
    package var transfer: GID
    /// The event, JSON text.
    package var json: String

    /// Creates an event.
    package init(number: Int64, transfer: GID, json: String) {
        self.number = number
        self.transfer = transfer
        self.json = json
    }
}
