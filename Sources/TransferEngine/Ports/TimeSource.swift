// SPDX-License-Identifier: Apache-2.0
/// Provides the time and timers.
///
/// The engine reads no other clock, so a test that controls the time source controls the engine's time.
public protocol TimeSource: Sendable {
    /// Nanoseconds of a monotonic clock.
    var now: Int64 { get }

    /// Seconds since 1970-01-01T00:00:00Z.
    var wallNow: Int64 { get }

    /// Calls `work` once, at least `delay` nanoseconds from now, on a thread of the time source.
    ///
    /// - Returns: A token whose `cancel()` prevents the call unless it has begun.
    @discardableResult
    func schedule(after delay: Int64, _ work: @escaping @Sendable () -> Void) -> any Timer
}

/// A scheduled call.
public protocol Timer: Sendable {
    /// Prevents the call unless it has begun.
    func cancel()
}

/// Runs work that may block (fsync, rename, hashing) away from the lanes.
public protocol BlockingPool: Sendable {
    /// Runs `work` soon on a thread that may block.
    func run(_ work: @escaping @Sendable () -> Void)
}
