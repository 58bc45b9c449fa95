internal import Synchronization

/// The progress that one delegate has not heard of yet, however often it was made.
final class ProgressSlot: Sendable {
    private let waiting = Mutex<TransferProgress?>(nil)

    /// Adds progress.
    ///
    /// - Returns: Whether nothing waited, so that the delegate is to be called.
    func put(_ made: TransferProgress) -> Bool {
        self.waiting.withLock { waiting in
            var next = made
            if let waiting { next.bytesSinceLast += waiting.bytesSinceLast }
            defer { waiting = next }
            return waiting == nil
        }
    }

    /// Takes all that waits.
    func take() -> TransferProgress? {
        self.waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
    }
}
