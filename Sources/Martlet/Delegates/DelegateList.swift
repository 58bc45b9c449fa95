internal import Synchronization

/// Delegates, held weakly, each with the inbox it is told in.
final class DelegateList<Delegate: Sendable>: Sendable {
    /// One delegate's place.
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

        /// Calls the delegate in its context, if it is still there by then.
        func tell(_ call: @escaping @Sendable (Delegate) -> Void) {
            self.inbox.put { if let delegate = self.delegate() { call(delegate) } }
        }

        /// Keeps something until all calls made before have returned.
        func keep(_ hold: EventHold) { self.inbox.put { withExtendedLifetime(hold) {} } }

        /// Calls the delegate in its context, or the other where it is gone by then.
        func ask(_ call: @escaping @Sendable (Delegate) -> Void, otherwise: @escaping @Sendable () -> Void) {
            self.inbox.put { if let delegate = self.delegate() { call(delegate) } else { otherwise() } }
        }
    }

    private let members = Mutex<[Member]>([])

    /// Adds a delegate, or moves it to another context.
    ///
    /// - Parameters:
    ///   - identity: Whose it is.
    ///   - context: Where it is called.
    ///   - delegate: Gives the delegate as long as it is there; it must not keep it.
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

    /// Those that are there, in the order in which they were added.
    var current: [Member] {
        self.members.withLock { members in members.isEmpty ? [] : members.filter(\.isThere) }
    }

    /// Asks one after the other until one decides, on whichever thread it does.
    ///
    /// - Parameters:
    ///   - members: Whom to ask.
    ///   - call: Asks one; the second argument takes its decision.
    ///   - isDefault: Whether a decision leaves it to the next.
    ///   - fallback: The decision where nobody made one.
    ///   - done: Takes the decision.
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
        let answer = Answer(fallback: fallback, next)
        first.ask({ call($0) { answer.give($0) } }, otherwise: { answer.give(fallback) })
    }
}

/// A decision that is awaited: the first one counts, and none at all where the last hold on it goes away.
private final class Answer<Decision: Sendable>: Sendable {
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
