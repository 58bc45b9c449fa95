// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Normalization form C")
struct ComposedTextTests {
    @Test("The composed text of every scalar is canonically equal to it, and stable")
    func everyScalar() {
        var wrong: [String] = []
        for value in UInt32(0)...0x2FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = String(scalar)
            let composed = ComposedText.string(text)
            let isComposed = composed.unicodeScalars.allSatisfy { !$0.properties.isFullCompositionExclusion }
            // The standard library compares by canonical equivalence.
            guard composed == text, isComposed, ComposedText.string(composed).utf8.elementsEqual(composed.utf8) else {
                wrong.append(String(value, radix: 16))
                continue
            }
        }
        #expect(wrong == [])
    }

    @Test(
        "Equal texts have one form",
        arguments: [
            (["é", "e\u{301}"], [0xE9]), (["Å", "\u{212B}", "A\u{30A}"], [0xC5]),
            (["\u{1E69}", "s\u{323}\u{307}", "s\u{307}\u{323}", "\u{1E61}\u{323}"], [0x1E69]),
            (["한", "\u{1112}\u{1161}\u{11AB}", "\u{D558}\u{11AB}"], [0xD55C]),
            (["\u{958}", "\u{915}\u{93C}"], [0x915, 0x93C]),
            (["\u{FB2C}", "\u{5E9}\u{5C1}\u{5BC}"], [0x5E9, 0x5BC, 0x5C1]),
            (["q\u{307}\u{323}", "q\u{323}\u{307}"], [0x71, 0x323, 0x307]), (["\u{F900}"], [0x8C48]),
            (["\u{2F800}"], [0x4E3D]), (["a\u{301}\u{301}"], [0xE1, 0x301]), (["\u{301}e"], [0x301, 0x65]),
            (["\u{1100}\u{1161}\u{300}"], [0xAC00, 0x300]), ([""], []),
        ]
    )
    func forms(_ texts: [String], _ scalars: [UInt32]) {
        for text in texts { #expect(ComposedText.scalars(text).map(\.value) == scalars, "\(text)") }
    }

    @Test("Random runs of letters and marks have the form that the standard library compares equal")
    func randomRuns() {
        var generator = SystemRandomNumberGenerator()
        let alphabet: [Unicode.Scalar] = [
            "a", "e", "s", "\u{301}", "\u{307}", "\u{323}", "\u{327}", "\u{1E69}", "\u{1100}", "\u{1161}", "\u{11A8}",
            "\u{AC00}", "\u{915}", "\u{93C}", "\u{212B}", "\u{345}", "\u{3B1}", "\u{313}",
        ]
        var forms: [String: [Unicode.Scalar]] = [:]
        for _ in 0..<20_000 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
                text.append(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)])
            }
            let scalars = ComposedText.scalars(String(text))
            #expect(String(String.UnicodeScalarView(scalars)) == String(text))
            if let other = forms.updateValue(scalars, forKey: String(text)) { #expect(other == scalars) }
        }
    }
}
