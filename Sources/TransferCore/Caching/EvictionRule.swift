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
        var total = entries.reduce(0) { $0 + $1.size }
        guard total > limit else { return [] }
        var victims: [ID] = []
        for entry in entries.sorted(by: { $0.lastUse < $1.lastUse }) {
            if total <= limit / 10 * 9 { break }
            victims.append(entry.id)
            total -= entry.size
        }
        return victims
    }
}
