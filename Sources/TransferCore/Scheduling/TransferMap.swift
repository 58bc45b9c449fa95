// SPDX-License-Identifier: Apache-2.0
/// Values by the numbers of their transfers.
///
/// The numbers are consecutive, and no client chooses them: the standard library's dictionary would hash them by a function
/// that costs more than the whole look-up. Open addressing: a number is in the first free slot at or after its own slot, which
/// multiplication determines.
///
/// Public and inlinable, so that other modules specialize it.
public struct TransferMap<Value> {
    /// A power of two of slots, at most three quarters of them in use; 0 is a free one, otherwise it is a number plus one.
    @usableFromInline
    var keys: [UInt64] = []
    @usableFromInline
    var stored: [Value?] = []
    @usableFromInline
    var used = 0
    /// 64 less the binary logarithm of the number of slots.
    @usableFromInline
    var shift: UInt64 = 64

    /// Creates an empty map.
    @inlinable
    public init() {}

    /// The number of values.
    @inlinable
    public var count: Int { self.used }

    /// Whether the map has no values.
    @inlinable
    public var isEmpty: Bool { self.used == 0 }

    /// The value of a transfer, or `nil`.
    @inlinable
    public subscript(id: TransferID) -> Value? {
        get { self.keys.isEmpty ? nil : self.stored[self.slot(of: Self.key(id))] }
        set {
            if let newValue {
                self.set(newValue, of: Self.key(id))
            } else {
                _ = self.removeValue(of: id)
            }
        }
    }

    /// Removes the value of a transfer.
    ///
    /// - Returns: The value, or `nil` if there was none.
    @inlinable
    public mutating func removeValue(of id: TransferID) -> Value? {
        guard !self.keys.isEmpty else { return nil }
        let slot = self.slot(of: Self.key(id))
        guard self.keys[slot] != 0 else { return nil }
        let value = self.stored[slot].take()
        self.free(slot)
        return value
    }

    /// All values, in no particular order.
    @inlinable
    public var values: [Value] { self.stored.compactMap { $0 } }

    /// The transfers that have values, in the order of their numbers.
    @inlinable
    public var ids: [TransferID] { self.keys.filter { $0 != 0 }.sorted().map { TransferID($0 &- 1) } }

    @inlinable
    static func key(_ id: TransferID) -> UInt64 { id.rawValue &+ 1 }

    /// The slot of a key, or the free one that it would get.
    @inlinable
    func slot(of key: UInt64) -> Int {
        // Bounds: the mask keeps the slot below the count, and the array checks. A quarter of the slots is free.
        let mask = self.keys.count - 1
        var slot = self.home(of: key)
        while self.keys[slot] != 0, self.keys[slot] != key { slot = (slot + 1) & mask }
        return slot
    }

    /// Numbers that follow one another are far apart: 2^64 divided by the golden ratio.
    @inlinable
    func home(of key: UInt64) -> Int { Int(truncatingIfNeeded: (key &* 0x9E37_79B9_7F4A_7C15) >> self.shift) }

    @inlinable
    mutating func set(_ value: Value, of key: UInt64) {
        if 4 * (self.used + 1) > 3 * self.keys.count { self.grow() }
        let slot = self.slot(of: key)
        if self.keys[slot] == 0 {
            self.keys[slot] = key
            self.used += 1
        }
        self.stored[slot] = value
    }

    /// Frees a slot whose value was taken; the values behind it that would have been there are moved to it.
    @inlinable
    mutating func free(_ slot: Int) {
        self.keys[slot] = 0
        self.used -= 1
        let mask = self.keys.count - 1
        var free = slot
        var next = (free + 1) & mask
        while self.keys[next] != 0 {
            let wanted = self.home(of: self.keys[next])
            if (next - wanted) & mask >= (next - free) & mask {
                self.keys.swapAt(free, next)
                self.stored.swapAt(free, next)
                free = next
            }
            next = (next + 1) & mask
        }
    }

    @inlinable
    mutating func grow() {
        let (oldKeys, oldValues) = (self.keys, self.stored)
        let count = max(16, 2 * oldKeys.count)
        self.keys = Array(repeating: 0, count: count)
        self.stored = Array(repeating: nil, count: count)
        self.shift = UInt64(64 - count.trailingZeroBitCount)
        for (key, value) in zip(oldKeys, oldValues) where key != 0 {
            let slot = self.slot(of: key)
            self.keys[slot] = key
            self.stored[slot] = value
        }
    }
}

extension TransferMap: Sendable where Value: Sendable {}
