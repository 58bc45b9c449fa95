// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Delegates, referenced weakly, each with the inbox for its calls.
final class DelegateList<Delegate: Sendable>: Sendable {
    /// An entry for one delegate.
    final class Member: Sendable {
        private let inbox: Inbox
        private let delegate: @Sendable () -> Delegate?
        let identity: ObjectIdentifier

        init(_ identity: ObjectIdentifier, _ context: CallbackContext, _ delegate: @escaping @Sendable () -> Delegate?)
        {
            self.delegate = delegate
            self.identity = identity
            self.inbox = Inbox(context)
        }

        var isThere: Bool { self.delegate() != nil }

        /// Calls the delegate in its context, if it still exists then.
        func tell(_ call: @escaping @Sendable (Delegate) -> Void) {
            self.inbox.put { if let delegate = self.delegate() { call(delegate) } }
        }

        /// Keeps a hold until all earlier calls have returned.
        func keep(_ hold: EventHold) { self.inbox.put { withExtendedLifetime(hold) {} } }

        /// Calls the delegate in its context, or `otherwise` if it no longer exists then.
        func ask(_ call: @escaping @Sendable (Delegate) -> Void, otherwise: @escaping @Sendable () -> Void) {
            self.inbox.put { if let delegate = self.delegate() { call(delegate) } else { otherwise() } }
        }
    }

    private let members = Mutex<[Member]>([])

    /// Adds a delegate, or moves it to another context.
    ///
    /// - Parameters:
    ///   - identity: The identity of the delegate.
    ///   - context: The context in which it is called.
    ///   - delegate: Returns the delegate while it exists; it must not reference it strongly.
    func add(_ identity: ObjectIdentifier, on context: CallbackContext, _ delegate: @escaping @Sendable () -> Delegate?)
    {
        let member = Member(identity, context, delegate)
        self.members.withLock { members in
            members.removeAll { !$0.isThere || $0.identity == identity }
            members.append(member)
        }
    }

    func remove(_ identity: ObjectIdentifier) {
        self.members.withLock { $0.removeAll { !$0.isThere || $0.identity == identity } }
    }

    /// The existing delegates, in the order in which they were added.
    var current: [Member] {
        self.members.withLock { members in members.isEmpty ? [] : members.filter(\.isThere) }
    }

    /// Calls one delegate after another until one decides, on the thread on which the previous one decided.
    ///
    /// - Parameters:
    ///   - members: The delegates.
    ///   - call: Calls one delegate; its second argument receives the decision.
    ///   - isDefault: Whether a decision leaves the choice to the next delegate.
    ///   - fallback: The decision if no delegate made one.
    ///   - done: Receives the decision.
    static func ask<Decision: Sendable>(
        _ members: ArraySlice<Member>,
        _ call: @escaping @Sendable (Delegate, @escaping @Sendable (Decision) -> Void) -> Void,
        isDefault: @escaping @Sendable (Decision) -> Bool,
        fallback: Decision,
        done: @escaping @Sendable (Decision) -> Void
    ) {
        guard let first = members.first else { return done(fallback) }
        let next: @Sendable (Decision) -> Void = { decision in
            guard isDefault(decision) else { return done(decision) }
            self.ask(members.dropFirst(), call, isDefault: isDefault, fallback: fallback, done: done)
        }
        let answer = PendingDecision(fallback: fallback, next)
        first.ask({ call($0) { answer.give($0) } }, otherwise: { answer.give(fallback) })
    }
}

/// A pending decision: the first one counts; releasing the last reference without one means the fallback.
private final class PendingDecision<Decision: Sendable>: Sendable {
    private let fallback: Decision
    private let next: Mutex<(@Sendable (Decision) -> Void)?>

    init(fallback: Decision, _ next: @escaping @Sendable (Decision) -> Void) {
        self.fallback = fallback
        self.next = Mutex(next)
    }

    deinit { self.next.withLock { $0 }?(self.fallback) }

    func give(_ decision: Decision) {
        let next = self.next.withLock { next in
            defer { next = nil }
            return next
        }
        next?(decision)
    }
}
