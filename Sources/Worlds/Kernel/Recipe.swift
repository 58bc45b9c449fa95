// SPDX-License-Identifier: Apache-2.0
package import TransferTesting

/// The ingredients of a world: a seed selects them, and each can be left out.
///
/// An ingredient is a fault, an action of the user, a property of a server: whatever makes a world more difficult. Its
/// parameters are drawn whether it is left out or not, so that the others stay as they are; a failure is shrunk by
/// leaving out whatever it does not need (``Shrinker``).
package struct Recipe: Sendable {
    /// The seed of the world.
    package let seed: UInt64
    /// The numbers of the ingredients that are left out.
    package let omitted: Set<Int>
    /// Draws the parameters.
    package var random: SeededGenerator
    /// The ingredients that are part of the world, with their numbers.
    package private(set) var ingredients: [(number: Int, text: String)] = []
    /// Whether only those ingredients follow that every world has.
    ///
    /// Where little goes wrong, little can excuse a failure: the judge is strict.
    package var isCalm = false
    private var nextNumber = 0

    package init(seed: UInt64, without omitted: Set<Int> = []) {
        self.seed = seed
        self.omitted = omitted
        // Not the seed itself, nor a multiple: the generator adds a constant for each number, so that the worlds of
        // neighbouring seeds would draw the same numbers, one later.
        var mixer = SeededGenerator(seed: seed)
        self.random = SeededGenerator(seed: mixer.next() ^ 0x1234_5678)
    }

    /// The number of ingredients, those left out included.
    package var count: Int { self.nextNumber }

    /// Adds an ingredient of which one world in so many has one.
    ///
    /// - Parameters:
    ///   - rarity: One world in this number has the ingredient, 1 for every world.
    ///   - text: The ingredient in a few words, for the story of a failure.
    /// - Returns: Whether this world has it.
    package mutating func has(oneIn rarity: Int, _ text: @autoclosure () -> String) -> Bool {
        let isDrawn = rarity <= 1 || Int.random(in: 0..<rarity, using: &self.random) == 0 && !self.isCalm
        defer { self.nextNumber += 1 }
        guard isDrawn, !self.omitted.contains(self.nextNumber) else { return false }
        self.ingredients.append((self.nextNumber, text()))
        return true
    }

    /// Draws one of several values, by their weights.
    package mutating func pick<Value>(_ choices: [(weight: Int, value: Value)]) -> Value {
        var number = Int.random(in: 0..<choices.reduce(0) { $0 + $1.weight }, using: &self.random)
        for choice in choices {
            number -= choice.weight
            if number < 0 { return choice.value }
        }
        return choices[choices.count - 1].value
    }

    /// Draws one of several values.
    package mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &self.random)]
    }

    package mutating func draw<Number: FixedWidthInteger>(_ range: ClosedRange<Number>) -> Number {
        Number.random(in: range, using: &self.random)
    }
}
