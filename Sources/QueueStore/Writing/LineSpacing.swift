/// Decides the positions of transfers in a line, with gaps between them so that others can be put in later.
///
/// Pure values: the database is looked at and changed by ``LinePlaces``.
enum LineSpacing {
    /// The distance of neighbours that were added one after the other.
    static let gap: Int64 = 1 << 32
    /// No position lies beyond, so that sums of two do not overflow.
    static let limit: Int64 = 1 << 61
    /// How many on each side are looked at first where a gap is used up.
    static let firstWindow = 64

    /// The distance that a window of `count` entries must have after it was spread out anew.
    ///
    /// It grows with the window, so that a window that was spread takes as many entries again before a larger one is.
    static func spacing(window count: Int) -> Int64 {
        min(Self.gap >> 1, (1 << 20) * Int64(max(1, count / Self.firstWindow)))
    }

    /// `count` positions between two neighbours, which `nil` says are not there.
    ///
    /// - Returns: `nil` where there is no room.
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
