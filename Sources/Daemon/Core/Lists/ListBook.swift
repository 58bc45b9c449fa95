// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import Synchronization

/// The lists that clients are reading, each in an unnamed file.
///
/// A list that has not been read for a minute is dropped; if there are too many, the least recently read one is.
final class ListBook: Sendable {
    private struct Entry {
        var list: SpooledList
        /// The transfers that ran when it was made.
        var running: Set<GID>
        var used: ContinuousClock.Instant
    }

    private static let most = 16
    private static let idleTime = Duration.seconds(60)

    private let entries = Mutex<[String: Entry]>([:])

    /// Adds a list, with the transfers that ran when it was made, and returns its name.
    func add(_ list: SpooledList, running: Set<GID>, now: ContinuousClock.Instant = .now) -> String {
        let name = GID.random().description
        self.entries.withLock { entries in
            entries = entries.filter { now - $0.value.used < Self.idleTime }
            if entries.count >= Self.most, let oldest = entries.min(by: { $0.value.used < $1.value.used }) {
                entries[oldest.key] = nil
            }
            entries[name] = Entry(list: list, running: running, used: now)
        }
        return name
    }

    /// Returns a list, with the transfers that ran when it was made, and updates the time of its last use.
    func list(_ name: String, now: ContinuousClock.Instant = .now) -> (SpooledList, running: Set<GID>)? {
        self.entries.withLock { entries in
            entries[name]?.used = now
            return entries[name].map { ($0.list, $0.running) }
        }
    }

    /// Drops a list; its file is freed when its last read has ended.
    func drop(_ name: String) { self.entries.withLock { $0[name] = nil } }
}
