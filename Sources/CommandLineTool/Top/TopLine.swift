// SPDX-License-Identifier: Apache-2.0
/// A line of the screen, built from the left; its width in columns is exact.
///
/// It makes text safe: whatever is added, no control character and nothing that would change the width reaches the
/// terminal.
struct TopLine: Equatable {
    /// A text of one style.
    struct Span: Equatable {
        var text: String
        var style: TopStyle
    }

    /// The side of its columns on which a text starts.
    enum Alignment { case left, right }

    /// The texts.
    private(set) var spans: [Span] = []
    /// The columns used so far.
    private(set) var columns = 0
    /// The number of columns of the line.
    let width: Int
    /// Whether characters beyond ASCII are allowed.
    private let unicode: Bool

    /// Creates an empty line.
    init(width: Int, unicode: Bool) {
        self.width = max(0, width)
        self.unicode = unicode
    }

    /// The columns that are left.
    var rest: Int { self.width - self.columns }

    /// The whole text.
    var text: String { self.spans.map(\.text).joined() }

    /// Adds a text, cut at the end of the line.
    mutating func add(_ text: String, _ style: TopStyle = .plain) {
        self.append(DisplayText.start(of: self.safe(text), within: self.rest), style)
    }

    /// Adds a text in exactly this number of columns, elided or padded; fewer if the line ends before.
    mutating func add(_ text: String, _ style: TopStyle = .plain, in columns: Int, _ alignment: Alignment = .left) {
        let columns = min(columns, self.rest)
        guard columns > 0 else { return }
        let short = DisplayText.elided(self.safe(text), to: columns, mark: self.unicode ? "…" : "...")
        let padding = String(repeating: " ", count: max(0, columns - DisplayWidth.of(short)))
        if alignment == .right { self.append(padding, style) }
        self.append(short, style)
        if alignment == .left { self.append(padding, style) }
    }

    /// Adds a text in at most this number of columns; a longer one loses its end.
    mutating func add(_ text: String, _ style: TopStyle = .plain, upTo columns: Int) {
        let columns = min(columns, self.rest)
        let text = self.safe(text)
        guard DisplayWidth.of(text) > columns else { return self.append(text, style) }
        let mark = self.unicode ? "…" : "..."
        let short = DisplayText.start(of: text, within: max(0, columns - mark.count)) + mark
        self.append(DisplayText.start(of: short, within: columns), style)
    }

    /// Fills the rest of the line with spaces.
    mutating func fill(_ style: TopStyle = .plain) {
        self.append(String(repeating: " ", count: self.rest), style)
    }

    /// Gives the whole line one style.
    mutating func restyle(_ style: TopStyle) {
        self.spans = self.spans.isEmpty ? [] : [Span(text: self.text, style: style)]
    }

    private mutating func append(_ text: String, _ style: TopStyle) {
        guard !text.isEmpty else { return }
        self.columns += DisplayWidth.of(text)
        if let last = self.spans.last, last.style == style {
            self.spans[self.spans.count - 1].text += text
        } else {
            self.spans.append(Span(text: text, style: style))
        }
    }

    /// The longest text that is looked at: a URL may have megabytes.
    private static let longest = 2048

    private func safe(_ text: String) -> String {
        var text = text
        if text.utf8.count > Self.longest { text = String(text.prefix(Self.longest)) }
        let clean = DisplayText.clean(text, asciiOnly: !self.unicode)
        if clean.utf8.allSatisfy({ $0 < 0x80 }) { return clean }
        var safe = ""
        for character in clean {
            // A mark without a base would combine with the text before it, and a few letters with the text after it.
            if DisplayWidth.of(character) == 0 || "\(character) ".count == 1 {
                safe += "\u{FFFD}"
            } else if character.unicodeScalars.count > 16 {
                safe.unicodeScalars.append(contentsOf: character.unicodeScalars.prefix(16))
            } else {
                safe.append(character)
            }
        }
        return safe
    }
}
