// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import HTTPServer
internal import NIOPosix
internal import Platform
internal import Synchronization
internal import TransferCore

/// Sends the files below a directory as a zip archive, at the client's pace.
///
/// Its memory does not depend on the number and size of the files. If a file becomes shorter or is rewritten while it is
/// sent, the connection is closed, so that no archive has content that no file had.
final class ArchiveSource: ContentSource {
    let pool: NIOThreadPool? = nil
    let length: Int64?
    private let work: Mutex<ArchiveWork>
    private let place: ArchivePlace.Charge

    /// - Parameters:
    ///   - work: The archive.
    ///   - length: Its length in bytes, if it is known.
    ///   - place: Its place among the archives that are sent.
    init(_ work: sending ArchiveWork, length: Int64?, place: ArchivePlace.Charge) {
        self.work = Mutex(work)
        self.length = length
        self.place = place
    }

    func next() -> [UInt8] { self.work.withLock { $0.next() } }

    var isBroken: Bool { self.work.withLock { $0.isBroken } }
}

/// The limit of archives that are sent at the same time: each has open directories.
final class ArchivePlace: Sendable {
    /// The maximum number of archives.
    static let most = 64

    private let count = Atomic<Int>(0)

    init() {}

    /// Registers an archive until the charge is released; `nil` if there are too many.
    func enter() -> Charge? {
        let charge = Charge(self)
        return self.count.load(ordering: .relaxed) <= Self.most ? charge : nil
    }

    /// One archive.
    final class Charge: Sendable {
        private let place: ArchivePlace

        fileprivate init(_ place: ArchivePlace) {
            self.place = place
            place.count.add(1, ordering: .relaxed)
        }

        deinit { self.place.count.subtract(1, ordering: .relaxed) }
    }
}

/// The state of an archive that is being sent.
///
/// Every method blocks.
struct ArchiveWork {
    private enum Stage {
        case entries
        case file(OpenFile, FileFacts, offset: Int64)
        case directory
        case end
    }

    /// The size above which a file is sent in pieces, and of a piece.
    static let piece = 256 << 10

    private var walk: TreeWalk
    /// The promised sizes of the files, in their order, reversed; `nil` if none are promised.
    private var promised: [Int64]?
    private var writer = ZipWriter()
    private var spool = ArchiveSpool()
    private var stage = Stage.entries
    /// Whether the archive cannot be completed.
    private(set) var isBroken = false

    /// - Parameters:
    ///   - walk: The files.
    ///   - promised: The sizes of the files if a length is promised: another size breaks the archive.
    init(_ walk: sending TreeWalk, promised: [Int64]? = nil) {
        self.walk = walk
        self.promised = promised?.reversed()
    }

    /// The next piece; empty at the end, and if the archive is broken.
    mutating func next() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.piece + 1024)
        while bytes.count < Self.piece, !self.isBroken {
            switch self.stage {
            case .entries:
                do throws(TreeError) {
                    guard let item = try self.walk.next() else {
                        self.stage = .directory
                        continue
                    }
                    self.begin(item, &bytes)
                } catch {
                    self.isBroken = true
                }
            case .file(let file, let facts, let offset):
                self.continueFile(file, facts, offset, &bytes)
            case .directory:
                guard let records = self.spool.next() else {
                    self.isBroken = true
                    continue
                }
                bytes += records
                guard records.isEmpty else { continue }
                bytes += self.writer.finish()
                self.stage = .end
            case .end: return bytes
            }
        }
        // The client must not take what precedes the failure for a complete archive.
        return self.isBroken ? [] : bytes
    }

    private mutating func begin(_ item: TreeWalk.Item, _ bytes: inout [UInt8]) {
        var entry = Self.entry(item)
        guard case .file(let file, let facts) = item.entry else {
            entry.name += "/"
            let (head, record) = self.writer.add(entry, UnsafeRawBufferPointer(start: nil, count: 0))
            bytes += head
            return self.keep(record)
        }
        if let promised = self.promised?.popLast(), promised != facts.length {
            self.isBroken = true
            return
        }
        guard facts.length <= Int64(Self.piece) else {
            bytes += self.writer.begin(entry, expecting: facts.length)
            self.stage = .file(file, facts, offset: 0)
            return
        }
        guard let content = Self.read(file, at: 0, count: Int(facts.length)), Self.isSame(file, facts) else {
            self.isBroken = true
            return
        }
        let (head, record) = content.withUnsafeBytes { self.writer.add(entry, $0) }
        bytes += head
        bytes += content
        self.keep(record)
    }

    private mutating func continueFile(
        _ file: OpenFile,
        _ facts: FileFacts,
        _ offset: Int64,
        _ bytes: inout [UInt8]
    ) {
        let count = Int(min(Int64(Self.piece), facts.length - offset))
        guard let content = Self.read(file, at: offset, count: count) else {
            self.isBroken = true
            return
        }
        content.withUnsafeBytes { self.writer.append($0) }
        bytes += content
        guard offset + Int64(count) == facts.length else {
            self.stage = .file(file, facts, offset: offset + Int64(count))
            return
        }
        let (descriptor, record) = self.writer.end()
        guard !record.isEmpty, Self.isSame(file, facts) else {
            self.isBroken = true
            return
        }
        bytes += descriptor
        self.keep(record)
        self.stage = .entries
    }

    private mutating func keep(_ record: [UInt8]) { if !self.spool.append(record) { self.isBroken = true } }

    /// Reads exactly a number of bytes; `nil` if there are fewer.
    private static func read(_ file: OpenFile, at offset: Int64, count: Int) -> [UInt8]? {
        let content = [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
            filled = max(0, file.read(into: UnsafeMutableRawBufferPointer(bytes), at: offset))
        }
        return content.count == count ? content : nil
    }

    /// Whether a file has the same content as before, at least up to its former end: logs grow while they are sent.
    private static func isSame(_ file: OpenFile, _ facts: FileFacts) -> Bool {
        guard let status = file.status() else { return false }
        let now = FileFacts(status)
        return now == facts || now.length > facts.length
    }

    private static func entry(_ item: TreeWalk.Item) -> ZipWriter.Entry {
        // Some programs on Windows take a backslash for a slash.
        let name = item.names.map { $0.replacing("\\", with: "_") }.joined(separator: "/")
        let isFile = item.status.st_mode & S_IFMT == S_IFREG
        return ZipWriter.Entry(
            name: name,
            modified: Int64(item.status.modificationTime.tv_sec),
            mode: isFile ? 0o100644 | UInt32(item.status.st_mode) & 0o111 : 0o40755
        )
    }

    /// The length of an archive with only files, without reading them.
    ///
    /// - Parameter files: The files' items in their order.
    /// - Returns: The length in bytes.
    static func length(of files: [TreeWalk.Item]) -> Int64 {
        var writer = ZipWriter()
        for item in files {
            let size = Int64(item.status.st_size)
            // An entry with a descriptor differs only in its length from one without.
            let isWhole = size <= Int64(Self.piece)
            _ = writer.begin(Self.entry(item), expecting: size)
            writer.skip(Int(size))
            let (descriptor, _) = writer.end()
            if isWhole { writer.remove(descriptor.count) }
        }
        return Int64(
            clamping: writer.offset.adding(clamping: writer.directorySize)
                .adding(clamping: UInt64(writer.finish().count))
        )
    }
}
