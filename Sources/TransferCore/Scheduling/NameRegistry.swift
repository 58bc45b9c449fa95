// SPDX-License-Identifier: Apache-2.0
/// The file names taken by the transfers of one run, so that no two share one.
///
/// The name of a transfer, that of its partial file and that of the journal are taken together. The registry stores
/// 8 bytes per transfer, the hash of its path: a million names need no more than a million small integers. A collision only
/// causes an unnecessary number in a file name.
package struct NameRegistry: Sendable {
    private var taken = HashSet()
    private var nextNumber: [UInt64: Int] = [:]
    /// The number of taken names that look like those of partial files or journals.
    private var suffixed = 0

    /// Creates an empty registry.
    package init() {}

    /// Takes a name, and those of its partial file and journal, if all are free.
    package mutating func take(_ target: FileTarget) -> Bool {
        let hash = Self.hash(target)
        let owner = Self.owner(of: target)
        if let owner, self.taken.contains(owner) { return false }
        guard !self.ownsTaken(hash), self.taken.insert(hash) else { return false }
        if owner != nil { self.suffixed += 1 }
        return true
    }

    /// Whether a name, and those of its partial file and journal, are free.
    package func isFree(_ target: FileTarget) -> Bool {
        let hash = Self.hash(target)
        return !self.taken.contains(hash) && !self.isOwned(target) && !self.ownsTaken(hash)
    }

    /// Whether a name is that of the partial file or the journal of a taken one.
    package func isOwned(_ target: FileTarget) -> Bool {
        Self.owner(of: target).map { self.taken.contains($0) } ?? false
    }

    /// Whether the partial file or the journal of a name is itself a taken name.
    private func ownsTaken(_ hash: UInt64) -> Bool {
        self.suffixed > 0
            && (self.taken.contains(NameHash.of(ReservedName.partial, after: hash))
                || self.taken.contains(NameHash.of(ReservedName.journal, after: hash)))
    }

    /// Releases a name; numbers for it are counted from 1 again.
    package mutating func release(_ target: FileTarget) {
        let hash = Self.hash(target)
        if self.taken.remove(hash), Self.owner(of: target) != nil { self.suffixed -= 1 }
        self.nextNumber[hash] = nil
    }

    /// The number to try next for a base name that was taken, counting from 1.
    package mutating func number(for target: FileTarget) -> Int {
        let key = Self.hash(target)
        let number = self.nextNumber[key, default: 1]
        self.nextNumber[key] = number + 1
        return number
    }

    /// The hash of the name whose partial file or journal would have this one, or `nil`.
    private static func owner(of target: FileTarget) -> UInt64? {
        ReservedName.owner(of: target.name).map { self.hash(FileTarget(directory: target.directory, name: String($0))) }
    }

    /// The hash of the path, without making one.
    private static func hash(_ target: FileTarget) -> UInt64 {
        guard let separator = target.separator else { return NameHash.of(target.name) }
        return NameHash.of(target.name, after: NameHash.of(separator, after: NameHash.of(target.directory)))
    }
}
