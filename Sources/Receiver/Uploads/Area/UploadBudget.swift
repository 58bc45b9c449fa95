// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// The number of bytes that all uploads of a run may occupy, with their records and new directories.
///
/// Each file, record and directory counts in blocks, and at least one: many small ones would otherwise cost nothing.
final class UploadBudget: Sendable {
    private let limit: Int64?
    private let used = Atomic<Int64>(0)

    /// - Parameter limit: The maximum number of bytes, or `nil` for no limit.
    init(limit: Int64?) { self.limit = limit }

    /// The size of a block, in bytes.
    static let block: Int64 = 4096

    /// The cost of a file of a size, in bytes.
    static func cost(_ size: Int64) -> Int64 {
        max(self.block, size.adding(clamping: self.block - 1) / self.block * self.block)
    }

    /// The number of bytes that are occupied or reserved; 0 without a limit.
    var occupied: Int64 { self.used.load(ordering: .relaxed) }

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

    /// Reserves the cost of a file that grows; returns false if it exceeds the limit.
    func grow(from size: Int64, to new: Int64) -> Bool { self.take(Self.cost(new) - Self.cost(size)) }

    /// Releases the cost of the part of a file that is removed.
    func shrink(from size: Int64, to new: Int64) { self.give(Self.cost(size) - Self.cost(new)) }

    /// Releases bytes.
    func give(_ count: Int64) {
        if self.limit != nil { self.used.subtract(count, ordering: .relaxed) }
    }
}
