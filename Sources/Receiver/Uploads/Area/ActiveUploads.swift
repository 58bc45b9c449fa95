internal import Glibc
internal import Synchronization

/// Which uploads are being written to, and how to end that: of one upload only one request writes at a time.
///
/// A client that lost its connection comes back before this side has noticed. So a later request has precedence: the
/// earlier one is cut off, and the later one waits until it has let go.
final class ActiveUploads: Sendable {
    private let cancels = Mutex<[String: @Sendable () -> Void]>([:])

    init() {}

    /// Takes an upload; blocks, at most a few seconds, while an earlier request is cut off.
    ///
    /// - Parameters:
    ///   - id: The upload.
    ///   - cancel: Cuts the request off that takes it; called from any thread.
    /// - Returns: Whether it was taken.
    func take(_ id: String, cancel: @escaping @Sendable () -> Void) -> Bool {
        for _ in 0..<500 {
            let earlier = self.cancels.withLock { cancels -> (@Sendable () -> Void)? in
                if let earlier = cancels[id] { return earlier }
                cancels[id] = cancel
                return nil
            }
            guard let earlier else { return true }
            earlier()
            usleep(10_000)
        }
        return false
    }

    /// Lets go of an upload.
    func release(_ id: String) { self.cancels.withLock { _ = $0.removeValue(forKey: id) } }

    /// Whether somebody writes to it.
    func contains(_ id: String) -> Bool { self.cancels.withLock { $0[id] != nil } }
}
