internal import HTTPTransport

/// The threads of all sessions of this process: the event loops that move data, and the pool that waits for disks.
///
/// They are started by the first session and stay, so that a session costs no thread.
enum SharedRuntime {
    static let loops = SharedLoops(laneCount: HTTPTransport.Configuration().laneCount)
    static let pool = NIOBlockingPool(threadCount: 4)
}
