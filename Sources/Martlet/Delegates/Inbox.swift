// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import HTTPTransport
internal import Platform
internal import Synchronization

/// Pending calls in one context, made one at a time and in order.
final class Inbox: Sendable {
    private let context: CallbackContext
    private let line = Mutex(CallLine<@Sendable () -> Void>())
    /// The threads that wait for these calls.
    private let attendants: Attendants?

    init(_ context: CallbackContext, _ attendants: Attendants? = nil) {
        self.context = context
        self.attendants = attendants
    }

    var isIdle: Bool { self.line.withLock { $0.isIdle } }

    /// Appends a call; it is released, with all that it captures, as soon as it returns.
    func put(_ call: @escaping @Sendable () -> Void) {
        let mustSchedule = self.line.withLock { $0.append(call) }
        if mustSchedule { SharedLoops.afterThisRound { self.context.run { self.makeCalls(isScheduled: true) } } }
        self.attendants?.wake()
    }

    /// Makes the pending calls on the calling thread if it is in their context, or is making one of them.
    func makeCallsIfHere() {
        let isCaller = self.line.withLock { $0.isCaller(SystemThread.current) }
        if isCaller || self.context.isCurrent() { self.makeCalls(isScheduled: false) }
    }

    private func makeCalls(isScheduled: Bool) {
        let thread = SystemThread.current
        guard self.line.withLock({ $0.enter(thread, isScheduled: isScheduled) }) else { return }
        while let call = self.line.withLock({ $0.next(thread) }) { call() }
    }
}
