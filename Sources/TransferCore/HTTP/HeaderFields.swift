// SPDX-License-Identifier: Apache-2.0
/// The header fields of one HTTP message, in the order in which they were sent.
///
/// The names and values are stored in one block of bytes; a string is created only for a requested field.
/// Names are compared ignoring ASCII case.
///
/// - Source: RFC 9110 §5.
public struct HeaderFields: Sendable {
    private struct Line: Sendable {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32
    }

    private var bytes: [UInt8]
    private var lines: [Line]
    /// Whether the block is what is sent: the lines in order, each `name: value` with its CRLF, a token and no control that
    /// would break the framing.
    private var isSendable = true
    /// A bit for each name that was ever added, by length and first letter: most names that are asked for are missing.
    private var marks: UInt64 = 0

    /// Creates an empty list of fields.
    public init() {
        self.bytes = []
        self.lines = []
    }

    /// Creates a list of fields from pairs of name and value.
    public init(_ pairs: [(String, String)]) {
        self.init()
        for (name, value) in pairs { self.append(name, value) }
    }

    /// The number of field lines.
    public var count: Int { self.lines.count }

    /// Whether the list is empty.
    public var isEmpty: Bool { self.lines.isEmpty }

    /// Appends one field line.
    ///
    /// - Precondition: Neither text contains CR, LF or NUL; a caller with untrusted texts checks first.
    public mutating func append(_ name: String, _ value: String) {
        var (name, value) = (name, value)
        name.withUTF8 { name in
            value.withUTF8 { self.append(name: UnsafeRawBufferPointer(name), value: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Appends one field line from raw bytes, as from a parser.
    public mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = self.bytes.count
        self.bytes.append(contentsOf: name)
        self.bytes.append(0x3A)
        self.bytes.append(0x20)
        self.bytes.append(contentsOf: value)
        self.bytes.append(0x0D)
        self.bytes.append(0x0A)
        let valueStart = start + name.count + 2
        self.append(nameAt: start..<start + name.count, valueAt: valueStart..<valueStart + value.count)
        if self.isSendable { self.isSendable = Self.isSendable(name, value) }
    }

    private static func isSendable(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard !name.isEmpty, name.allSatisfy(Byte.isTokenCharacter) else { return false }
        var control = value.firstControl(from: 0)
        while control < value.count {
            if value[control] == Byte.cr || value[control] == Byte.lf || value[control] == Byte.nul { return false }
            control = value.firstControl(from: control + 1)
        }
        return true
    }

    /// Reserves room for a message of about this size.
    public mutating func reserve(bytes: Int, lines: Int) {
        self.bytes.reserveCapacity(bytes)
        self.lines.reserveCapacity(lines)
    }

    /// Takes a copy of a block of field lines, to which ``append(nameAt:valueAt:)`` refers, and reserves room for lines.
    ///
    /// - Precondition: The list is empty.
    mutating func adopt(block: UnsafeRawBufferPointer, lines: Int) {
        self.bytes = Array(block)
        self.lines.reserveCapacity(lines)
        self.isSendable = false
    }

    /// Appends one field line that is part of the block.
    mutating func append(nameAt name: Range<Int>, valueAt value: Range<Int>) {
        if !name.isEmpty { self.marks |= Self.mark(length: name.count, first: self.bytes[name.lowerBound]) }
        self.lines.append(
            Line(
                nameStart: UInt32(name.lowerBound),
                nameEnd: UInt32(name.upperBound),
                valueStart: UInt32(value.lowerBound),
                valueEnd: UInt32(value.upperBound)
            )
        )
    }

    /// The value of the first field with this name, or `nil`.
    ///
    /// A new value replaces every field with this name, at the place of the first; `nil` removes them.
    ///
    /// - Precondition: Neither the name nor a new value contains CR, LF or NUL; a caller with untrusted texts checks
    ///   first.
    public subscript(name: String) -> String? {
        get { self.first(name).map { self.value(self.lines[$0]) } }
        set {
            guard let newValue else { return self.remove(name) }
            guard let first = self.first(name) else { return self.append(name, newValue) }
            self.append(name, newValue)
            let line = self.lines.removeLast()
            self.remove(name)
            self.lines.insert(line, at: first)
            self.isSendable = false
        }
    }

    /// The values of all fields with this name, in order.
    public func values(_ name: String) -> [String] {
        self.withName(name) { name in
            var values: [String] = []
            for line in self.lines where self.matches(line, name) { values.append(self.value(line)) }
            return values
        }
    }

    /// All values of a list field joined with commas, or `nil` if the field is missing (RFC 9110 §5.3).
    public func joined(_ name: String) -> String? {
        // Most requested fields are missing.
        guard self.contains(name) else { return nil }
        return self.values(name).joined(separator: ", ")
    }

    /// Whether a field with this name exists.
    public func contains(_ name: String) -> Bool { self.first(name) != nil }

    /// The maximum number of bytes of all field lines with two more between name and value and two at the end of each.
    package var encodedBound: Int { self.bytes.count + 4 * self.lines.count }

    /// Calls `body` with the bytes of each name and value, in order, without creating strings.
    ///
    /// - Parameter body: Receives a name and a value, both valid only during the call.
    public func forEachLine(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        self.bytes.withUnsafeBytes { bytes in
            for line in self.lines {
                body(
                    bytes.part(Int(line.nameStart)..<Int(line.nameEnd)),
                    bytes.part(Int(line.valueStart)..<Int(line.valueEnd))
                )
            }
        }
    }

    /// Calls `body` with the block of all lines as they are sent, each with its CRLF.
    ///
    /// - Returns: The result of `body`; `nil` if the lines are not in such a block, or one of them cannot be sent.
    package func withSendableBlock<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        self.isSendable ? self.bytes.withUnsafeBytes(body) : nil
    }

    /// Removes every field with this name.
    public mutating func remove(_ name: String) {
        let kept = self.withName(name) { name in self.lines.filter { !self.matches($0, name) } }
        self.isSendable = self.isSendable && kept.count == self.lines.count
        self.lines = kept
    }

    /// The bit of a name in ``marks``.
    @inline(__always)
    private static func mark(length: Int, first: UInt8) -> UInt64 {
        1 << UInt64(truncatingIfNeeded: (length &* 5 &+ Int(first | 0x20)) & 63)
    }

    private func first(_ name: String) -> Int? {
        self.withName(name) { name in
            if let first = name.first, self.marks & Self.mark(length: name.count, first: first) == 0 { return nil }
            return self.bytes.withUnsafeBytes { bytes in
                self.lines.withUnsafeBufferPointer { lines in
                    for index in lines.indices where Self.matches(bytes, lines[index], name) { return index }
                    return nil
                }
            }
        }
    }

    /// Whether a line of a block has this name; the lengths distinguish most.
    @inline(__always)
    private static func matches(
        _ bytes: UnsafeRawBufferPointer,
        _ line: Line,
        _ name: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        // Bounds: a line's offsets are within the block, and both names have the same length.
        let start = Int(line.nameStart)
        guard Int(line.nameEnd) - start == name.count else { return false }
        for index in 0..<name.count {
            let (ours, other) = (bytes[start + index], name[index])
            if ours != other, ASCII.lowercase(ours) != ASCII.lowercase(other) { return false }
        }
        return true
    }

    private func withName<Result>(_ name: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var name = name
        return name.withUTF8(body)
    }

    private func matches(_ line: Line, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        self.bytes.withUnsafeBytes { Self.matches($0, line, name) }
    }

    private func name(_ line: Line) -> String {
        String(decoding: self.bytes[Int(line.nameStart)..<Int(line.nameEnd)], as: UTF8.self)
    }

    /// The value as text: UTF-8, or ISO 8859-1 if it is not UTF-8, so that no byte is lost (RFC 9110 §5.5).
    private func value(_ line: Line) -> String {
        let bytes = self.bytes[Int(line.valueStart)..<Int(line.valueEnd)]
        // Nearly every value is ASCII, and the standard library validates by unspecialized code.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }
}

extension HeaderFields: Sequence {
    /// A field: its name as sent, and its value.
    public typealias Element = (name: String, value: String)

    /// Iterates over the fields in order.
    public struct Iterator: IteratorProtocol, Sendable {
        private let fields: HeaderFields
        private var index = 0

        fileprivate init(_ fields: HeaderFields) { self.fields = fields }

        /// The next field, or `nil` after the last one.
        public mutating func next() -> Element? {
            guard self.index < self.fields.lines.count else { return nil }
            defer { self.index += 1 }
            let line = self.fields.lines[self.index]
            return (self.fields.name(line), self.fields.value(line))
        }
    }

    /// An iterator over the fields.
    public func makeIterator() -> Iterator { Iterator(self) }

    /// The number of field lines.
    public var underestimatedCount: Int { self.count }
}

extension HeaderFields: Hashable {
    /// Whether both have the same fields in the same order; the case of names is ignored.
    public static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        guard left.lines.count == right.lines.count else { return false }
        for (line, other) in zip(left.lines, right.lines) {
            let isEqual = right.bytes.withUnsafeBufferPointer { bytes in
                left.matches(line, bytes.part(Int(other.nameStart)..<Int(other.nameEnd)))
            }
            guard isEqual,
                left.bytes[Int(line.valueStart)..<Int(line.valueEnd)]
                    == right.bytes[Int(other.valueStart)..<Int(other.valueEnd)]
            else { return false }
        }
        return true
    }

    /// Hashes names, ignoring case, and values.
    public func hash(into hasher: inout Hasher) {
        for line in self.lines {
            for byte in self.bytes[Int(line.nameStart)..<Int(line.nameEnd)] { hasher.combine(ASCII.lowercase(byte)) }
            hasher.combine(self.bytes[Int(line.valueStart)..<Int(line.valueEnd)])
        }
    }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
    /// Creates a list of fields from a literal, in its order.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements)
    }
}

/// Tests and conversions of ASCII bytes.
package enum ASCII {
    /// Whether the byte is a decimal digit.
    package static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    /// The byte, with upper-case letters converted to lower case.
    @inlinable
    package static func lowercase(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }
}
