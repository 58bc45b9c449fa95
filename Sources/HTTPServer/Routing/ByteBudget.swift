// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// A limit for the total content of all requests that is in memory.
package final class ByteBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    package init(limit: Int) { self.limit = limit }

    /// Reserves a number of bytes; returns false if the limit would be exceeded.
    func take(_ count: Int) -> Bool {
        let (_, new) = self.used.add(count, ordering: .relaxed)
        guard new > self.limit else { return true }
        self.used.subtract(count, ordering: .relaxed)
        return false
    }

    /// Releases reserved bytes.
    func release(_ count: Int) { self.used.subtract(count, ordering: .relaxed) }
}
