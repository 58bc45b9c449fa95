// SPDX-License-Identifier: Apache-2.0
import Control

/// The visible part of a long list of transfers, of which only some rows are loaded.
///
/// - Invariant: `0 <= top <= cursor`, the cursor is visible if there are rows and a height, and `cursor < total` unless
///   both are 0.
struct TopWindow: Equatable {
    /// The index of the first loaded row.
    private(set) var offset = 0
    /// The loaded rows.
    private(set) var records: [TransferRecord] = []
    /// The number of rows, as far as it is known.
    private(set) var total = 0
    /// The index of the selected row.
    private(set) var cursor = 0
    /// The selected transfer; `nil` until its row is loaded.
    private(set) var selected: GID?
    /// The index of the first visible row.
    private(set) var top = 0
    /// The number of visible rows.
    private(set) var height = 0

    /// The number of rows loaded before and after the visible ones, so that scrolling by a line needs no wait.
    private static let margin = 4

    /// The row at an index, if it is loaded.
    func record(at index: Int) -> TransferRecord? {
        let place = index - self.offset
        return self.records.indices.contains(place) ? self.records[place] : nil
    }

    /// The selected transfer's row.
    var current: TransferRecord? {
        self.record(at: self.cursor).flatMap { $0.id == self.selected ? $0 : nil }
    }

    /// The visible rows that are loaded.
    var visible: [TransferRecord] {
        (self.top..<min(self.top + self.height, max(self.top, self.total))).compactMap { self.record(at: $0) }
    }

    /// The rows to load.
    var wanted: (offset: Int, limit: Int) {
        let offset = max(0, self.top - Self.margin)
        return (offset, self.top - offset + self.height + Self.margin)
    }

    /// Whether all visible rows are loaded, as far as it is known that they exist.
    var isLoaded: Bool {
        let end = self.offset + self.records.count
        let visibleEnd = min(self.top + self.height, self.total)
        return visibleEnd <= self.top || (self.offset <= self.top && end >= visibleEnd)
    }

    /// Sets the number of visible rows.
    mutating func resize(height: Int) {
        self.height = max(0, height)
        self.settle()
    }

    /// Moves the cursor; `Int.min` and `Int.max` are the first and the last row.
    mutating func move(by step: Int) {
        let (sum, overflow) = self.cursor.addingReportingOverflow(step)
        self.cursor = overflow ? (step < 0 ? 0 : .max) : sum
        self.settle()
        self.selected = self.record(at: self.cursor)?.id
    }

    /// Scrolls by whole screens.
    mutating func turn(pages: Int) {
        let step = max(1, self.height - 1) * pages
        self.top = (self.top + step).clamped(to: 0...max(0, self.total - self.height))
        self.move(by: step)
    }

    /// Removes all rows, for another query; the selected transfer stays selected if it is in the first rows.
    mutating func clear() {
        self.records = []
        (self.offset, self.total, self.cursor, self.top) = (0, 0, 0, 0)
    }

    /// Takes loaded rows.
    ///
    /// The cursor follows its transfer if that is among them, but not to the ended ones when it ends; otherwise it stays
    /// at its index.
    ///
    /// - Parameters:
    ///   - records: The rows, fewer than `limit` only at the end.
    ///   - offset: The index of the first one.
    ///   - limit: The number of rows that were requested.
    ///   - count: The number of rows of the list.
    mutating func loaded(_ records: [TransferRecord], offset: Int, limit: Int, count: Int) {
        let wasEnded = self.current?.state.isEnd ?? true
        self.offset = max(0, offset)
        self.records = Array(records.prefix(max(0, limit)))
        let end = self.offset + self.records.count
        if self.records.count < limit {
            let isBeyond = self.records.isEmpty && self.offset > 0
            self.total = isBeyond ? max(0, min(count, self.offset)) : end
        } else {
            self.total = max(count, end)
        }
        if let place = self.records.firstIndex(where: { $0.id == self.selected }),
            wasEnded || !self.records[place].state.isEnd
        {
            self.cursor = self.offset + place
        }
        self.settle()
        self.selected = self.record(at: self.cursor)?.id
    }

    /// Restores the invariant.
    private mutating func settle() {
        self.cursor = self.cursor.clamped(to: 0...max(0, self.total - 1))
        self.top = self.top.clamped(to: 0...max(0, self.total - max(1, self.height)))
        if self.cursor < self.top { self.top = self.cursor }
        if self.height > 0, self.cursor >= self.top + self.height { self.top = self.cursor - self.height + 1 }
    }
}
