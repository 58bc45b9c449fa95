// SPDX-License-Identifier: Apache-2.0
internal import Platform
public import TransferEngine

internal import NIOCore

/// Reads the system's clocks and schedules timers on an event loop.
public struct NIOTimeSource: TimeSource {
    private let loop: any EventLoop
    /// Retained so that the thread exists as long as its timers.
    private let loops: SharedLoops

    init(loop: any EventLoop, of loops: SharedLoops) {
        self.loop = loop
        self.loops = loops
    }

    /// The monotonic clock, in nanoseconds.
    public var now: Int64 { Int64(truncatingIfNeeded: NIODeadline.now().uptimeNanoseconds) }

    /// The current time, in seconds since 1970-01-01T00:00:00Z.
    public var wallNow: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }

    /// Calls `work` once on the event loop, after at least `delay` nanoseconds.
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
    /// A delay in nanoseconds, clamped to 0 through ten years, so that adding it to the clock cannot overflow.
    static func bounded(_ nanoseconds: Int64) -> TimeAmount {
        .nanoseconds(min(max(0, nanoseconds), 10 * 365 * 86_400 * 1_000_000_000))
    }
}
