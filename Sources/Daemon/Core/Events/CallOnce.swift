// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Calls a closure exactly once, at the latest when the object is released.
final class CallOnce: Sendable {
    private let call: Mutex<(@Sendable () -> Void)?>

    init(_ call: @escaping @Sendable () -> Void) { self.call = Mutex(call) }

    func now() {
        let call = self.call.withLock { call in
            defer { call = nil }
            return call
        }
        call?()
    }

    deinit { self.now() }
}
