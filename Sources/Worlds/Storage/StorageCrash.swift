// SPDX-License-Identifier: Apache-2.0

/// The end of a process of a storage world, at one of its calls or of its syncs.
struct StorageCrash: CustomStringConvertible {
    var losesPower: Bool
    /// Whether syncs alone are counted: what is lost is mostly lost between two of them.
    var isOfSyncs = false
    /// How many calls or syncs there are up to this one.
    var number: Int
    var isBefore: Bool

    /// Draws one that hits a single operation.
    static func aimed(_ recipe: inout Recipe) -> Self {
        let isOfSyncs = recipe.draw(0...2) > 0
        return Self(
            losesPower: recipe.draw(0...3) > 0,
            isOfSyncs: isOfSyncs,
            number: isOfSyncs ? recipe.draw(1...4) : recipe.draw(1...24),
            isBefore: recipe.draw(0...1) == 0
        )
    }

    var description: String {
        let event = self.losesPower ? "the power fails" : "the process dies"
        return "\(event) \(self.isBefore ? "before" : "after") \(self.isOfSyncs ? "sync" : "call") \(self.number)"
    }

    /// Counts a call; returns whether it is the one.
    mutating func hits(_ call: DiskCall) -> Bool {
        if self.isOfSyncs, !call.isSync { return false }
        self.number -= 1
        return self.number == 0
    }
}

extension DiskCall {
    /// Whether it makes something durable.
    var isSync: Bool { self.name.hasSuffix("sync") || self.name == "syncfs" }
}
