// SPDX-License-Identifier: Apache-2.0

/// A set of the numbers of a file's pages.
struct PageSet {
    private var words: [UInt64] = []
    private(set) var count = 0

    var isEmpty: Bool { self.count == 0 }

    /// Inserts pages; returns how many were not in the set.
    @discardableResult
    mutating func insert(_ pages: Range<Int>) -> Int {
        guard !pages.isEmpty else { return 0 }
        let length = (pages.upperBound + 63) / 64
        if self.words.count < length {
            self.words.append(contentsOf: repeatElement(0, count: length - self.words.count))
        }
        var added = 0
        self.forEachWord(pages) { words, index, mask in
            added += (mask & ~words[index]).nonzeroBitCount
            words[index] |= mask
        }
        self.count += added
        return added
    }

    /// Removes pages; returns how many were in the set.
    @discardableResult
    mutating func remove(_ pages: Range<Int>) -> Int {
        let pages = pages.clamped(to: 0..<self.words.count * 64)
        var removed = 0
        self.forEachWord(pages) { words, index, mask in
            removed += (mask & words[index]).nonzeroBitCount
            words[index] &= ~mask
        }
        self.count -= removed
        return removed
    }

    mutating func removeAll() {
        guard self.count > 0 else { return }
        for index in self.words.indices { self.words[index] = 0 }
        self.count = 0
    }

    /// How many of these pages are not in the set.
    func missing(_ pages: Range<Int>) -> Int { pages.reduce(0) { $0 + (self.contains($1) ? 0 : 1) } }

    func contains(_ page: Int) -> Bool {
        page >> 6 < self.words.count && self.words[page >> 6] & (1 << UInt64(page & 63)) != 0
    }

    func first(from page: Int) -> Int? {
        var index = page >> 6
        guard index < self.words.count else { return nil }
        var word = self.words[index] & (.max << UInt64(page & 63))
        while word == 0 {
            index += 1
            guard index < self.words.count else { return nil }
            word = self.words[index]
        }
        return index * 64 + word.trailingZeroBitCount
    }

    /// The pages, in order.
    var pages: [Int] {
        var pages: [Int] = []
        pages.reserveCapacity(self.count)
        for (index, bits) in self.words.enumerated() where bits != 0 {
            var rest = bits
            while rest != 0 {
                pages.append(index * 64 + rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }
        return pages
    }

    private mutating func forEachWord(_ pages: Range<Int>, _ body: (inout [UInt64], Int, UInt64) -> Void) {
        var page = pages.lowerBound
        while page < pages.upperBound {
            let end = min(pages.upperBound, (page / 64 + 1) * 64)
            let bits = end - page == 64 ? UInt64.max : (1 << UInt64(end - page)) - 1
            body(&self.words, page / 64, bits << UInt64(page % 64))
            page = end
        }
    }
}
