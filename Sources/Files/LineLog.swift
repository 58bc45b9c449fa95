// SPDX-License-Identifier: Apache-2.0
import Platform
package import TransferCore

/// A file of lines with checksums: a snapshot, to which changes are appended.
///
/// A line has the CRC-32C and the length of its payload, in eight hexadecimal digits each, and the payload. The first line has the format,
/// its version and the number of lines of the snapshot. Every append is one line, synced before it is reported as
/// written. A crash can only leave an incomplete last line, which does not count; damage elsewhere is an error. The
/// snapshot is replaced atomically.
///
/// Several processes may append if they exclude each other; only one of them may replace.
package struct LineLog: Sendable {
    private var file: AppendedFile
    private let format: String
    private let version: Int
    /// The length of the snapshot in bytes.
    private var snapshot: Int64 = 0

    private static let longest = 1 << 30

    /// Creates a log that is neither read nor written yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - format: The name of the format: letters and hyphens.
    ///   - version: The version of the payloads.
    package init(_ path: String, format: String, version: Int) {
        self.file = AppendedFile(path)
        self.format = format
        self.version = version
    }

    package var path: String { self.file.path }

    /// Whether the file should be replaced: more was appended than the snapshot has.
    package var isBloated: Bool {
        AppendedFile.isBloated(obsolete: (self.file.end ?? 0) - self.snapshot, current: self.snapshot)
    }

    /// Whether the file has another length than this value knows; stat(2).
    package var hasChanged: Bool { self.file.hasChanged }

    // MARK: Reading

    /// Reads the whole file.
    ///
    /// - Returns: The payloads, or `nil` if the file does not exist.
    /// - Throws: ``StorageError``: `badJournal` if it is damaged or has another format, or the error of reading it.
    package mutating func read() throws(StorageError) -> [[UInt8]]? {
        guard let bytes = try AtomicFile.read(self.path, atMost: Self.longest) else { return nil }
        let (all, end) = try self.lines(bytes[...], after: 0)
        guard let header = all.first, let json = try? JSON(parsing: header), json["format"]?.string == self.format,
            let version = json["version"]?.integer, let count = json["snapshot"]?.integer, count >= 0
        else { throw self.damaged("it is not a file of the format \(self.format)") }
        guard version <= Int64(self.version) else {
            throw StorageError(
                .badJournal,
                "'\(self.path)' has version \(version), but this program supports \(self.version); use the program that "
                    + "wrote it, or move the file away"
            )
        }
        guard Int64(all.count - 1) >= count else { throw self.damaged("its snapshot is incomplete") }
        self.file.wasRead(upTo: Int64(end), of: Int64(bytes.endIndex))
        self.snapshot = Int64(all.prefix(Int(count) + 1).reduce(0) { $0 + $1.count + Self.overhead })
        return Array(all.dropFirst())
    }

    /// Reads the lines that were appended since the last call of any method.
    ///
    /// - Throws: ``StorageError`` as ``read()``.
    package mutating func readAppended() throws(StorageError) -> [[UInt8]] {
        guard let known = self.file.end, self.hasChanged else { return [] }
        guard let bytes = try AtomicFile.read(self.path, atMost: Self.longest), Int64(bytes.count) > known else {
            return []
        }
        let (lines, end) = try self.lines(bytes[Int(known)...], after: known)
        self.file.wasRead(upTo: Int64(end), of: Int64(bytes.endIndex))
        return lines
    }

    /// Decodes lines; returns their payloads, and the index after the last complete one.
    private func lines(
        _ bytes: ArraySlice<UInt8>,
        after offset: Int64
    ) throws(StorageError) -> (payloads: [[UInt8]], end: Int) {
        var payloads: [[UInt8]] = []
        var start = bytes.startIndex
        while start < bytes.endIndex, let feed = bytes[start...].firstIndex(of: 0x0A) {
            guard let payload = Self.decode(bytes[start..<feed]) else {
                // Only the last line can be incomplete.
                guard feed + 1 == bytes.endIndex, start > 0 else { throw self.damaged(at: start) }
                break
            }
            payloads.append(payload)
            start = feed + 1
        }
        // A crash leaves less than a line; there is more if line feeds were changed.
        let rest = bytes[start...]
        if let length = Self.length(rest), rest.count > length + Self.overhead { throw self.damaged(at: start) }
        return (payloads, start)
    }

    // MARK: Writing

    /// Appends a line and syncs it.
    ///
    /// - Parameter payload: The payload, without line breaks.
    /// - Returns: Whether it was appended; false if the file must be replaced, because it is missing or was changed.
    /// - Throws: ``StorageError``; the line may or may not be in the file then.
    package mutating func append(_ payload: [UInt8]) throws(StorageError) -> Bool {
        try self.file.append(Self.encode(payload))
    }

    /// Replaces the file atomically.
    ///
    /// - Parameter payloads: The snapshot.
    /// - Throws: ``StorageError``: the file is unchanged, unless only the last sync failed.
    package mutating func replace(_ payloads: [[UInt8]]) throws(StorageError) {
        let header = JSON.object([
            JSON.Member("format", .string(self.format)), JSON.Member("version", .integer(Int64(self.version))),
            JSON.Member("snapshot", .integer(Int64(payloads.count))),
        ])
        var bytes = Self.encode(header.bytes)
        for payload in payloads { bytes += Self.encode(payload) }
        try self.file.replace(bytes)
        self.snapshot = Int64(bytes.count)
    }

    // MARK: Lines

    /// The length of a line without its payload.
    private static let overhead = 18

    private static func encode(_ payload: [UInt8]) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(payload.count + Self.overhead)
        line += Self.digits(CRC32C.checksum(payload)).utf8
        line += Self.digits(UInt32(truncatingIfNeeded: payload.count)).utf8
        line.append(0x20)
        line += payload
        line.append(0x0A)
        return line
    }

    private static func decode(_ line: ArraySlice<UInt8>) -> [UInt8]? {
        guard line.count == (self.length(line) ?? -1) + self.overhead - 1, line[line.startIndex + 16] == 0x20 else {
            return nil
        }
        let payload = Array(line.dropFirst(17))
        return line.prefix(8).elementsEqual(self.digits(CRC32C.checksum(payload)).utf8) ? payload : nil
    }

    /// The declared length of the payload of a line; `nil` if there is none.
    private static func length(_ line: ArraySlice<UInt8>) -> Int? {
        guard line.count >= 16, let bytes = Hexadecimal.decode(line.dropFirst(8).prefix(8)) else { return nil }
        return bytes.reduce(0) { $0 << 8 | Int($1) }
    }

    private static func digits(_ value: UInt32) -> String {
        Hexadecimal.encode((0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) })
    }

    private func damaged(at offset: Int) -> StorageError {
        self.damaged("the line at offset \(offset) has a wrong checksum")
    }

    private func damaged(_ reason: String) -> StorageError {
        StorageError(
            .badJournal,
            "'\(self.path)' is damaged: \(reason); restore it from a backup, or move it away and lose its contents"
        )
    }
}
