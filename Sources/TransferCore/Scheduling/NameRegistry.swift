// SPDX-License-Identifier: Apache-2.0
/// The file names taken by the transfers of one run, so that no two share one.
///
/// The name of a transfer, that of its partial file and that of the journal are taken together. The registry stores
/// 8 bytes per transfer, a hash: a million names need no more than a million small integers. A collision only causes an
/// unnecessary number in a file name.
package struct NameRegistry: Sendable {
    private var taken = HashSet()
    private var nextNumber: [UInt64: Int] = [:]
    /// The number of taken names that look like those of partial files or journals.
    private var suffixed = 0

    /// Creates an empty registry.
    package init() {}

    /// Takes a name, and those of its partial file and journal, if all are free.
    package mutating func take(_ path: String) -> Bool {
        let hash = Self.hash(path)
        let owner = ReservedName.owner(of: path)
        if let owner, self.taken.contains(Self.hash(owner)) { return false }
        guard !self.ownsTaken(hash), self.taken.insert(hash) else { return false }
        if owner != nil { self.suffixed += 1 }
        return true
    }

    /// Whether a name, and those of its partial file and journal, are free.
    package func isFree(_ path: String) -> Bool {
        let hash = Self.hash(path)
        return !self.taken.contains(hash) && !self.isOwned(path) && !self.ownsTaken(hash)
    }

    /// Whether a path is that of the partial file or the journal of a taken name.
    package func isOwned(_ path: String) -> Bool {
        ReservedName.owner(of: path).map { self.taken.contains(Self.hash($0)) } ?? false
    }

    /// Whether the partial file or the journal of a name is itself a taken name.
    private func ownsTaken(_ hash: UInt64) -> Bool {
        self.suffixed > 0
            && (self.taken.contains(Self.hash(ReservedName.partial, after: hash))
                || self.taken.contains(Self.hash(ReservedName.journal, after: hash)))
    }

    /// Releases a name; numbers for it are counted from 1 again.
    package mutating func release(_ path: String) {
        let hash = Self.hash(path)
        if self.taken.remove(hash), ReservedName.owner(of: path) != nil { self.suffixed -= 1 }
        self.nextNumber[hash] = nil
    }

    /// The number to try next for a base name that was taken, counting from 1.
    package mutating func number(for path: String) -> Int {
        let key = Self.hash(path)
        let number = self.nextNumber[key, default: 1]
        self.nextNumber[key] = number + 1
        return number
    }

    private static func hash(_ path: some StringProtocol, after start: UInt64 = 0xCBF2_9CE4_8422_2325) -> UInt64 {
        // FNV-1a: the same in every run, unlike Hasher, so that a test can rely on it.
        let hash = path.utf8.withContiguousStorageIfAvailable { bytes in
            var hash = start
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return hash
        }
        return hash ?? self.hash(String(path), after: start)
    }
}
