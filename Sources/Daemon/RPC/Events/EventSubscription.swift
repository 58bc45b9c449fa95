internal import Control
internal import Synchronization

/// What one WebSocket is told of its own accord.
final class EventSubscription: Sendable {
    private struct State {
        var hasAria2: Bool
        var kinds: Set<String>?
        var begin: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    /// Creates one.
    ///
    /// - Parameters:
    ///   - isAuthenticated: Whether aria2's notifications come from the first moment on.
    ///   - begin: Called once, when there is something to be told for the first time.
    init(isAuthenticated: Bool, begin: @escaping @Sendable () -> Void) {
        self.state = Mutex(State(hasAria2: isAuthenticated, kinds: nil, begin: isAuthenticated ? nil : begin))
        if isAuthenticated { begin() }
    }

    /// A right token came in a call.
    func authenticated() {
        let begin = self.state.withLock { state in
            state.hasAria2 = true
            return state.begin.take()
        }
        begin?()
    }

    /// `martlet.subscribe` was called.
    func subscribed(to kinds: Set<String>) {
        let begin = self.state.withLock { state in
            state.kinds = kinds
            return state.begin.take()
        }
        begin?()
    }

    /// The messages that an event becomes.
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
