// SPDX-License-Identifier: Apache-2.0
/// A deterministic random number generator.
///
/// - Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (SplitMix64).
@frozen
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline
    var state: UInt64

    /// Creates a generator; generators with the same seed return the same numbers.
    @inlinable
    public init(seed: UInt64) {
        self.state = seed
    }

    /// The next 64 random bits.
    @inlinable
    public mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
