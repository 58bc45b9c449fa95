// SPDX-License-Identifier: Apache-2.0
/// Numbers within 4,096 of the ends of the integer types, for everything that parses numbers.
///
/// An overflow traps and ends the test process, so that most cases need no expectation.
public enum EdgeNumbers {
    /// The integers: near 0 and near the ends of `Int8`, `UInt8` and so on to `UInt64`.
    public static let integers: [Int128] = {
        let ends = [8, 16, 32, 64]
            .flatMap { bits -> [Int128] in
                let half: Int128 = 1 << (bits - 1)
                return [-half, half - 1, 2 * half - 1]
            }
        let offsets: [Int128] = [-4096, -4095, -2, -1, 0, 1, 2, 4095, 4096]
        return ([0] + ends).flatMap { end in offsets.map { end + $0 } }
    }()

    /// The integers that fit an `Int64`.
    public static let signed: [Int64] = Self.integers.compactMap { Int64(exactly: $0) }

    /// The integers as texts, and numbers of other forms.
    public static let texts: [String] =
        Self.integers.map { String($0) } + [
            String(repeating: "9", count: 399), "1e18", "9.3e18", "1e400", "-1e400", "nan", "inf", "0x7fffffffffffffff",
            "-0", "+1", "00000000000000000000000000000001",
        ]

    /// A seventh of ``texts``, which has numbers near every end: for slow parsers.
    public static let fewTexts: [String] = Self.texts.indices.filter { $0 % 7 == 0 }.map { Self.texts[$0] }

    /// The text with each of its numbers replaced by each of the replacements.
    ///
    /// - Parameters:
    ///   - text: A text with decimal numbers, such as a header field.
    ///   - replacements: The replacements.
    /// - Returns: One text for each number and each replacement; only `text` if it has no number.
    public static func variants(of text: String, by replacements: [String] = Self.texts) -> [String] {
        var places: [Range<String.Index>] = []
        var start = text.startIndex
        while let first = text[start...].firstIndex(where: { ("0"..."9").contains($0) }) {
            let end = text[first...].firstIndex { !("0"..."9").contains($0) } ?? text.endIndex
            places.append(first..<end)
            start = end
        }
        guard !places.isEmpty else { return [text] }
        return places.flatMap { place in replacements.map { text.replacingCharacters(in: place, with: $0) } }
    }
}

extension String {
    fileprivate func replacingCharacters(in place: Range<Index>, with text: String) -> String {
        self[..<place.lowerBound] + text + self[place.upperBound...]
    }
}
