// SPDX-License-Identifier: Apache-2.0
/// Computes the positions of transfers in a queue, with gaps for later insertions.
///
/// Pure functions; ``LinePlaces`` reads and changes the database.
enum LineSpacing {
    /// The distance between transfers that are appended.
    static let gap: Int64 = 1 << 32
    /// The maximum magnitude of a position, so that the sum of two does not overflow.
    static let limit: Int64 = 1 << 61
    /// The number of neighbours on each side to redistribute first if a gap is used up.
    static let firstWindow = 64

    /// Returns the minimum distance in a window of `count` entries after its redistribution.
    ///
    /// It grows with the window, so that a window accepts as many new entries before a larger one is redistributed.
    static func spacing(window count: Int) -> Int64 {
        min(Self.gap >> 1, (1 << 20) * Int64(max(1, count / Self.firstWindow)))
    }

    /// Returns `count` positions between two neighbours; `nil` for a missing neighbour.
    ///
    /// - Returns: The positions, or `nil` if the gap is too small.
    static func positions(_ count: Int, after low: Int64?, before high: Int64?, least: Int64 = 1) -> [Int64]? {
        let count64 = Int64(count)
        guard count64 < Self.limit / Self.gap else { return nil }
        let first: Int64
        let step: Int64
        switch (low, high) {
        case (nil, nil): (first, step) = (0, Self.gap)
        case (let low?, nil): (first, step) = (low + Self.gap, Self.gap)
        case (nil, let high?): (first, step) = (high - Self.gap * count64, Self.gap)
        case (let low?, let high?):
            step = (high - low) / (count64 + 1)
            first = low + step
        }
        guard step >= least, first >= -Self.limit, first + step * max(0, count64 - 1) <= Self.limit else { return nil }
        return (0..<count64).map { first + step * $0 }
    }
}
