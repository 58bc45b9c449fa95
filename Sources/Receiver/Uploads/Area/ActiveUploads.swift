internal import Glibc
internal import Synchronization

/// Which uploads are being written to, and how to end that: of one upload only one request writes at a time.
///
/// A client that lost its connection comes back before this side has noticed. So a later request has precedence: the
/// earlier one is cut off, and the later one waits until it has let go.
final class ActiveUploads: Sendable {
    /// The most requests that wait: the others need the threads, also those that are waited for.
    private static let mostWaiting = 4

    private let cancels = Mutex<[String: @Sendable () -> Void]>([:])
    private let waiting = Atomic<Int>(0)

    init() {}

    /// Takes an upload; blocks, at most a few seconds, while an earlier request is cut off.
    ///
    /// - Parameters:
    ///   - id: The upload.
    ///   - cancel: Cuts the request off that takes it; called from any thread.
    /// - Returns: Whether it was taken: not where the earlier request does not let go, nor where many wait already.
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

    /// Takes an upload that nobody has; otherwise what cuts off who has it.
    private func takeNow(_ id: String, _ cancel: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
        self.cancels.withLock { cancels in
            if let earlier = cancels[id] { return earlier }
            cancels[id] = cancel
            return nil
        }
    }

    /// Lets go of an upload.
    func release(_ id: String) { self.cancels.withLock { _ = $0.removeValue(forKey: id) } }

    /// Whether somebody writes to it.
    func contains(_ id: String) -> Bool { self.cancels.withLock { $0[id] != nil } }
}
