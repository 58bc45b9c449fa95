// SPDX-License-Identifier: Apache-2.0

/// A broken promise, with the smallest world in which it is still broken.
package struct Finding {
    /// The kind of the world.
    package var kind: String
    /// The seed of the world.
    package var seed: UInt64
    /// The ingredients that the failure does not need.
    package var omitted: Set<Int>
    /// The promises that the smallest world breaks.
    package var broken: [String]
    /// The ingredients that are left.
    package var ingredients: [String]
    /// The trace of the smallest world.
    package var lines: [Trace.Line]
}

/// Finds the smallest world that breaks a promise in the same way.
package enum Shrinker {
    /// Lives through the world of a seed.
    ///
    /// - Returns: Its end, its story and its recipe.
    package static func live(
        _ world: any World.Type,
        seed: UInt64,
        without omitted: Set<Int> = [],
        isTraced: Bool = false
    ) -> (end: WorldEnd, trace: Trace, recipe: Recipe) {
        var recipe = Recipe(seed: seed, without: omitted)
        let trace = Trace(isKept: isTraced)
        let end = world.run(&recipe, trace)
        return (end, trace, recipe)
    }

    /// Leaves out ingredients, halves first, as long as the same promise is broken.
    ///
    /// - Parameters:
    ///   - world: The kind of the world.
    ///   - seed: Its seed.
    ///   - omitted: The ingredients that are left out already.
    /// - Returns: The finding; `nil` if the world keeps its promises.
    package static func shrink(_ world: any World.Type, seed: UInt64, without omitted: Set<Int> = []) -> Finding? {
        let first = self.live(world, seed: seed, without: omitted)
        guard let promise = first.end.broken.first.map(self.shape) else { return nil }
        var omitted = omitted
        var size = max(1, first.recipe.ingredients.count / 2)
        while true {
            let left = self.live(world, seed: seed, without: omitted).recipe.ingredients.map(\.number)
            var hasShrunk = false
            var start = 0
            while start < left.count {
                let part = left[start..<min(start + size, left.count)]
                let attempt = omitted.union(part)
                if self.live(world, seed: seed, without: attempt).end.broken
                    .contains(where: { self.shape($0) == promise })
                {
                    omitted = attempt
                    hasShrunk = true
                }
                start += size
            }
            if size == 1, !hasShrunk { break }
            if !hasShrunk || size > 1 { size = max(1, size / 2) }
        }
        let last = self.live(world, seed: seed, without: omitted, isTraced: true)
        return Finding(
            kind: world.kind,
            seed: seed,
            omitted: omitted,
            broken: last.end.broken,
            ingredients: last.recipe.ingredients.map(\.text),
            lines: last.trace.lines
        )
    }

    /// A promise without its numbers, so that a smaller world can break it with others.
    private static func shape(_ promise: String) -> String { String(promise.prefix(60).filter { !$0.isNumber }) }
}
