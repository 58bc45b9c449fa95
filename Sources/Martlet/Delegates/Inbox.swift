// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import HTTPTransport

/// Pending calls in one context, made one at a time and in order.
final class Inbox: Sendable {
    private let context: CallbackContext
    private let drain = SerialDrain<@Sendable () -> Void>()

    init(_ context: CallbackContext) { self.context = context }

    /// Appends a call; it is released, with all that it captures, as soon as it returns.
    func put(_ call: @escaping @Sendable () -> Void) {
        guard self.drain.append(call) else { return }
        SharedLoops.afterThisRound { self.context.run { self.drain.run { $0() } } }
    }
}
