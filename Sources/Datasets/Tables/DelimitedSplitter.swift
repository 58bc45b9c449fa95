// SPDX-License-Identifier: Apache-2.0
/// Splits a stream of bytes into the records of comma- or tab-separated values, with bounded memory.
///
/// A field that begins with a quotation mark ends with the next single one; within it, two stand for one, and separators
/// and line ends are data. Records end with LF or CRLF. As in other readers, text after the closing quotation mark is
/// appended to the field, if that is on the line of the opening one: otherwise the mark is probably that of a later
/// record, and the records between them would be lost.
///
/// Pure value: it consumes chunks of any size.
///
/// - Source: RFC 4180.
struct DelimitedSplitter {
    enum Record {
        ///
        /// `hasReturns`: whether a CR without LF is outside of quotation marks.
        case fields([String], hasReturns: Bool)
        /// A record longer than the limit; its content is dropped.
        case tooLong(hasReturns: Bool)
        /// The quotation mark in this line is not closed where a field can end: no later record can be found.
        case unclosed(line: Int64)
    }

    private enum Place {
        case fieldStart
        case bare
        case quoted
        /// After a quotation mark within a quoted field: it ends the field, unless another one follows.
        case quote
    }

    private let separator: UInt8
    private let limit: Int
    private var place = Place.fieldStart
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var isTooLong = false
    /// The number of CRs outside of quotation marks.
    private var returns = 0
    /// The line of the last opening quotation mark, and the bytes after it.
    private var quote: (line: Int64, count: Int) = (0, 0)
    private var line: Int64 = 1
    private var start: Int64 = 1

    /// Creates a splitter.
    ///
    /// - Parameters:
    ///   - separator: The byte between fields.
    ///   - limit: The maximum length of a record in bytes.
    init(separator: UInt8, limit: Int) {
        self.separator = separator
        self.limit = limit
    }

    /// Consumes a chunk, and calls `take` with each complete record and the number of its first line.
    ///
    /// After ``Record/unclosed(line:)`` the later records are meaningless: `take` should throw.
    mutating func split<E: Error>(_ chunk: ArraySlice<UInt8>, _ take: (Record, Int64) throws(E) -> Void) throws(E) {
        var index = chunk.startIndex
        while index < chunk.endIndex {
            let byte = chunk[index]
            index += 1
            switch self.place {
            case .quoted:
                if byte == 0x22 {
                    self.place = .quote
                } else {
                    if byte == 0x0A { self.line += 1 }
                    self.append(byte)
                    self.quote.count += 1
                    if self.quote.count > self.limit { try take(.unclosed(line: self.quote.line), self.start) }
                }
            case .quote where byte == 0x22:
                self.append(byte)
                self.place = .quoted
            case .fieldStart where byte == 0x22:
                self.place = .quoted
                self.quote = (self.line, 0)
            case .fieldStart, .bare, .quote:
                if byte == self.separator {
                    self.endField()
                } else if byte == 0x0A {
                    self.line += 1
                    try self.endRecord(take)
                } else {
                    if byte == 0x0D {
                        self.returns += 1
                    } else if self.place == .quote, self.quote.line != self.line {
                        try take(.unclosed(line: self.quote.line), self.start)
                    }
                    self.append(byte)
                    self.place = .bare
                }
            }
        }
    }

    /// Completes the last record if its line end is missing.
    mutating func finish<E: Error>(_ take: (Record, Int64) throws(E) -> Void) throws(E) {
        if case .quoted = self.place {
            let start = self.start
            self.reset()
            return try take(.unclosed(line: self.quote.line), start)
        }
        if case .fieldStart = self.place, self.bytes.isEmpty, self.ends.isEmpty { return }
        try self.endRecord(take)
    }

    private mutating func append(_ byte: UInt8) {
        if self.bytes.count < self.limit { self.bytes.append(byte) } else { self.isTooLong = true }
    }

    private mutating func endField() {
        self.ends.append(self.bytes.count)
        // Fields without content use memory, too.
        if self.ends.count > self.limit { self.isTooLong = true }
        if self.isTooLong { self.ends.removeAll(keepingCapacity: true) }
        self.place = .fieldStart
    }

    private mutating func endRecord<E: Error>(_ take: (Record, Int64) throws(E) -> Void) throws(E) {
        let start = self.start
        defer { self.reset() }
        if self.isTooLong { return try take(.tooLong(hasReturns: self.returns > 1), start) }
        // The CR of a CRLF; within quotation marks it is data.
        if self.place == .bare, self.bytes.last == 0x0D {
            self.bytes.removeLast()
            self.returns -= 1
        }
        // A blank line is not a record.
        if self.bytes.isEmpty, self.ends.isEmpty { return }
        self.endField()
        var fields: [String] = []
        fields.reserveCapacity(self.ends.count)
        var from = 0
        for end in self.ends {
            fields.append(String(decoding: self.bytes[from..<end], as: UTF8.self))
            from = end
        }
        try take(.fields(fields, hasReturns: self.returns > 0), start)
    }

    private mutating func reset() {
        self.bytes.removeAll(keepingCapacity: true)
        self.ends.removeAll(keepingCapacity: true)
        self.isTooLong = false
        self.returns = 0
        self.place = .fieldStart
        self.start = self.line
    }
}
