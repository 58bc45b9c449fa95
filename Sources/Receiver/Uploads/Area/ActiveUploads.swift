// SPDX-License-Identifier: Apache-2.0
internal import Platform
internal import Synchronization

/// The uploads that requests are writing to, each with a way to abort its request: one writer per upload.
///
/// A client that lost its connection often reconnects before the receiver notices the loss. A later request therefore
/// takes precedence: it aborts the earlier one and waits until that has released the upload.
final class ActiveUploads: Sendable {
    /// The maximum number of waiting requests: they block threads that the aborted requests need, too.
    private static let mostWaiting = 4

    private let cancels = Mutex<[String: @Sendable () -> Void]>([:])
    private let waiting = Atomic<Int>(0)

    init() {}

    /// Acquires an upload; blocks for at most about five seconds while an earlier request is aborted.
    ///
    /// - Parameters:
    ///   - id: The upload.
    ///   - cancel: Aborts the acquiring request; called on any thread.
    /// - Returns: Whether it was acquired: false if the earlier request does not release it, or if too many requests
    ///   wait.
    func take(_ id: String, cancel: @escaping @Sendable () -> Void) -> Bool {
        guard let earlier = self.takeNow(id, cancel) else { return true }
        earlier()
        defer { self.waiting.subtract(1, ordering: .relaxed) }
        guard self.waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else { return false }
        for _ in 0..<500 {
            usleep(10_000)
            guard let earlier = self.takeNow(id, cancel) else { return true }
            earlier()
        }
        return false
    }

    /// Acquires an upload that has no owner; otherwise returns the function that aborts its owner.
    private func takeNow(_ id: String, _ cancel: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
        self.cancels.withLock { cancels in
            if let earlier = cancels[id] { return earlier }
            cancels[id] = cancel
            return nil
        }
    }

    func release(_ id: String) { self.cancels.withLock { _ = $0.removeValue(forKey: id) } }

    /// Whether a request owns the upload.
    func contains(_ id: String) -> Bool { self.cancels.withLock { $0[id] != nil } }
}
