// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import TransferCore

/// The list of the reports that write shards into a directory: one JSON line per report, in the directory itself.
///
/// It does not say which shards a report names: only the report does.
struct ShardReportList: Equatable {
    struct Entry: Equatable {
        /// The id of its origin.
        var id: String
        /// Its path from the root.
        var path: String
        /// Its path from the directory of the shards, which stays right if both are moved; `nil` if unknown.
        var relative: String?
    }

    static let name = ".martlet-reports"
    /// The maximum size of a list in bytes.
    private static let limit = 16 << 20

    /// The reports, in the order of their first shards.
    var entries: [Entry] = []

    /// Parses a list; returns `nil` if it is damaged.
    init?(parsing bytes: [UInt8]) {
        guard bytes.isEmpty || bytes.last == 0x0A else { return nil }
        for line in bytes.split(separator: 0x0A) {
            guard let json = try? JSON(parsing: line), let id = json["id"]?.string, let path = json["path"]?.string
            else {
                return nil
            }
            self.entries.append(Entry(id: id, path: path, relative: json["relative"]?.string))
        }
    }

    init(_ entries: [Entry] = []) { self.entries = entries }

    /// The content of the file.
    var bytes: [UInt8] {
        self.entries.flatMap { entry in
            JSON.object([
                JSON.Member("id", .string(entry.id)), JSON.Member("path", .string(entry.path)),
                JSON.Member("relative", .optional(entry.relative)),
            ])
            .bytes + [0x0A]
        }
    }

    /// Reads the list of a directory; `nil` if it has none.
    ///
    /// - Throws: `StorageError` if it cannot be read or is damaged.
    static func read(in directory: DirectoryHandle) throws(StorageError) -> ShardReportList? {
        guard let bytes = try AtomicFile.read(self.name, in: directory, atMost: self.limit) else { return nil }
        guard let list = ShardReportList(parsing: bytes) else {
            throw StorageError(
                .badJournal,
                "'\(directory.path(self.name))', the list of the reports of these shards, is damaged; restore it, or "
                    + "choose another directory"
            )
        }
        return list
    }

    /// Replaces the list of a directory durably.
    func write(in directory: DirectoryHandle) throws(StorageError) {
        try AtomicFile.replace(Self.name, in: directory, with: self.bytes, mode: 0o644)
    }
}

extension ShardReportList.Entry {
    /// Creates the entry of a report that exists.
    ///
    /// - Parameters:
    ///   - id: The id of its origin.
    ///   - path: Its path.
    ///   - directory: The path of the directory of the shards.
    init(id: String, path: String, directory: String) {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        // The name itself can be a symbolic link: the origin is next to the link.
        guard let resolved = FileCalls.realpath(parent) else {
            self.init(id: id, path: path, relative: nil)
            return
        }
        let absolute = (resolved == "/" ? "" : resolved) + "/" + name
        self.init(
            id: id,
            path: absolute,
            relative: FileCalls.realpath(directory).map { Self.relative(absolute, from: $0) }
        )
    }

    /// A path from a directory; both are absolute, without links.
    static func relative(_ path: String, from directory: String) -> String {
        let target = path.split(separator: "/")
        let base = directory.split(separator: "/")
        let common = zip(target, base).prefix { $0 == $1 }.count
        return (Array(repeating: "..", count: base.count - common) + target.dropFirst(common)).joined(separator: "/")
    }
}
