internal import Synchronization

/// How much of all bodies together may be in memory.
final class BodyBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(limit: Int) { self.limit = limit }

    /// Takes room for some bytes; false where there is none.
    func take(_ count: Int) -> Bool {
        let (_, new) = self.used.add(count, ordering: .relaxed)
        guard new > self.limit else { return true }
        self.used.subtract(count, ordering: .relaxed)
        return false
    }

    /// Gives room back.
    func give(_ count: Int) { self.used.subtract(count, ordering: .relaxed) }
}
