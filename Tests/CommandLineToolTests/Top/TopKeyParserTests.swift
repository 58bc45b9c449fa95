// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferTesting

@testable import CommandLineTool

@Suite struct TopKeyParserTests {
    private func keys(_ text: String) -> [TopKey] {
        var parser = TopKeyParser()
        return parser.take(Array(text.utf8)) + parser.flush()
    }

    @Test func sequencesOfTheUsualTerminalsAreKeys() {
        #expect(
            self.keys("\u{1B}[A\u{1B}OB\u{1B}[1;2A\u{1B}[1;2B\u{1B}[a") == [.up, .down, .shiftUp, .shiftDown, .shiftUp]
        )
        #expect(
            self.keys("\u{1B}[H\u{1B}[4~\u{1B}[5~\u{1B}[6~\u{1B}[3~") == [.home, .end, .pageUp, .pageDown, .delete]
        )
        #expect(self.keys("\r\n\t\u{1B}[Z\u{7F}\u{8}") == [.enter, .enter, .tab, .backTab, .backspace, .backspace])
        #expect(
            self.keys("aé界👍\u{C}") == [
                .character("a"), .character("é"), .character("界"), .character("👍"), .control("l"),
            ]
        )
        #expect(self.keys("\u{1B}") == [.escape])
        #expect(self.keys("\u{1B}\u{1B}q") == [.escape, .escape, .character("q")])
        // Unused function keys and reports.
        #expect(
            self.keys("\u{1B}[15~\u{1B}[[A\u{1B}[?1;2c\u{1B}[<0;1;1Mx")
                == [.enter, .character("x")].filter { $0 != .enter }
        )
    }

    @Test func aPasteIsOneText() {
        #expect(self.keys("\u{1B}[200~rm\nq\u{1B}[A\u{1B}[201~q") == [.paste("rm\nq\u{1B}[A"), .character("q")])
        let long = String(repeating: "x", count: 200_000)
        guard case .paste(let text)? = self.keys("\u{1B}[200~\(long)\u{1B}[201~").first else {
            Issue.record("no paste")
            return
        }
        #expect(text.utf8.count == 64 << 10)
    }

    @Test(arguments: 0..<200)
    func piecesDoNotMatterAndNothingIsKeptForever(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts: [[UInt8]] = [
            Array("\u{1B}[A".utf8), Array("界".utf8), [0x1B], [0xFF, 0xC3], Array("\u{1B}[200~ab".utf8),
            Array("\u{1B}[201~".utf8), Array("\u{1B}[999999".utf8), [0xE7, 0x95], Array("q\r".utf8), [0, 0x1B, 0x5B],
            (0..<5).map { _ in UInt8.random(in: 0...255, using: &random) },
        ]
        let bytes = (0..<30).flatMap { _ in parts.randomElement(using: &random) ?? [] }
        var whole = TopKeyParser()
        let expected = whole.take(bytes) + whole.flush()
        var pieces = TopKeyParser()
        var keys: [TopKey] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...4, using: &random)
            keys += pieces.take(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        keys += pieces.flush()
        #expect(keys == expected)
        #expect(!pieces.isWaiting)
    }

    @Test func theEditorMovesAndDeletesByCharacter() {
        var editor = TopEditor("a 日本")
        for key in [TopKey.left, .backspace, .character("x"), .end, .control("w"), .character("é"), .paste("b\nc")] {
            let isEditing = editor.take(key)
            #expect(isEditing)
        }
        #expect(editor.text == "a ébc")
        let isEditing = editor.take(.up)
        #expect(!isEditing)
        for key in [TopKey.home, .delete, .right, .control("k")] { _ = editor.take(key) }
        #expect(editor.text == " ")
        _ = editor.take(.paste(String(repeating: "x", count: 9000)))
        #expect(editor.text == " ")
    }
}
