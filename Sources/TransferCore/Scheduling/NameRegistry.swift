// SPDX-License-Identifier: Apache-2.0
/// The file names taken by the transfers of one run, so that no two share one.
///
/// It stores 8 bytes per name, a hash: a million names need no more than a million small integers. A collision
/// only causes an unnecessary number in a file name.
package struct NameRegistry: Sendable {
    private var taken: Set<UInt64> = []
    private var nextNumber: [UInt64: Int] = [:]

    /// Creates an empty registry.
    package init() {}

    /// Takes a name if it is free.
    package mutating func take(_ path: String) -> Bool {
        self.taken.insert(Self.hash(path)).inserted
    }

    /// Whether a name is free.
    package func isFree(_ path: String) -> Bool { !self.taken.contains(Self.hash(path)) }

    /// Releases a name; numbers for it are counted from 1 again.
    package mutating func release(_ path: String) {
        self.taken.remove(Self.hash(path))
        self.nextNumber[Self.hash(path)] = nil
    }

    /// The number to try next for a base name that was taken, counting from 1.
    package mutating func number(for path: String) -> Int {
        let key = Self.hash(path)
        let number = self.nextNumber[key, default: 1]
        self.nextNumber[key] = number + 1
        return number
    }

    private static func hash(_ path: String) -> UInt64 {
        // FNV-1a: the same in every run, unlike Hasher, so that a test can rely on it.
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }
}
