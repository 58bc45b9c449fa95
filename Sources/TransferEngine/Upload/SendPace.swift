// SPDX-License-Identifier: Apache-2.0
/// Adapts the size of an upload's pieces: large on a fast connection, small on a slow one, for timely progress.
struct SendPace: Sendable {
    /// The size of the next piece in bytes.
    private(set) var size = Self.first
    private var lastAt: Int64?

    private static let first: Int64 = 256 << 10
    private static let least: Int64 = 16 << 10
    private static let most: Int64 = 4 << 20
    private static let quick: Int64 = 10_000_000
    private static let slow: Int64 = 250_000_000

    /// Excludes a wait for the rate limit or the source from the measured time.
    mutating func paused() { self.lastAt = nil }

    /// Records that the kernel accepted bytes.
    mutating func sent(_ count: Int, now: Int64) {
        defer { self.lastAt = now }
        guard let lastAt, Int64(count) >= self.size / 2 else { return }
        let time = now - lastAt
        if time < Self.quick {
            self.size = min(self.size * 2, Self.most)
        } else if time > Self.slow {
            self.size = max(self.size / 2, Self.least)
        }
    }
}
