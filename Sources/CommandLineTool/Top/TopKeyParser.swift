// SPDX-License-Identifier: Apache-2.0
/// Parses what a terminal sends into keys.
///
/// Pure: bytes may arrive in any pieces; unknown sequences are skipped.
///
/// - Source: ECMA-48 §5.4 (control sequences); xterm's control sequences (function keys, bracketed paste).
struct TopKeyParser {
    private var buffer: [UInt8] = []
    /// The text of a paste whose end has not arrived.
    private var pasted: [UInt8]?

    private static let longestSequence = 64
    private static let longestPaste = 64 << 10
    private static let pasteEnd = Array("\u{1B}[201~".utf8)
    private static let escape: UInt8 = 0x1B

    /// Whether the start of a sequence, or an Escape key, is waiting for more bytes or for ``flush()``.
    var isWaiting: Bool { !self.buffer.isEmpty && self.pasted == nil }

    /// Takes received bytes and returns the complete keys.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [TopKey] {
        self.buffer += bytes
        var keys: [TopKey] = []
        var start = 0
        while start < self.buffer.count {
            if self.pasted != nil {
                guard let key = self.continuePaste(&start) else { break }
                keys.append(key)
                continue
            }
            guard let (key, count) = self.key(in: self.buffer[start...]) else { break }
            start += count
            if let key { keys.append(key) }
        }
        self.buffer.removeFirst(min(start, self.buffer.count))
        return keys
    }

    /// Takes a waiting Escape as the key of that name and drops an incomplete sequence; call it after a pause.
    mutating func flush() -> [TopKey] {
        guard self.isWaiting else { return [] }
        defer { self.buffer = [] }
        return self.buffer.first == Self.escape ? [.escape] : []
    }

    // MARK: Sequences

    private typealias Parsed = (key: TopKey?, count: Int)

    /// The first key and its number of bytes, or `nil` if it is incomplete.
    private mutating func key(in bytes: ArraySlice<UInt8>) -> Parsed? {
        guard let first = bytes.first else { return nil }
        switch first {
        case Self.escape: return self.escaped(bytes)
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x01...0x1A: return (.control(Character(Unicode.Scalar(first + 0x60))), 1)
        case 0x00..<0x20: return (nil, 1)
        case 0x20..<0x7F: return (.character(Character(Unicode.Scalar(first))), 1)
        default: return Self.scalar(bytes)
        }
    }

    private static func scalar(_ bytes: ArraySlice<UInt8>) -> Parsed? {
        guard let first = bytes.first else { return nil }
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1
        if length == 1 || first > 0xF4 { return (nil, 1) }
        let rest = bytes.dropFirst().prefix(length - 1).prefix { $0 & 0xC0 == 0x80 }
        guard rest.count == length - 1 else { return rest.count == bytes.count - 1 ? nil : (nil, 1 + rest.count) }
        let text = String(decoding: bytes.prefix(length), as: UTF8.self)
        guard text.unicodeScalars.count == 1, let character = text.first else { return (nil, length) }
        return (.character(character), length)
    }

    private mutating func escaped(_ bytes: ArraySlice<UInt8>) -> Parsed? {
        guard let second = bytes.dropFirst().first else { return nil }
        switch second {
        case UInt8(ascii: "["): return self.controlSequence(bytes)
        case UInt8(ascii: "O"):
            guard let third = bytes.dropFirst(2).first else { return nil }
            // The keypad's Enter.
            return (third == UInt8(ascii: "M") ? .enter : Self.key(final: third, ""), 3)
        // Escape and then another key; as with Alt, which sends the same.
        default: return (.escape, 1)
        }
    }

    private mutating func controlSequence(_ bytes: ArraySlice<UInt8>) -> Parsed? {
        let body = bytes.dropFirst(2)
        let parameters = body.prefix { (0x20...0x3F).contains($0) }
        if parameters.count > Self.longestSequence { return (nil, 2 + parameters.count) }
        guard let final = body.dropFirst(parameters.count).first else { return nil }
        let count = 2 + parameters.count + 1
        // Not a final byte: the sequence was cut off.
        guard (0x40...0x7E).contains(final) else { return (nil, count - 1) }
        // The function keys of the Linux console have another letter.
        if final == UInt8(ascii: "["), parameters.isEmpty { return body.count < 2 ? nil : (nil, count + 1) }
        let text = String(decoding: parameters, as: UTF8.self)
        if final == UInt8(ascii: "~"), text == "200" { self.pasted = [] }
        return (Self.key(final: final, text), count)
    }

    private static func key(final: UInt8, _ parameters: String) -> TopKey? {
        let isShifted = parameters == "1;2"
        switch final {
        case UInt8(ascii: "A"): return isShifted ? .shiftUp : .up
        case UInt8(ascii: "B"): return isShifted ? .shiftDown : .down
        case UInt8(ascii: "C"): return .right
        case UInt8(ascii: "D"): return .left
        case UInt8(ascii: "H"): return .home
        case UInt8(ascii: "F"): return .end
        case UInt8(ascii: "Z"): return .backTab
        // rxvt's shifted arrows.
        case UInt8(ascii: "a"): return .shiftUp
        case UInt8(ascii: "b"): return .shiftDown
        case UInt8(ascii: "~"):
            switch parameters {
            case "1", "7": return .home
            case "4", "8": return .end
            case "3": return .delete
            case "5": return .pageUp
            case "6": return .pageDown
            default: return nil
            }
        default: return nil
        }
    }

    // MARK: Paste

    /// Moves bytes from the buffer to the paste; returns it at its end.
    private mutating func continuePaste(_ start: inout Int) -> TopKey? {
        let rest = self.buffer[start...]
        var end = rest.startIndex
        while end < rest.endIndex, !rest[end...].starts(with: Self.pasteEnd) { end += 1 }
        let isComplete = end < rest.endIndex
        // The last bytes may be the start of the mark.
        let text = isComplete ? rest[..<end] : rest.dropLast(min(rest.count, Self.pasteEnd.count - 1))
        let room = max(0, Self.longestPaste - (self.pasted?.count ?? 0))
        self.pasted? += text.prefix(room)
        start += text.count
        guard isComplete else { return nil }
        start += Self.pasteEnd.count
        defer { self.pasted = nil }
        return .paste(String(decoding: self.pasted ?? [], as: UTF8.self))
    }
}
