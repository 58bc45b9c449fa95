/// Tells the time and wakes the engine.
///
/// The engine reads no other clock, so a test that owns the time source owns the engine's time.
public protocol TimeSource: Sendable {
    /// Nanoseconds of a clock that only goes forward and counts while the process runs.
    var now: Int64 { get }

    /// Seconds since 1970-01-01T00:00:00Z.
    var wallNow: Int64 { get }

    /// Calls `work` once, `delay` nanoseconds from now at the earliest, on a thread of the time source.
    ///
    /// - Returns: A token whose `cancel()` prevents the call unless it has begun.
    @discardableResult
    func schedule(after delay: Int64, _ work: @escaping @Sendable () -> Void) -> any Timer
}

/// A call that was scheduled.
public protocol Timer: Sendable {
    /// Prevents the call unless it has begun.
    func cancel()
}

/// Runs work that may block (fsync, rename, hashing) away from the lanes.
public protocol BlockingPool: Sendable {
    /// Runs `work` soon on a thread that may block.
    func run(_ work: @escaping @Sendable () -> Void)
}
