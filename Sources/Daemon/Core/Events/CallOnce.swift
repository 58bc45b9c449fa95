internal import Synchronization

/// Calls once, at the latest when nobody holds it any more.
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
