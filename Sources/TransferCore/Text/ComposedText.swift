// SPDX-License-Identifier: Apache-2.0
/// Converts text to Unicode's normalization form C.
///
/// The standard library normalizes only inside comparisons, and Foundation is not available here.
///
/// - Source: Unicode Standard Annex #15; The Unicode Standard §3.11, §3.12.
enum ComposedText {
    /// The scalars of the text in form C.
    static func scalars(_ text: String) -> [Unicode.Scalar] {
        // Scalars below U+0300 are neither combining nor changed.
        if text.unicodeScalars.allSatisfy({ $0.value < 0x300 }) { return Array(text.unicodeScalars) }
        var decomposed: [Unicode.Scalar] = []
        for scalar in text.unicodeScalars { self.append(scalar, to: &decomposed) }
        self.sortMarks(&decomposed)
        return self.compose(decomposed)
    }

    /// The text in form C.
    static func string(_ text: String) -> String { String(String.UnicodeScalarView(self.scalars(text))) }

    // MARK: Decomposition

    private static let mappings = Dictionary(
        CanonicalDecompositions.all.map { ($0.scalar, $0.mapping.compactMap(Unicode.Scalar.init)) },
        uniquingKeysWith: { first, _ in first }
    )

    private static func append(_ scalar: Unicode.Scalar, to output: inout [Unicode.Scalar]) {
        if scalar.value < 0xC0 { return output.append(scalar) }
        if let jamo = Hangul.decomposed(scalar) { return output.append(contentsOf: jamo) }
        guard let mapping = self.mappings[scalar.value] else { return output.append(scalar) }
        for part in mapping { self.append(part, to: &output) }
    }

    private static func combiningClass(_ scalar: Unicode.Scalar) -> UInt8 {
        scalar.value < 0x300 ? 0 : scalar.properties.canonicalCombiningClass.rawValue
    }

    /// Sorts each run of combining marks by class, and keeps the order within a class.
    private static func sortMarks(_ scalars: inout [Unicode.Scalar]) {
        var start = 0
        while start < scalars.count {
            var end = start
            while end < scalars.count, self.combiningClass(scalars[end]) != 0 { end += 1 }
            if end - start > 1 {
                // The sort of the standard library is stable.
                scalars[start..<end].sort { self.combiningClass($0) < self.combiningClass($1) }
            }
            start = end + 1
        }
    }

    // MARK: Composition

    private struct Pair: Hashable {
        var first: Unicode.Scalar
        var second: Unicode.Scalar
    }

    private static let composites: [Pair: Unicode.Scalar] = {
        var composites: [Pair: Unicode.Scalar] = [:]
        for (value, mapping) in CanonicalDecompositions.all where mapping.count == 2 {
            guard let scalar = Unicode.Scalar(value), !scalar.properties.isFullCompositionExclusion,
                let first = Unicode.Scalar(mapping[0]), let second = Unicode.Scalar(mapping[1])
            else { continue }
            composites[Pair(first: first, second: second)] = scalar
        }
        return composites
    }()

    private static func compose(_ decomposed: [Unicode.Scalar]) -> [Unicode.Scalar] {
        var output: [Unicode.Scalar] = []
        var starter: Int?
        var lastClass: UInt8 = 0
        for scalar in decomposed {
            let combiningClass = self.combiningClass(scalar)
            if let starter {
                // A mark of the same class, or a starter, between the two blocks the composition.
                let isBlocked = output.count - 1 > starter && lastClass >= combiningClass
                let composite =
                    Hangul.composed(output[starter], scalar)
                    ?? self.composites[Pair(first: output[starter], second: scalar)]
                if !isBlocked, let composite {
                    output[starter] = composite
                    continue
                }
            }
            if combiningClass == 0 { starter = output.count }
            lastClass = combiningClass
            output.append(scalar)
        }
        return output
    }
}

/// The arithmetic of Hangul syllables.
///
/// - Source: The Unicode Standard §3.12.
private enum Hangul {
    private static let syllables: UInt32 = 0xAC00
    private static let leading: UInt32 = 0x1100
    private static let vowels: UInt32 = 0x1161
    /// One before the first trailing consonant.
    private static let trailing: UInt32 = 0x11A7
    private static let vowelCount: UInt32 = 21
    private static let trailingCount: UInt32 = 28
    private static let count: UInt32 = 11172

    static func decomposed(_ scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
        guard scalar.value >= Self.syllables, scalar.value < Self.syllables + Self.count else { return nil }
        let index = scalar.value - Self.syllables
        let lead = Self.leading + index / (Self.vowelCount * Self.trailingCount)
        let vowel = Self.vowels + index / Self.trailingCount % Self.vowelCount
        let trail = index % Self.trailingCount
        let jamo = trail == 0 ? [lead, vowel] : [lead, vowel, Self.trailing + trail]
        return jamo.compactMap(Unicode.Scalar.init)
    }

    static func composed(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> Unicode.Scalar? {
        if (Self.leading..<(Self.leading + 19)).contains(first.value),
            (Self.vowels..<(Self.vowels + Self.vowelCount)).contains(second.value)
        {
            let index = (first.value - Self.leading) * Self.vowelCount + (second.value - Self.vowels)
            return Unicode.Scalar(Self.syllables + index * Self.trailingCount)
        }
        guard (Self.syllables..<(Self.syllables + Self.count)).contains(first.value),
            (first.value - Self.syllables) % Self.trailingCount == 0,
            ((Self.trailing + 1)..<(Self.trailing + Self.trailingCount)).contains(second.value)
        else { return nil }
        return Unicode.Scalar(first.value + second.value - Self.trailing)
    }
}
