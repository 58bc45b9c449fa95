// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
package import Files
package import TransferCore
internal import Gzip
internal import Platform

/// Reads a table from a descriptor, decompressing it if it is gzip.
///
/// Reading blocks; used by one thread.
package struct TableReader: ~Copyable {
    private let file: FileDescriptor
    private var parser: TableParser
    private var decoder: GzipDecoder?
    private var isFirst = true
    private var hasEnded = false
    /// The error after the rows that were returned last.
    private var failure: SyntaxError?

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - file: The open table.
    ///   - parser: The parser of its format.
    package init(_ file: FileDescriptor, _ parser: TableParser) {
        self.file = file
        self.parser = parser
    }

    /// Opens a table; `-` is standard input.
    ///
    /// - Throws: ``SyntaxError`` if it cannot be opened.
    package static func open(_ path: String) throws(SyntaxError) -> FileDescriptor {
        guard path != "-" else {
            let number = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
            guard number >= 0 else { throw SyntaxError("standard input is closed") }
            return FileDescriptor(number)
        }
        let number = FileCalls.open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else {
            throw SyntaxError("'\(path)' cannot be opened: \(String(cString: strerror(errno))); check its name")
        }
        return FileDescriptor(number)
    }

    /// The rows of a report so far; `nil` for another table.
    package var reportedRows: ReportedRows? { self.parser.reportedRows }

    /// Reads the next rows; may return none before the end.
    ///
    /// - Returns: The rows, or `nil` after the last ones.
    /// - Throws: ``SyntaxError`` if reading fails, the table is empty, the compressed data is damaged, or the table cannot
    ///   be parsed. The rows before the error were returned by earlier calls.
    package mutating func next() throws(SyntaxError) -> [TableItem]? {
        if let failure = self.failure { throw failure }
        guard !self.hasEnded else { return nil }
        let chunk = try self.read()
        if self.isFirst {
            self.isFirst = false
            if chunk.isEmpty, !self.parser.mayBeEmpty {
                throw SyntaxError("it is empty; check the program that should write it")
            }
            if let foreign = ForeignFormat(beginning: chunk) { throw SyntaxError(foreign.advice) }
            if GzipDecoder.isGzip(chunk) { self.decoder = try GzipDecoder() }
        }
        guard !chunk.isEmpty else {
            self.hasEnded = true
            try self.decoder?.finish()
            return try self.parser.finish()
        }
        guard self.decoder != nil else { return try self.parser.take(chunk[...]) }
        var items: [TableItem] = []
        var parser = self.parser
        defer { self.parser = parser }
        var failure: SyntaxError?
        do throws(SyntaxError) {
            try self.decoder?
                .decode(chunk) { bytes in
                    do throws(SyntaxError) { items += try parser.take(bytes) } catch { failure = error }
                    return failure == nil
                }
        } catch {
            failure = error
        }
        if let failure, items.isEmpty { throw failure }
        self.failure = failure
        return items
    }

    private func read() throws(SyntaxError) -> [UInt8] {
        var number: Int32 = 0
        let file = self.file
        // The first chunk must include the signature of a format.
        let least = self.isFirst ? ForeignFormat.length : 1
        // A chunk of compressed bytes may hold a thousand times as many.
        let capacity = self.decoder == nil ? 64 << 10 : 8 << 10
        let chunk = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, filled in
            while filled < least {
                let count = FileCalls.read(file.raw, buffer.baseAddress.map { $0 + filled }, buffer.count - filled)
                if count > 0 {
                    filled += count
                } else if count == 0 {
                    return
                } else if errno == EAGAIN {
                    // Another process made the shared terminal or pipe non-blocking: wait until it is readable.
                    var ready = pollfd(fd: file.raw, events: Int16(POLLIN), revents: 0)
                    poll(&ready, 1, -1)
                } else if errno != EINTR {
                    number = errno
                    return
                }
            }
        }
        guard number == 0 else { throw SyntaxError("it cannot be read: \(String(cString: strerror(number)))") }
        return chunk
    }
}
