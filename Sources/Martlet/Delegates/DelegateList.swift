// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization

/// Delegates, referenced weakly, each with the inbox for its calls.
final class DelegateList<Delegate: Sendable>: Sendable {
    /// An entry for one delegate.
    final class Member: Sendable {
        private let inbox: Inbox
        private let delegate: @Sendable () -> Delegate?
        let identity: ObjectIdentifier

        init(
            _ identity: ObjectIdentifier,
            _ context: CallbackContext,
            _ attendants: Attendants,
            _ delegate: @escaping @Sendable () -> Delegate?
        ) {
            self.delegate = delegate
            self.identity = identity
            self.inbox = Inbox(context, attendants)
        }

        var isThere: Bool { self.delegate() != nil }

        /// Calls the delegate in its context, if it still exists then.
        func tell(_ call: @escaping @Sendable (Delegate) -> Void) {
            self.inbox.put { if let delegate = self.delegate() { call(delegate) } }
        }

        /// Keeps a hold until all earlier calls have returned.
        func keep(_ hold: CallOnce) { self.afterEarlierCalls { withExtendedLifetime(hold) {} } }

        /// Runs work in the delegate's context when all earlier calls have returned, even if it no longer exists.
        func afterEarlierCalls(_ work: @escaping @Sendable () -> Void) { self.inbox.put(work) }

        /// Makes the pending calls if the calling thread is in their context.
        func makeCallsIfHere() { self.inbox.makeCallsIfHere() }

        /// Whether no call is pending or in progress.
        var isIdle: Bool { self.inbox.isIdle }

        /// Calls the delegate in its context, or `otherwise` if it no longer exists then.
        func ask(_ call: @escaping @Sendable (Delegate) -> Void, otherwise: @escaping @Sendable () -> Void) {
            self.inbox.put { if let delegate = self.delegate() { call(delegate) } else { otherwise() } }
        }
    }

    private struct State {
        var members: [Member] = []
        /// Removed ones with pending calls.
        var leaving: [Member] = []

        mutating func remove(where isRemoved: (Member) -> Bool) {
            self.leaving.removeAll(where: \.isIdle)
            self.leaving += self.members.filter { isRemoved($0) && !$0.isIdle }
            self.members.removeAll(where: isRemoved)
        }
    }

    private let state = Mutex(State())
    private let attendants = Attendants()

    /// Adds a delegate, or moves it to another context.
    ///
    /// - Parameters:
    ///   - identity: The identity of the delegate.
    ///   - context: The context in which it is called.
    ///   - delegate: Returns the delegate while it exists; it must not reference it strongly.
    func add(_ identity: ObjectIdentifier, on context: CallbackContext, _ delegate: @escaping @Sendable () -> Delegate?)
    {
        let member = Member(identity, context, self.attendants, delegate)
        self.state.withLock { state in
            state.remove { !$0.isThere || $0.identity == identity }
            state.members.append(member)
        }
    }

    func remove(_ identity: ObjectIdentifier) {
        self.state.withLock { $0.remove { !$0.isThere || $0.identity == identity } }
    }

    /// The existing delegates, in the order in which they were added.
    var current: [Member] {
        self.state.withLock { state in state.members.isEmpty ? [] : state.members.filter(\.isThere) }
    }

    // MARK: Waiting threads

    /// A thread is about to block: new calls wake it.
    func attend(_ attendant: Attendant) { self.attendants.add(attendant) }

    /// The thread no longer blocks.
    func leave(_ attendant: Attendant) { self.attendants.remove(attendant) }

    /// Makes the pending calls of the calling thread's context, also those of removed delegates.
    func makeCallsOfThisThread() {
        for member in self.state.withLock({ $0.members + $0.leaving }) { member.makeCallsIfHere() }
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
