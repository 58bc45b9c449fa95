// SPDX-License-Identifier: Apache-2.0
/// A set of row numbers: one bit per row, in pages that are allocated when they are needed.
///
/// A billion consecutive rows take 125 MB.
package struct RowSet: Sendable, Equatable {
    /// The words of a page; a page has 2^19 rows in 64 KiB.
    private static let pageWords = 1 << 13
    private static let pageShift: Int64 = 19

    private var pages: [Int64: [UInt64]] = [:]
    package private(set) var count: Int64 = 0

    /// Creates an empty set.
    package init() {}

    package func contains(_ number: Int64) -> Bool {
        guard number >= 0, let page = self.pages[number >> Self.pageShift] else { return false }
        let (word, bit) = Self.position(number)
        return page[word] & bit != 0
    }

    /// Adds a row.
    ///
    /// - Precondition: The number is not negative.
    /// - Returns: Whether it was not in the set.
    @discardableResult
    package mutating func insert(_ number: Int64) -> Bool {
        precondition(number >= 0, "a row number is negative")
        let (word, bit) = Self.position(number)
        let isNew = Self.set(&self.pages[number >> Self.pageShift, default: Self.emptyPage], word, bit)
        if isNew { self.count += 1 }
        return isNew
    }

    private static func set(_ page: inout [UInt64], _ word: Int, _ bit: UInt64) -> Bool {
        if page[word] & bit != 0 { return false }
        page[word] |= bit
        return true
    }

    private static let emptyPage = [UInt64](repeating: 0, count: Self.pageWords)

    private static func position(_ number: Int64) -> (word: Int, bit: UInt64) {
        let within = Int(number & (1 << Self.pageShift - 1))
        return (within >> 6, 1 << UInt64(within & 63))
    }
}
