// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform

/// The central directory of an archive until it is sent: in memory, and above a size in an unnamed temporary file.
///
/// A tree may have millions of files, and each has about a hundred bytes in the directory.
struct ArchiveSpool {
    /// The number of bytes in memory, and of a piece that is read again.
    static let piece = 256 << 10
    /// The maximum size in bytes, more than ten million entries.
    private static let most: Int64 = 2 << 30

    private var buffer: [UInt8] = []
    private var file: OpenFile?
    private var written: Int64 = 0
    private var readOffset: Int64 = 0

    init() {}

    /// Adds a record; blocks.
    ///
    /// - Returns: Whether there was space for it.
    mutating func append(_ record: [UInt8]) -> Bool {
        self.buffer += record
        guard self.buffer.count >= Self.piece else { return true }
        if self.file == nil { self.file = Self.temporaryFile() }
        guard let file, self.written < Self.most else { return false }
        guard self.buffer.withUnsafeBytes({ file.write($0, at: self.written) }) == 0 else { return false }
        self.written += Int64(self.buffer.count)
        self.buffer.removeAll(keepingCapacity: true)
        return true
    }

    /// Returns the next piece of all records, after the last one was added.
    ///
    /// - Returns: The piece; empty at the end, `nil` if it cannot be read.
    mutating func next() -> [UInt8]? {
        guard let file, self.readOffset < self.written else {
            defer { self.buffer = [] }
            return self.buffer
        }
        let count = Int(min(Int64(Self.piece), self.written - self.readOffset))
        let piece = [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            filled = max(0, file.read(into: UnsafeMutableRawBufferPointer(bytes), at: self.readOffset))
        }
        guard piece.count == count else { return nil }
        self.readOffset += Int64(count)
        return piece
    }

    /// Creates a file in `$TMPDIR` or `/tmp` without a name.
    private static func temporaryFile() -> OpenFile? {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/martlet-zip-XXXXXX".utf8CString)
        let raw = mkstemp(&template)
        guard raw >= 0 else { return nil }
        unlink(&template)
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        return OpenFile(raw)
    }
}
