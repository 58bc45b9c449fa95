// SPDX-License-Identifier: Apache-2.0
/// A line of text that is being edited.
struct TopEditor: Equatable {
    /// The text before the cursor.
    private(set) var before: String
    /// The text after the cursor.
    private(set) var after = ""

    /// The maximum length, in bytes of UTF-8.
    private static let longest = 8192

    /// Starts with a text, the cursor at its end.
    init(_ text: String = "") { self.before = String(text.prefix(Self.longest)) }

    /// The whole text.
    var text: String { self.before + self.after }

    /// Applies a key.
    ///
    /// - Returns: False if the key does not edit text.
    mutating func take(_ key: TopKey) -> Bool {
        switch key {
        case .character(let character): self.insert(String(character))
        // A pasted line ends in a newline, which is not part of the text.
        case .paste(let text): self.insert(text.filter { !$0.isNewline })
        case .backspace: if !self.before.isEmpty { self.before.removeLast() }
        case .delete, .control("d"): if !self.after.isEmpty { self.after.removeFirst() }
        case .left, .control("b"): if let last = self.before.popLast() { self.after = String(last) + self.after }
        case .right, .control("f"):
            if !self.after.isEmpty { self.before.append(self.after.removeFirst()) }
        case .home, .control("a"): (self.before, self.after) = ("", self.text)
        case .end, .control("e"): (self.before, self.after) = (self.text, "")
        case .control("u"): self.before = ""
        case .control("k"): self.after = ""
        case .control("w"):
            while self.before.last?.isWhitespace == true { self.before.removeLast() }
            while let last = self.before.last, !last.isWhitespace { self.before.removeLast() }
        default: return false
        }
        return true
    }

    private mutating func insert(_ text: String) {
        guard self.before.utf8.count + self.after.utf8.count + text.utf8.count <= Self.longest else { return }
        self.before += text
    }
}
