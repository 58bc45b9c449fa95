internal import Synchronization

/// The number of bytes that all uploads of a run may occupy.
final class UploadBudget: Sendable {
    private let limit: Int64?
    private let used = Atomic<Int64>(0)

    /// - Parameter limit: The maximum number of bytes, or `nil` for no limit.
    init(limit: Int64?) { self.limit = limit }

    /// Whether `count` more bytes currently fit.
    func fits(_ count: Int64) -> Bool {
        guard let limit else { return true }
        let used = self.used.load(ordering: .relaxed)
        return count <= limit - min(used, limit)
    }

    /// Reserves bytes; returns false if they exceed the limit.
    func take(_ count: Int64) -> Bool {
        guard let limit else { return true }
        let (_, new) = self.used.add(count, ordering: .relaxed)
        guard new > limit else { return true }
        self.used.subtract(count, ordering: .relaxed)
        return false
    }

    /// Reserves bytes that already exist, even beyond the limit.
    func charge(_ count: Int64) {
        if self.limit != nil { self.used.add(count, ordering: .relaxed) }
    }

    /// Releases bytes.
    func give(_ count: Int64) {
        if self.limit != nil { self.used.subtract(count, ordering: .relaxed) }
    }
}
