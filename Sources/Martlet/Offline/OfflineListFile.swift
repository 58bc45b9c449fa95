// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import FileStorage
internal import Files
internal import TransferEngine

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The file of a list: a snapshot, to which changes are appended.
///
/// Every line is a JSON object. The first has the version and the number of lines of the snapshot, each following one
/// the downloads that were added, changed or removed at once. The snapshot is replaced atomically once most of the file
/// is obsolete, so that a change costs its own size on average. A crash can only leave an incomplete last line, which
/// does not count: the change was not reported as written. Version 1 was one JSON object with all downloads.
struct OfflineListFile: Sendable {
    private struct Header: Codable {
        var version: Int
        /// The number of lines of the snapshot; not present in version 1.
        var snapshot: Int?
    }

    private struct Old: Codable { var items: [OfflineRecord] }

    /// One line.
    private struct Line: Codable {
        var put: [OfflineRecord]?
        var gone: [String]?
    }

    private static let version = 2
    private static let longest = 1 << 28

    private var file: AppendedFile
    /// The size of each download's last record in bytes.
    private var sizes: [String: Int] = [:]
    /// The sum of the sizes.
    private var current = 0
    private var obsolete = 0

    init(path: String) { self.file = AppendedFile(path) }

    var path: String { self.file.path }

    /// Whether the file should be replaced although nothing has changed: it has an old version, or ends incompletely.
    var isOutdated: Bool { self.file.end == nil }

    // MARK: Writing

    /// Writes changes to disk; if this fails, the list on disk is unchanged.
    ///
    /// - Parameters:
    ///   - put: The added and changed downloads.
    ///   - gone: The ids of the removed ones.
    ///   - all: Returns all downloads, including the changes.
    /// - Throws: ``TransferError`` with `noSpace` or `file`.
    mutating func write(
        put: [OfflineRecord],
        gone: [String],
        all: () -> [OfflineRecord]
    ) throws(TransferError) {
        if !self.isOutdated, !AppendedFile.isBloated(obsolete: Int64(self.obsolete), current: Int64(self.current)) {
            let encoded = try self.encoded(put)
            let isAppended: Bool
            do throws(StorageError) {
                isAppended = try self.file.append(Self.line(encoded.map(\.bytes), gone: gone))
            } catch {
                throw TransferError(TransferFailure(error))
            }
            if isAppended {
                for (id, bytes) in encoded { self.count(id, bytes.count) }
                for id in gone { self.count(id, nil) }
                return
            }
        }
        try self.replace(all())
    }

    /// Replaces the file by a snapshot.
    private mutating func replace(_ records: [OfflineRecord]) throws(TransferError) {
        let encoded = try self.encoded(records)
        var bytes = Array("{\"snapshot\":\(records.count),\"version\":\(Self.version)}\n".utf8)
        for (_, record) in encoded { bytes += Self.line([record], gone: []) }
        do throws(StorageError) {
            try self.file.replace(bytes)
        } catch {
            throw TransferError(TransferFailure(error))
        }
        self.sizes = [:]
        (self.current, self.obsolete) = (0, 0)
        for (id, record) in encoded { self.count(id, record.count) }
    }

    private mutating func count(_ id: String, _ size: Int?) {
        let old = self.sizes[id] ?? 0
        self.sizes[id] = size
        self.current += (size ?? 0) - old
        self.obsolete += old
    }

    private func encoded(_ records: [OfflineRecord]) throws(TransferError) -> [(id: String, bytes: [UInt8])] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var encoded: [(id: String, bytes: [UInt8])] = []
        for record in records {
            guard let data = try? encoder.encode(record) else {
                throw TransferError(.unknown, "the list '\(self.path)' cannot be encoded")
            }
            encoded.append((record.id, Array(data)))
        }
        return encoded
    }

    private static func line(_ records: [[UInt8]], gone: [String]) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(records.reduce(32) { $0 + $1.count + 1 } + gone.count * 40)
        line += Array("{\"put\":[".utf8)
        for (index, record) in records.enumerated() {
            if index > 0 { line.append(0x2C) }
            line += record
        }
        line += Array("]".utf8)
        if !gone.isEmpty, let ids = try? JSONEncoder().encode(gone) { line += Array(",\"gone\":".utf8) + Array(ids) }
        line += Array("}\n".utf8)
        return line
    }

    // MARK: Reading

    /// Reads the list.
    ///
    /// - Returns: Its downloads, or `nil` if the file does not exist.
    /// - Throws: ``TransferError`` with `listDamaged` after renaming the file; with `listTooNew` or `file`, leaving it
    ///   unchanged.
    mutating func read() throws(TransferError) -> [OfflineRecord]? {
        let bytes: [UInt8]
        do throws(StorageError) {
            guard let read = try AtomicFile.read(self.path, atMost: Self.longest) else { return nil }
            bytes = read
        } catch {
            throw TransferError(TransferFailure(error))
        }
        let first = bytes.prefix { $0 != 0x0A }
        // Version 1 has line breaks within its object.
        guard let header = Self.decode(Header.self, first) ?? Self.decode(Header.self, bytes[...]), header.version > 0
        else { throw self.setAside("it is not a list") }
        guard header.version <= Self.version else {
            throw TransferError(
                .listTooNew,
                "the list '\(self.path)' has version \(header.version), but this program supports \(Self.version)",
                remedy: "use the program that wrote it, or choose another list"
            )
        }
        let items: [OfflineRecord]
        if header.version == 1 {
            guard let old = Self.decode(Old.self, bytes[...]) else { throw self.setAside("its items cannot be read") }
            items = old.items
            guard Set(items.map(\.id)).count == items.count else { throw self.setAside("two items have the same id") }
        } else {
            guard let snapshot = header.snapshot, first.endIndex < bytes.endIndex else {
                throw self.setAside("it is not a list")
            }
            items = try self.items(bytes[(first.endIndex + 1)...], snapshot: snapshot)
        }
        for item in items {
            let request = Result { () throws(TransferError) in try item.request.request() }
            guard item.isPlausible, case .success = request else {
                throw self.setAside("the item '\(item.id.prefix(40))' is inconsistent")
            }
        }
        return items
    }

    /// Reads the lines after the first.
    private mutating func items(_ bytes: ArraySlice<UInt8>, snapshot: Int) throws(TransferError) -> [OfflineRecord] {
        var contents = Contents()
        var isWhole = true
        var (start, number) = (bytes.startIndex, 0)
        while start < bytes.endIndex {
            let end = bytes[start...].firstIndex(of: 0x0A)
            let next = end.map { $0 + 1 } ?? bytes.endIndex
            number += 1
            if end != nil, let line = Self.decode(Line.self, bytes[start..<next]) {
                contents.apply(line.put ?? [], line.gone ?? [], of: next - start)
            } else {
                // Only the last line can be incomplete, and none of the snapshot.
                guard next == bytes.endIndex, number > snapshot else {
                    throw self.setAside("its line \(number + 1) cannot be read")
                }
                isWhole = false
                number -= 1
            }
            start = next
        }
        guard number >= snapshot else { throw self.setAside("it has \(number) of \(snapshot) lines") }
        // A file with appended lines is replaced at opening, when all of it has been read anyway.
        if isWhole, number == snapshot, contents.records.count == snapshot {
            self.file.wasRead(upTo: Int64(bytes.endIndex), of: Int64(bytes.endIndex))
            for (id, size) in contents.sizes { self.count(id, size) }
        }
        return contents.records
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: ArraySlice<UInt8>) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }

    /// The downloads that the lines read so far result in.
    private struct Contents {
        private var items: [String: (record: OfflineRecord, position: Int)] = [:]
        private var next = 0
        private(set) var sizes: [String: Int] = [:]

        /// The downloads in the order of adding; a finished one, in that of finishing.
        var records: [OfflineRecord] { self.items.values.sorted { $0.position < $1.position }.map(\.record) }

        mutating func apply(_ put: [OfflineRecord], _ gone: [String], of size: Int) {
            for record in put {
                let known = self.items[record.id]
                let finishes = record.standing == .finished && known?.record.standing != .finished
                self.items[record.id] = (record, known.flatMap { finishes ? nil : $0.position } ?? self.next)
                self.next += 1
                self.sizes[record.id] = size / put.count
            }
            for id in gone {
                self.items[id] = nil
                self.sizes[id] = nil
            }
        }
    }

    /// Renames a damaged list, so that it is not overwritten.
    private func setAside(_ reason: String) -> TransferError {
        for number in 0..<1000 {
            let name = self.path + (number == 0 ? ".damaged" : ".damaged.\(number)")
            do throws(StorageError) {
                try FileMover.move(self.path, to: name, replacing: false)
            } catch {
                if error.code == .exists { continue }
                return TransferError(
                    .listDamaged,
                    "the list '\(self.path)' is damaged (\(reason)) and cannot be renamed: \(error.message)",
                    remedy: "move it away"
                )
            }
            return TransferError(
                .listDamaged,
                "the list '\(self.path)' is damaged (\(reason)); it is now '\(name)'",
                remedy: "repair it and move it back, or open the list again: it will be empty",
                isRetryable: true
            )
        }
        return TransferError(
            .listDamaged,
            "the list '\(self.path)' is damaged (\(reason)); a thousand damaged lists already exist",
            remedy: "move them away"
        )
    }
}
