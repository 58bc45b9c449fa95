// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import Synchronization

/// The notifications that one WebSocket receives.
final class EventSubscription: Sendable {
    private struct State {
        var hasAria2: Bool
        var kinds: Set<String>?
        var begin: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    /// Creates a subscription.
    ///
    /// - Parameters:
    ///   - isAuthenticated: Whether aria2's notifications are sent from the start.
    ///   - begin: Called once, when notifications are first wanted; then events have to be observed.
    init(isAuthenticated: Bool, begin: @escaping @Sendable () -> Void) {
        self.state = Mutex(State(hasAria2: isAuthenticated, kinds: nil, begin: isAuthenticated ? nil : begin))
        if isAuthenticated { begin() }
    }

    /// Starts aria2's notifications after a call with a valid token.
    func authenticated() {
        let begin = self.state.withLock { state in
            state.hasAria2 = true
            return state.begin.take()
        }
        begin?()
    }

    /// Sets the kinds of events that `martlet.subscribe` requested.
    func subscribed(to kinds: Set<String>) {
        let begin = self.state.withLock { state in
            state.kinds = kinds
            return state.begin.take()
        }
        begin?()
    }

    /// Returns the messages to send for an event.
    func messages(for event: ServiceEvent) -> [JSON] {
        let (hasAria2, kinds) = self.state.withLock { ($0.hasAria2, $0.kinds) }
        var messages: [JSON] = []
        if hasAria2, let notification = event.aria2 { messages.append(notification) }
        if kinds?.contains(event.kind) == true {
            messages.append(["jsonrpc": "2.0", "method": "martlet.event", "params": [event.json]])
        }
        return messages
    }
}
