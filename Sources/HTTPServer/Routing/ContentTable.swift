// SPDX-License-Identifier: Apache-2.0
/// Decides which content to drop when that of all unauthenticated clients together is too large: the oldest.
///
/// Pure value. Content that is being handled is pinned: it is counted, but not dropped.
///
/// - Invariant: ``total`` is at most `limit`, and the sum of the sizes of all content.
struct ContentTable {
    /// The decision about more bytes.
    enum Growth: Hashable {
        /// Keep them, and drop other content, which was removed from the table.
        case keep(dropping: [Int])
        /// Drop the content itself, which was removed from the table.
        case drop
        /// The content is not in the table: it was dropped before.
        case unknown
    }

    private struct Entry {
        var size = 0
        var isPinned = false
    }

    private let limit: Int
    private var entries: [Int: Entry] = [:]
    private var next = 0
    /// No content before this one can be dropped.
    private var oldest = 0
    /// The number of bytes of all content.
    private(set) var total = 0

    /// Creates an empty table.
    ///
    /// - Parameter limit: The maximum number of bytes together.
    init(limit: Int) { self.limit = limit }

    var count: Int { self.entries.count }

    /// Content begins; returns its identifier.
    mutating func opened() -> Int {
        defer { self.next += 1 }
        self.entries[self.next] = Entry()
        return self.next
    }

    /// Bytes are about to be added.
    mutating func grew(_ id: Int, by count: Int) -> Growth {
        guard self.entries[id] != nil else { return .unknown }
        var dropped: [Int] = []
        while count > self.limit - self.total {
            guard let victim = self.oldestUnpinned(), victim != id else {
                self.closed(id)
                return .drop
            }
            self.closed(victim)
            dropped.append(victim)
        }
        self.entries[id]?.size += count
        self.total += count
        return .keep(dropping: dropped)
    }

    /// Bytes were released.
    mutating func shrank(_ id: Int, by count: Int) {
        guard let size = self.entries[id]?.size else { return }
        let released = min(size, count)
        self.entries[id]?.size -= released
        self.total -= released
    }

    /// The content is complete and is being handled.
    mutating func pinned(_ id: Int) { self.entries[id]?.isPinned = true }

    /// The content was released.
    mutating func closed(_ id: Int) { self.total -= self.entries.removeValue(forKey: id)?.size ?? 0 }

    private mutating func oldestUnpinned() -> Int? {
        while self.oldest < self.next {
            if let entry = self.entries[self.oldest], !entry.isPinned { return self.oldest }
            self.oldest += 1
        }
        return nil
    }
}
