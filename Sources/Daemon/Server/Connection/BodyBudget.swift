internal import Synchronization

/// A budget for the bytes of all request bodies in memory.
final class BodyBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Reserves a number of bytes; returns false if the limit would be exceeded.
    func take(_ count: Int) -> Bool {
        let (_, new) = self.used.add(count, ordering: .relaxed)
        guard new > self.limit else { return true }
        self.used.subtract(count, ordering: .relaxed)
        return false
    }

    /// Releases reserved bytes.
    func give(_ count: Int) { self.used.subtract(count, ordering: .relaxed) }
}
