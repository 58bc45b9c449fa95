// SPDX-License-Identifier: Apache-2.0
/// Chooses the responses to remove from a full cache.
package enum EvictionRule {
    /// Returns the least recently used entries, whose removal leaves at most nine tenths of the limit.
    ///
    /// - Parameters:
    ///   - entries: All entries, with their sizes in bytes and the times of their last use.
    ///   - limit: The limit in bytes.
    /// - Returns: The entries to remove; none while the limit is not exceeded.
    package static func victims<ID>(_ entries: [(id: ID, size: Int64, lastUse: Double)], limit: Int64) -> [ID] {
        guard self.total(entries.map(\.size)) > limit else { return [] }
        let sorted = entries.sorted { $0.lastUse < $1.lastUse }
        var kept = sorted.count
        var total: Int64 = 0
        while kept > 0 {
            total = total.adding(clamping: sorted[kept - 1].size)
            if total > limit / 10 * 9 { break }
            kept -= 1
        }
        return sorted[..<kept].map(\.id)
    }

    /// The sum of sizes, at most `Int64.max`: sparse files can have any size.
    package static func total(_ sizes: [Int64]) -> Int64 { sizes.reduce(0) { $0.adding(clamping: $1) } }
}
