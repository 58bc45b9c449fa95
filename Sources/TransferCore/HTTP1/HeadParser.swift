// SPDX-License-Identifier: Apache-2.0
/// Parses a complete block: a response's head, or trailer fields.
///
/// - Source: RFC 9112 §4 and §5.
struct HeadParser {
    struct Head {
        var minorVersion: Int
        var status: Int
        var reason: String
        var fields: HeaderFields
        var facts: FramingFacts
    }

    // Bounds: `line()` compares each offset with the count, and the position after a line is at most the count. Within a line,
    // an offset is compared with its count first; the status line has at least 12 bytes when its parts are read.
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    private init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// Parses a head from its first byte to the end of its blank line.
    static func head(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Error) -> Head {
        var parser = HeadParser(bytes)
        var head = try parser.statusLine()
        head.fields.adopt(block: bytes, lines: 12)
        try parser.fieldLines(into: &head.fields, facts: &head.facts)
        return head
    }

    /// Parses trailer fields to the end of the blank line after them.
    static func trailers(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Error) -> HeaderFields {
        var parser = HeadParser(bytes)
        var fields = HeaderFields()
        fields.adopt(block: bytes, lines: 4)
        // Framing fields are not allowed in trailers (RFC 9110 §6.5.1) and are ignored.
        var ignored: FramingFacts?
        try parser.fieldLines(into: &fields, noting: &ignored)
        return fields
    }

    /// The range of the next line without its end; a bare LF ends a line as well (RFC 9112 §2.2).
    private mutating func line() -> Range<Int>? {
        let start = self.position
        var end = self.bytes.firstControl(from: start)
        while end < self.bytes.count, self.bytes[end] != Byte.lf { end = self.bytes.firstControl(from: end + 1) }
        guard end < self.bytes.count else { return nil }
        self.position = end + 1
        return start..<(end > start && self.bytes[end - 1] == Byte.cr ? end - 1 : end)
    }

    private mutating func statusLine() throws(HTTP1Error) -> Head {
        guard let range = self.line() else { throw .invalidStatusLine }
        let line = self.bytes.part(range)
        guard line.count >= 12, Self.begins(line, with: "HTTP/1."), line[8] == Byte.space else {
            throw .invalidStatusLine
        }
        let minor = line[7] &- Byte.zero
        let digits = (line[9] &- Byte.zero, line[10] &- Byte.zero, line[11] &- Byte.zero)
        guard minor <= 9, (1...9).contains(digits.0), digits.1 <= 9, digits.2 <= 9 else { throw .invalidStatusLine }
        guard line.count == 12 || line[12] == Byte.space else { throw .invalidStatusLine }
        let reason = line.part(min(13, line.count)..<line.count)
        for byte in reason where byte == Byte.nul || byte == Byte.cr { throw .invalidStatusLine }
        return Head(
            minorVersion: minor == 0 ? 0 : 1,
            status: Int(digits.0) * 100 + Int(digits.1) * 10 + Int(digits.2),
            reason: String(decoding: reason, as: UTF8.self),
            fields: HeaderFields(),
            facts: FramingFacts()
        )
    }

    private static func begins(_ line: UnsafeRawBufferPointer, with text: StaticString) -> Bool {
        text.withUTF8Buffer { wanted in
            for index in 0..<wanted.count where line[index] != wanted[index] { return false }
            return true
        }
    }

    private mutating func fieldLines(into fields: inout HeaderFields, facts: inout FramingFacts) throws(HTTP1Error) {
        var noted: FramingFacts? = facts
        try self.fieldLines(into: &fields, noting: &noted)
        if let noted { facts = noted }
    }

    private mutating func fieldLines(
        into fields: inout HeaderFields,
        noting facts: inout FramingFacts?
    ) throws(HTTP1Error) {
        while let range = self.line(), !range.isEmpty {
            let line = self.bytes.part(range)
            // A line that starts with a blank directly after the status line continues nothing (RFC 9112 §2.2).
            var colon = 0
            while colon < line.count, Byte.isTokenCharacter(line[colon]) { colon += 1 }
            guard colon > 0, colon < line.count, line[colon] == Byte.colon else { throw .invalidField }
            try Self.check(line.part(colon + 1..<line.count))
            let name = range.lowerBound..<range.lowerBound + colon
            let value = self.trimmed(name.upperBound + 1..<range.upperBound)
            if self.position < self.bytes.count, Byte.isBlank(self.bytes[self.position]) {
                let whole = try self.unfold(self.bytes.part(value))
                let error = whole.withUnsafeBytes { (whole) -> HTTP1Error? in
                    fields.append(name: self.bytes.part(name), value: whole.trimmed())
                    return Self.note(self.bytes.part(name), whole.trimmed(), &facts)
                }
                if let error { throw error }
            } else {
                fields.append(nameAt: name, valueAt: value)
                if let error = Self.note(self.bytes.part(name), self.bytes.part(value), &facts) { throw error }
            }
        }
    }

    /// The range of a value without the blanks around it.
    private func trimmed(_ range: Range<Int>) -> Range<Int> {
        // Bounds: only bytes of the range are read.
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, Byte.isBlank(self.bytes[start]) { start += 1 }
        while end > start, Byte.isBlank(self.bytes[end - 1]) { end -= 1 }
        return start..<end
    }

    /// Joins folded lines with one space each (RFC 9112 §5.2).
    private mutating func unfold(_ value: UnsafeRawBufferPointer) throws(HTTP1Error) -> [UInt8] {
        var whole = Array(value.trimmed())
        while self.position < self.bytes.count, Byte.isBlank(self.bytes[self.position]), let range = self.line() {
            let part = self.bytes.part(range)
            try Self.check(part)
            whole.append(Byte.space)
            whole.append(contentsOf: part.trimmed())
        }
        return whole
    }

    /// Rejects the characters that RFC 9110 §5.5 calls dangerous.
    private static func check(_ value: UnsafeRawBufferPointer) throws(HTTP1Error) {
        var index = value.firstControl(from: 0)
        while index < value.count {
            if value[index] == Byte.nul || value[index] == Byte.cr { throw .invalidField }
            index = value.firstControl(from: index + 1)
        }
    }

    private static func note(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        _ facts: inout FramingFacts?
    ) -> HTTP1Error? {
        do {
            try facts?.note(name: name, value: value)
            return nil
        } catch {
            return error
        }
    }
}
