// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Parses a form's content incrementally, at any split of the input.
///
/// Pure value: it buffers at most a delimiter's length of content, and a part's head while that is incomplete.
///
/// - Source: RFC 7578; RFC 2046 §5.1 for the delimiters.
struct FormParser: Sendable {
    /// An element of the form.
    enum Event {
        /// A part starts.
        case part(name: String, fileName: String?, type: String?)
        /// Content of the part: a slice of the input, or bytes that were held back earlier.
        case content(UnsafeRawBufferPointer)
        /// The part is complete.
        case partEnd
        /// The form is complete.
        case end
    }

    private enum State: Sendable {
        /// Before the first delimiter.
        case preamble
        /// After a delimiter: `--` ends the form, a line end starts a part.
        case afterDelimiter
        /// In the header fields of a part.
        case head
        /// At the CR LF of the blank line after a part's header fields.
        case blankLine
        case content
        /// After the last delimiter.
        case end
    }

    /// The maximum size of a part's header fields, in bytes.
    static let longestHead = 8 * 1024
    /// The maximum number of parts.
    static let mostParts = 1000

    private let delimiter: [UInt8]
    private var state = State.preamble
    /// Input that is still undecided: a possible prefix of a delimiter, or an incomplete head.
    private var held: [UInt8]
    private var parts = 0

    /// - Parameter boundary: The boundary without its dashes.
    init(boundary: [UInt8]) {
        self.delimiter = [0x0D, 0x0A, 0x2D, 0x2D] + boundary
        // The first delimiter may be at the very start, without a CR LF before it.
        self.held = [0x0D, 0x0A]
    }

    /// Whether the last delimiter was found.
    var isAtEnd: Bool { if case .end = self.state { true } else { false } }

    /// Parses input and passes each element to the callback.
    ///
    /// - Throws: ``UploadRefusal``: 400 if the form is malformed, 431 if a part's header fields are too large; errors
    ///   of the callback are rethrown.
    mutating func take(
        _ input: UnsafeRawBufferPointer,
        _ tell: (Event) throws(UploadRefusal) -> Void
    ) throws(UploadRefusal) {
        if case .end = self.state { return }
        if self.held.isEmpty {
            let rest = try self.parse(input, tell)
            self.held = Array(input[rest...])
            return
        }
        let joined = self.held + input
        self.held = []
        let result = joined.withUnsafeBytes { bytes -> Result<[UInt8], UploadRefusal> in
            Result { () throws(UploadRefusal) in
                let rest = try self.parse(bytes, tell)
                return Array(bytes[rest...])
            }
        }
        self.held = try result.get()
    }

    /// Parses as much as can be decided; returns the offset of the rest.
    private mutating func parse(
        _ bytes: UnsafeRawBufferPointer,
        _ tell: (Event) throws(UploadRefusal) -> Void
    ) throws(UploadRefusal) -> Int {
        // Bounds: the position is at most the count. It moves to an offset that a search returned, past a delimiter that was
        // found complete, or past a CR LF: in the states `head` and `blankLine` it is at one, of which both bytes are there.
        var position = 0
        while true {
            switch self.state {
            case .preamble, .content:
                let (found, safe) = self.search(bytes, from: position)
                if case .content = self.state, safe > position {
                    try tell(.content(bytes.part(position..<safe)))
                }
                position = safe
                guard found else { return position }
                if case .content = self.state { try tell(.partEnd) }
                position += self.delimiter.count
                self.state = .afterDelimiter
            case .afterDelimiter:
                guard let end = Self.lineEnd(bytes, from: position) else {
                    // `--` ends the form even without a line end after it.
                    if bytes.count - position >= 2, bytes[position] == 0x2D, bytes[position + 1] == 0x2D {
                        self.state = .end
                        try tell(.end)
                        return bytes.count
                    }
                    guard bytes.count - position < 1024 else { throw Self.malformed }
                    return position
                }
                let line = bytes[position..<end]
                if line.count >= 2, line[position] == 0x2D, line[position + 1] == 0x2D {
                    self.state = .end
                    try tell(.end)
                    return bytes.count
                }
                guard line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { throw Self.malformed }
                self.parts += 1
                guard self.parts <= Self.mostParts else { throw UploadRefusal(400, "the form has too many parts") }
                // The line end is not consumed: in a part without header fields, the blank line follows at once.
                position = end
                self.state = .head
            case .head:
                guard let end = Self.headEnd(bytes, from: position) else {
                    guard bytes.count - position <= Self.longestHead else {
                        throw UploadRefusal(431, "a part of the form has too large fields")
                    }
                    return position
                }
                guard end - position <= Self.longestHead else {
                    throw UploadRefusal(431, "a part of the form has too large fields")
                }
                // A delimiter inside the head: another parser would end the part there.
                guard self.search(bytes, from: position).offset >= end else { throw Self.malformed }
                try tell(try Self.part(bytes[(position + 2)..<max(position + 2, end)]))
                position = end
                self.state = .blankLine
            case .blankLine:
                // In a part without content, the line end of the blank line can be the start of the delimiter.
                let count = min(bytes.count - position, self.delimiter.count)
                if bytes[position..<position + count].elementsEqual(self.delimiter.prefix(count)) {
                    guard count == self.delimiter.count else { return position }
                } else {
                    position += 2
                }
                self.state = .content
            case .end: return bytes.count
            }
        }
    }

    /// Finds the delimiter, or a prefix of it at the end of the input; without either, the offset is the end of the
    /// input.
    private func search(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (found: Bool, offset: Int) {
        var index = start
        while index < bytes.count {
            guard bytes[index] == 0x0D else {
                index += 1
                continue
            }
            var count = 0
            let most = min(self.delimiter.count, bytes.count - index)
            while count < most, bytes[index + count] == self.delimiter[count] { count += 1 }
            if count == self.delimiter.count { return (true, index) }
            if index + count == bytes.count { return (false, index) }
            index += 1
        }
        return (false, bytes.count)
    }

    private static func lineEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        while index + 1 < bytes.count {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A { return index }
            index += 1
        }
        return nil
    }

    /// The offset of the second CR LF of two in a row; `start` is at a CR LF.
    private static func headEnd(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start
        while index + 3 < bytes.count {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D, bytes[index + 3] == 0x0A {
                return index + 2
            }
            index += 1
        }
        return nil
    }

    private static func part(_ head: Slice<UnsafeRawBufferPointer>) throws(UploadRefusal) -> Event {
        var name: String?
        var fileName: String?
        var type: String?
        // CR and LF occur only as a pair; HTAB is the only other control character allowed.
        let isClean = head.indices.allSatisfy { index in
            switch head[index] {
            case 0x0D: index + 1 < head.endIndex && head[index + 1] == 0x0A
            case 0x0A: index > head.startIndex && head[index - 1] == 0x0D
            case 0x09: true
            case let byte: byte >= 0x20 && byte != 0x7F
            }
        }
        guard isClean else { throw Self.malformed }
        for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else { throw Self.malformed }
            let value = String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
            switch line[..<colon].lowercased() {
            case "content-disposition":
                let disposition = ContentDisposition(value)
                guard disposition.type == "form-data" else { throw Self.malformed }
                name = disposition.name
                fileName = disposition.fileName
                // A file field that the user left empty has an empty name.
                if fileName == nil, value.contains("filename=") { fileName = "" }
            case "content-type": type = value
            default: break
            }
        }
        guard let name else { throw Self.malformed }
        return .part(name: Self.decode(name), fileName: fileName.map(Self.decode), type: type)
    }

    /// Decodes the name of a field or a file: a quotation mark is sent as `%22`, CR as `%0D` and LF as `%0A`; nothing
    /// else is encoded, not even the percent sign.
    ///
    /// - Source: the HTML standard, §4.10.21.8 (multipart form data).
    private static func decode(_ name: String) -> String {
        guard name.utf8.contains(0x25) else { return name }
        return name.replacing("%22", with: "\"").replacing("%0D", with: "\r").replacing("%0A", with: "\n")
    }

    private static let malformed = UploadRefusal(400, "the form is malformed")
}
