#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
public import TransferEngine

internal import NIOCore

/// Tells the system's time and wakes on a lane's event loop.
public struct NIOTimeSource: TimeSource {
    private let loop: any EventLoop
    /// Kept so that the thread lasts as long as what waits for it.
    private let loops: SharedLoops

    init(loop: any EventLoop, of loops: SharedLoops) {
        self.loop = loop
        self.loops = loops
    }

    /// Nanoseconds of the monotonic clock.
    public var now: Int64 { Int64(truncatingIfNeeded: NIODeadline.now().uptimeNanoseconds) }

    /// Seconds since 1970-01-01T00:00:00Z.
    public var wallNow: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }

    /// Calls `work` once on the lane's loop, `delay` nanoseconds from now at the earliest.
    @discardableResult
    public func schedule(after delay: Int64, _ work: @escaping @Sendable () -> Void) -> any Timer {
        LoopTimer(scheduled: self.loop.scheduleTask(in: .bounded(delay), work))
    }
}

private struct LoopTimer: Timer {
    let scheduled: Scheduled<Void>

    func cancel() { self.scheduled.cancel() }
}

extension TimeAmount {
    /// A delay in nanoseconds, held between 0 and ten years so that adding it to the clock cannot overflow.
    static func bounded(_ nanoseconds: Int64) -> TimeAmount {
        .nanoseconds(min(max(0, nanoseconds), 10 * 365 * 86_400 * 1_000_000_000))
    }
}
