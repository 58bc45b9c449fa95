internal import Synchronization

/// Holds a body back while those who hear of its bytes do not keep up.
///
/// Bytes are counted once for each hearer, from being handed out until it has taken them.
final class FlowGate: Sendable {
    private struct State {
        var outstanding = 0
        var resume: (@Sendable () -> Void)?
    }

    /// Where reading stops, and where it goes on.
    static let high = 1 << 20
    static let low = 256 << 10

    private let state = Mutex(State())

    /// Counts bytes that are handed out.
    ///
    /// - Returns: Whether more may come at once; otherwise `resume` is called once there is room.
    func admit(_ bytes: Int, resume: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLock { state in
            state.outstanding += bytes
            guard state.outstanding > Self.high else { return true }
            state.resume = resume
            return false
        }
    }

    /// Counts bytes that a hearer has taken.
    func release(_ bytes: Int) {
        let resume = self.state.withLock { state -> (@Sendable () -> Void)? in
            state.outstanding -= bytes
            guard state.outstanding <= Self.low else { return nil }
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
    }
}

/// Bytes on their way to one hearer: taken when it says so, or when it is gone.
final class HandedBytes: Sendable {
    private let flow: FlowGate
    private let count: Mutex<Int>

    init(_ flow: FlowGate, _ count: Int) {
        self.flow = flow
        self.count = Mutex(count)
    }

    deinit { self.end() }

    func end() {
        let count = self.count.withLock { count in
            defer { count = 0 }
            return count
        }
        if count > 0 { self.flow.release(count) }
    }
}
