// SPDX-License-Identifier: Apache-2.0
/// A set of numbers that are hashes already, such as those of file names.
///
/// The standard library's set would hash them again, by a function that costs more than the whole lookup. Open addressing: a
/// number is in the first free slot at or after its own, which is found by multiplication with a number that differs in each
/// process, so that a server cannot choose names whose slots are all the same.
package struct HashSet: Sendable {
    /// A power of two of slots, at most three quarters of them in use; 0 is a free one.
    private var slots: [UInt64] = []
    private var hasZero = false
    private var used = 0
    /// 64 less the binary logarithm of the number of slots.
    private var shift: UInt64 = 64

    private static let multiplier = UInt64.random(in: 0...UInt64.max) | 1

    /// Creates an empty set.
    package init() {}

    /// The number of members.
    package var count: Int { self.used + (self.hasZero ? 1 : 0) }

    /// Whether a number is a member.
    package func contains(_ hash: UInt64) -> Bool {
        if hash == 0 { return self.hasZero }
        return self.slots.isEmpty ? false : self.slots[self.slot(of: hash)] != 0
    }

    /// Adds a number.
    ///
    /// - Returns: Whether it was not a member before.
    package mutating func insert(_ hash: UInt64) -> Bool {
        if hash == 0 {
            defer { self.hasZero = true }
            return !self.hasZero
        }
        if 4 * (self.used + 1) > 3 * self.slots.count { self.grow() }
        let slot = self.slot(of: hash)
        guard self.slots[slot] == 0 else { return false }
        self.slots[slot] = hash
        self.used += 1
        return true
    }

    /// Removes a number.
    ///
    /// - Returns: Whether it was a member.
    package mutating func remove(_ hash: UInt64) -> Bool {
        if hash == 0 {
            defer { self.hasZero = false }
            return self.hasZero
        }
        guard !self.slots.isEmpty else { return false }
        var free = self.slot(of: hash)
        guard self.slots[free] != 0 else { return false }
        self.slots[free] = 0
        self.used -= 1
        // Members behind the free slot that would have been there are moved to it.
        let mask = self.slots.count - 1
        var next = (free + 1) & mask
        while self.slots[next] != 0 {
            let wanted = self.home(of: self.slots[next])
            if (next - wanted) & mask >= (next - free) & mask {
                self.slots[free] = self.slots[next]
                self.slots[next] = 0
                free = next
            }
            next = (next + 1) & mask
        }
        return true
    }

    /// The slot of a number, or the free one that it would get.
    private func slot(of hash: UInt64) -> Int {
        // Bounds: the mask keeps the slot below the count, and the array checks. A quarter of the slots is free.
        let mask = self.slots.count - 1
        var slot = self.home(of: hash)
        while self.slots[slot] != 0, self.slots[slot] != hash { slot = (slot + 1) & mask }
        return slot
    }

    private func home(of hash: UInt64) -> Int { Int(truncatingIfNeeded: (hash &* Self.multiplier) >> self.shift) }

    private mutating func grow() {
        let old = self.slots
        self.slots = Array(repeating: 0, count: max(16, 2 * old.count))
        self.shift = UInt64(64 - self.slots.count.trailingZeroBitCount)
        for hash in old where hash != 0 { self.slots[self.slot(of: hash)] = hash }
    }
}
