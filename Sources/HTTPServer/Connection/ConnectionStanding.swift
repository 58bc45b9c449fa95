// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The trust of an application in the client of a connection.
package final class ConnectionStanding: Sendable {
    private let known = Atomic<Bool>(false)
    private let onAuthentication: @Sendable () -> Void

    /// Creates the standing of a new connection.
    ///
    /// - Parameter onAuthentication: Called when the client is authenticated.
    package init(onAuthentication: @escaping @Sendable () -> Void = {}) { self.onAuthentication = onAuthentication }

    /// Whether the client has presented a valid credential on this connection.
    package var isAuthenticated: Bool { self.known.load(ordering: .relaxed) }

    /// The client has presented a valid credential: it gets the times and the places of known clients.
    package func authenticated() {
        guard !self.known.exchange(true, ordering: .relaxed) else { return }
        self.onAuthentication()
    }

    /// The client has presented a wrong credential: a proxy may have several clients on one connection.
    package func doubted() { self.known.store(false, ordering: .relaxed) }
}
