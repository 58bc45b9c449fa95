// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Platform
package import TransferCore

/// The file of a report, locked by its run.
///
/// Lines are only appended. A crash can leave an incomplete last line, which the next run removes. Used by one thread
/// at a time.
package struct ReportFile: ~Copyable {
    /// The rows that a report has.
    package struct Contents: Sendable {
        /// The rows with a line.
        package var reported = RowSet()
        /// The number of rows with a line that says that they failed.
        package var failed: Int64 = 0
        /// The names of the shards.
        package var shards: Set<String> = []
        /// The last sample that is named.
        package var lastSample: ReportedSample?
    }

    package let path: String
    private let file: FileDescriptor
    /// The length up to the end of the last complete line.
    private var end: Int64 = 0
    /// The length of which a sync has not failed: without the lines that a failed one may have lost.
    private var kept: Int64 = 0
    /// Whether bytes were written since the last sync.
    private var isDirty = false

    /// Opens or creates a report, and locks it.
    ///
    /// - Throws: ``DatasetError``.
    package init(opening path: String) throws(DatasetError) {
        var raw: Int32
        repeat {
            raw = FileCalls.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        } while raw < 0 && errno == EINTR
        guard raw >= 0 else {
            throw .storage(StorageError(errno: errno, otherwise: .cannotOpen, "cannot open the report", path))
        }
        let file = FileDescriptor(raw)
        guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG else {
            throw .storage(StorageError(.cannotOpen, "the report '\(path)' is not a regular file; name another one"))
        }
        guard file.lock() == 0 else { throw .busy(report: path) }
        self.path = path
        self.file = file
    }

    /// Whether the report has no line yet.
    package var isEmpty: Bool { self.end == 0 }

    /// Reads the rows, and removes an incomplete last line.
    ///
    /// - Throws: ``DatasetError/storage(_:)`` if reading fails, or a line is not one of a report.
    package mutating func read() throws(DatasetError) -> Contents {
        var contents = Contents()
        let end: Int64
        let length: Int64
        var sample: [UInt8] = []
        do throws(StorageError) {
            (end, length) = try ReportScanner.scan(self.file, path: self.path) { entry, line in
                contents.reported.insert(entry.number)
                if entry.hasFailed { contents.failed += 1 }
                guard let shard = entry.shard else { return }
                contents.shards.insert(shard)
                sample.removeAll(keepingCapacity: true)
                sample += line
            }
        } catch {
            throw .storage(error)
        }
        contents.lastSample = ReportedSample(sample[...])
        self.end = end
        self.kept = end
        if end == 0, length > 0, !self.beginsLikeReport {
            throw .storage(
                StorageError(.badJournal, "'\(self.path)' is not a report; remove it, or name another one")
            )
        }
        if length > end {
            let number = self.file.truncate(end)
            guard number == 0 else { throw .storage(self.error(number)) }
            self.isDirty = true
        }
        return contents
    }

    /// Whether a file without a complete line begins as the first line does, or with the zeros of a loss of power.
    private var beginsLikeReport: Bool {
        var bytes = [UInt8](repeating: 0, count: ReportScanner.beginning.count)
        let count = bytes.withUnsafeMutableBytes { self.file.read(into: $0, at: 0) }
        return count > 0 && zip(bytes.prefix(count), ReportScanner.beginning).prefix { $0.0 != 0 }.allSatisfy(==)
    }

    /// Appends complete lines.
    ///
    /// - Throws: `StorageError`; then the file ends as before if possible.
    package mutating func append(_ lines: [UInt8]) throws(StorageError) {
        self.isDirty = true
        let file = self.file
        let end = self.end
        let number = lines.withUnsafeBytes { file.write($0, at: end) }
        guard number == 0 else {
            _ = self.file.truncate(self.end)
            throw self.error(number)
        }
        self.end += Int64(lines.count)
    }

    /// Syncs the lines appended so far (fdatasync(2)).
    ///
    /// - Throws: `StorageError`; then the unsynced lines of this run are removed if possible. The file
    ///   system may have given them up while reads still show them, and a later sync would say nothing of it.
    package mutating func sync() throws(StorageError) {
        guard self.isDirty else { return }
        let number = self.file.syncData()
        guard number == 0 else {
            if self.file.truncate(self.kept) == 0 { self.end = self.kept }
            throw self.error(number)
        }
        self.isDirty = false
        self.kept = self.end
    }

    /// Makes what an earlier run has written durable, with the name of the report: a killed run may not have.
    package mutating func syncEarlierLines() throws(StorageError) {
        self.isDirty = true
        try self.sync()
        try AtomicFile.syncDirectory(of: self.path)
    }

    private func error(_ number: Int32) -> StorageError {
        StorageError(errno: number, otherwise: .inputOutput, "cannot write the report", self.path)
    }
}
