// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The progress not yet delivered to one delegate, merged into one value.
final class ProgressSlot: Sendable {
    private let waiting = Mutex<TransferProgress?>(nil)

    /// Adds progress.
    ///
    /// - Returns: Whether the slot was empty, so that the delegate must be called.
    func put(_ made: TransferProgress) -> Bool {
        self.waiting.withLock { waiting in
            var next = made
            if let waiting { next.bytesSinceLast += waiting.bytesSinceLast }
            defer { waiting = next }
            return waiting == nil
        }
    }

    /// Takes the merged progress.
    func take() -> TransferProgress? {
        self.waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
    }
}
