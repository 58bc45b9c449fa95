internal import Synchronization

/// How many bytes all uploads of a run may bring together.
final class UploadBudget: Sendable {
    private let limit: Int64?
    private let used = Atomic<Int64>(0)

    /// - Parameter limit: The most bytes, or `nil` for any number.
    init(limit: Int64?) { self.limit = limit }

    /// Whether so many more bytes would fit now.
    func fits(_ count: Int64) -> Bool {
        guard let limit else { return true }
        let used = self.used.load(ordering: .relaxed)
        return count <= limit - min(used, limit)
    }

    /// Takes room for some bytes; false where there is none.
    func take(_ count: Int64) -> Bool {
        guard let limit else { return true }
        let (_, new) = self.used.add(count, ordering: .relaxed)
        guard new > limit else { return true }
        self.used.subtract(count, ordering: .relaxed)
        return false
    }

    /// Takes room for bytes that are there already, whether there is any or not.
    func charge(_ count: Int64) {
        if self.limit != nil { self.used.add(count, ordering: .relaxed) }
    }

    /// Gives room back.
    func give(_ count: Int64) {
        if self.limit != nil { self.used.subtract(count, ordering: .relaxed) }
    }
}
