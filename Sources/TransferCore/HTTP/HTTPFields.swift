/// The header fields of one HTTP message, in the order they were sent.
///
/// The names and values lie in one block of bytes; a string is made only for a field that is asked for.
/// Names compare without regard to ASCII case.
///
/// - Source: RFC 9110 §5.
public struct HTTPFields: Sendable {
    private struct Line: Sendable {
        var nameStart: UInt32
        var nameEnd: UInt32
        var valueStart: UInt32
        var valueEnd: UInt32
    }

    private var bytes: [UInt8]
    private var lines: [Line]

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

    /// Whether there is no field line.
    public var isEmpty: Bool { self.lines.isEmpty }

    /// Adds one field line at the end.
    ///
    /// - Precondition: Neither text holds CR, LF or NUL; a caller that takes them from outside checks first.
    public mutating func append(_ name: String, _ value: String) {
        let nameStart = UInt32(self.bytes.count)
        self.bytes.append(contentsOf: name.utf8)
        let nameEnd = UInt32(self.bytes.count)
        self.bytes.append(contentsOf: value.utf8)
        self.lines.append(
            Line(nameStart: nameStart, nameEnd: nameEnd, valueStart: nameEnd, valueEnd: UInt32(self.bytes.count))
        )
    }

    /// Adds one field line from raw bytes, as a parser has them.
    public mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let nameStart = UInt32(self.bytes.count)
        self.bytes.append(contentsOf: name)
        let nameEnd = UInt32(self.bytes.count)
        self.bytes.append(contentsOf: value)
        self.lines.append(
            Line(nameStart: nameStart, nameEnd: nameEnd, valueStart: nameEnd, valueEnd: UInt32(self.bytes.count))
        )
    }

    /// Makes room for a message of about this size.
    public mutating func reserve(bytes: Int, lines: Int) {
        self.bytes.reserveCapacity(bytes)
        self.lines.reserveCapacity(lines)
    }

    /// The value of the first field with this name, or `nil`.
    public subscript(name: StaticString) -> String? {
        for line in self.lines where self.matches(line, name) { return self.value(line) }
        return nil
    }

    /// The values of all fields with this name, in order.
    public func values(_ name: StaticString) -> [String] {
        self.lines.filter { self.matches($0, name) }.map(self.value)
    }

    /// All values of a list field joined with commas, or `nil` where the field is missing (RFC 9110 §5.3).
    public func joined(_ name: StaticString) -> String? {
        // Most fields that are asked for are not there.
        guard self.lines.contains(where: { self.matches($0, name) }) else { return nil }
        return self.values(name).joined(separator: ", ")
    }

    /// Whether a field with this name, given as text, is there.
    public func contains(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { wanted in self.lines.contains { self.matches($0, wanted) } }
    }

    /// The fields as pairs of strings; bytes that are not UTF-8 are repaired.
    public var pairs: [(name: String, value: String)] {
        self.lines.map {
            (String(decoding: self.bytes[Int($0.nameStart)..<Int($0.nameEnd)], as: UTF8.self), self.value($0))
        }
    }

    /// Calls `body` with the bytes of each name and value, in order, without making strings.
    ///
    /// - Parameter body: Takes a name and a value, both valid only during the call.
    public func forEachLine(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) {
        self.bytes.withUnsafeBytes { bytes in
            for line in self.lines {
                body(
                    UnsafeRawBufferPointer(rebasing: bytes[Int(line.nameStart)..<Int(line.nameEnd)]),
                    UnsafeRawBufferPointer(rebasing: bytes[Int(line.valueStart)..<Int(line.valueEnd)])
                )
            }
        }
    }

    /// Removes every field with this name.
    public mutating func remove(_ name: StaticString) {
        self.lines = self.lines.filter { !self.matches($0, name) }
    }

    private func matches(_ line: Line, _ name: StaticString) -> Bool {
        Int(line.nameEnd - line.nameStart) == name.utf8CodeUnitCount
            && name.withUTF8Buffer { self.matches(line, $0) }
    }

    private func matches(_ line: Line, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(line.nameEnd - line.nameStart) == name.count else { return false }
        let start = Int(line.nameStart)
        for index in 0..<name.count
        where ASCII.lowercase(self.bytes[start + index]) != ASCII.lowercase(name[index]) {
            return false
        }
        return true
    }

    private func value(_ line: Line) -> String {
        String(decoding: self.bytes[Int(line.valueStart)..<Int(line.valueEnd)], as: UTF8.self)
    }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    /// Creates a list of fields from a literal, in its order.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements)
    }
}

/// Tests and conversions of ASCII bytes.
public enum ASCII {
    /// The byte with an upper-case letter made lower-case.
    @inlinable
    public static func lowercase(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }
}
