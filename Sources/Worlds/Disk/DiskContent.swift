// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferTesting

/// The bytes of a simulated file: those that a process reads, and those that survive a loss of power.
///
/// Written pages are dirty until they are synced. The bytes after the end of either version are zero.
final class DiskContent {
    static let page = 4096
    private static let sector = 512

    /// The length that processes see.
    private(set) var size = 0
    /// The pages that occupy space.
    private(set) var allocated = PageSet()
    private var dirty = PageSet()
    private var bytes = DiskBytes()
    private var durable = DiskBytes()
    private(set) var durableSize = 0
    /// The least length to which the file was truncated since the last sync.
    private var cut = Int.max

    /// Whether a sync failed, so that clean pages are not durable.
    private var hasLostPages = false

    /// Whether something is not durable.
    var isDirty: Bool { !self.dirty.isEmpty || self.size != self.durableSize || self.cut != .max }

    private static func pages(_ offset: Int, _ count: Int) -> Range<Int> {
        count <= 0 ? 0..<0 : offset / self.page..<(offset + count - 1) / self.page + 1
    }

    // MARK: Processes

    /// Reads bytes; returns their number.
    func read(_ target: UnsafeMutableRawPointer, _ count: Int, at offset: Int) -> Int {
        let count = max(0, min(count, self.size - offset))
        if count > 0 { self.bytes.read(target, count, at: offset) }
        return count
    }

    /// The number of pages that a write would allocate.
    func missingPages(_ offset: Int, _ count: Int) -> Int { self.allocated.missing(Self.pages(offset, count)) }

    /// Writes bytes; returns the number of pages that were allocated.
    @discardableResult
    func write(_ source: UnsafeRawPointer, _ count: Int, at offset: Int) -> Int {
        guard count > 0 else { return 0 }
        self.bytes.write(source, count, at: offset)
        self.size = max(self.size, offset + count)
        let pages = Self.pages(offset, count)
        self.dirty.insert(pages)
        return self.allocated.insert(pages)
    }

    /// Sets the length; returns the number of pages that were freed.
    func truncate(_ length: Int) -> Int {
        if length < self.size {
            self.bytes.zero(length..<self.size)
            let first = (length + Self.page - 1) / Self.page
            self.dirty.remove(first..<Int.max / Self.page)
            if length % Self.page != 0 { self.dirty.insert(length / Self.page..<length / Self.page + 1) }
            self.cut = min(self.cut, length)
        }
        self.size = length
        return self.allocated.remove((length + Self.page - 1) / Self.page..<Int.max / Self.page)
    }

    /// Allocates pages from the beginning; returns how many were added.
    func allocate(_ length: Int) -> Int { self.allocated.insert(Self.pages(0, length)) }

    /// Makes a hole; returns the number of pages that were freed.
    func punch(_ range: Range<Int>) -> Int {
        let range = range.clamped(to: 0..<max(self.size, range.lowerBound))
        if !range.isEmpty {
            self.bytes.zero(range)
            self.dirty.insert(Self.pages(range.lowerBound, range.count))
        }
        let first = (range.lowerBound + Self.page - 1) / Self.page
        let end = range.upperBound / Self.page
        return first < end ? self.allocated.remove(first..<end) : 0
    }

    // MARK: Durability

    /// Makes everything durable.
    func sync() {
        guard self.isDirty else { return }
        if self.cut < self.durableSize { self.durable.zero(self.cut..<self.durableSize) }
        for page in self.dirty.pages { self.flush(page) }
        self.dirty.removeAll()
        if self.size < self.durableSize { self.durable.zero(self.size..<self.durableSize) }
        self.durableSize = self.size
        self.cut = .max
    }

    /// Applies a failed sync: the pages count as clean, but they are never written (fsync(2)).
    func failSync() {
        if !self.dirty.isEmpty { self.hasLostPages = true }
        self.dirty.removeAll()
    }

    /// Writes one dirty page in the background.
    func writeBack(_ random: inout SeededGenerator) {
        guard self.cut == .max, let last = self.size > 0 ? (self.size - 1) / Self.page : nil,
            let page = self.dirty.first(from: Int.random(in: 0...last, using: &random))
        else { return }
        // It stays dirty: whether it is written again makes no difference.
        self.flush(page)
        self.durableSize = max(self.durableSize, min(self.size, (page + 1) * Self.page))
    }

    private func flush(_ page: Int) { self.durable.copy(self.bytes, page * Self.page, Self.page) }

    /// Becomes what the device has after a loss of power: each page old, new, a mixture by sectors, or zero.
    func losePower(_ random: inout SeededGenerator) {
        guard self.isDirty || self.hasLostPages else { return }
        self.hasLostPages = false
        if Int.random(in: 0..<4, using: &random) == 0 { self.sync() }
        if self.cut < self.durableSize, Bool.random(using: &random) {
            self.durable.zero(self.cut..<self.durableSize)
            self.durableSize = self.cut
        }
        let (shorter, longer) = (min(self.size, self.durableSize), max(self.size, self.durableSize))
        let length =
            switch Int.random(in: 0..<3, using: &random) {
            case 0: self.durableSize
            case 1: self.size
            // Writes extend a file page by page. A truncation is one change: SQLite relies on it for its log.
            default: self.size < self.durableSize ? self.size : Int.random(in: shorter...longer, using: &random)
            }
        for page in self.dirty.pages {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: break
            case 1:
                for sector in 0..<Self.page / Self.sector where Bool.random(using: &random) {
                    self.durable.copy(self.bytes, page * Self.page + sector * Self.sector, Self.sector)
                }
            default: self.flush(page)
            }
        }
        self.durable.zero(length..<Int.max)
        self.durableSize = length
        self.size = length
        self.bytes.assign(self.durable, length)
        self.dirty.removeAll()
        self.cut = .max
        self.allocated.remove((length + Self.page - 1) / Self.page..<Int.max / Self.page)
    }
}

/// Memory that grows, and is zero where nothing was written.
struct DiskBytes: ~Copyable {
    private var base: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The length before which bytes have a value: those after it are zero, whatever the memory has.
    private var count = 0

    init() {}

    deinit { free(self.base) }

    /// Makes room, and gives the bytes between the known ones and an offset their value.
    private mutating func reserve(_ needed: Int, from offset: Int) {
        if needed > self.capacity {
            let wanted = max(needed, self.capacity * 2, 4096)
            guard let grown = realloc(self.base, wanted) else { preconditionFailure("no memory for a simulated file") }
            self.base = grown
            self.capacity = wanted
        }
        guard let base = self.base else { return }
        if offset > self.count { memset(base + self.count, 0, offset - self.count) }
        self.count = max(self.count, needed)
    }

    func read(_ target: UnsafeMutableRawPointer, _ count: Int, at offset: Int) {
        let known = max(0, min(count, self.count - offset))
        if known > 0, let base = self.base { memcpy(target, base + offset, known) }
        if known < count { memset(target + known, 0, count - known) }
    }

    mutating func write(_ source: UnsafeRawPointer, _ count: Int, at offset: Int) {
        self.reserve(offset + count, from: offset)
        if let base = self.base { memcpy(base + offset, source, count) }
    }

    mutating func zero(_ range: Range<Int>) {
        if range.upperBound >= self.count {
            self.count = min(self.count, range.lowerBound)
        } else if !range.isEmpty, let base = self.base {
            memset(base + range.lowerBound, 0, range.count)
        }
    }

    /// Copies a range of other bytes.
    mutating func copy(_ other: borrowing DiskBytes, _ offset: Int, _ count: Int) {
        self.reserve(offset + count, from: offset)
        if let base = self.base { other.read(base + offset, count, at: offset) }
    }

    /// Becomes equal to other bytes, up to a length.
    mutating func assign(_ other: borrowing DiskBytes, _ length: Int) {
        self.count = 0
        if length > 0 { self.copy(other, 0, length) }
    }
}
