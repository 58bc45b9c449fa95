// SPDX-License-Identifier: Apache-2.0
import Files
internal import Crypto
internal import Synchronization
package import TransferCore

import Platform

/// Stores responses in a directory, one file each, which is written under a temporary name and renamed.
///
/// A process that is killed leaves the old or the new file, and at most a temporary one, which is removed after an hour.
/// Several processes may share the directory: each file is whole, and the last writer wins. The modification time of a
/// file is the time of its last use. Other files in the directory are never touched.
package final class DiskResponseStore: ResponseStore {
    private struct Estimate {
        var size: Int64
        var sinceScan: Int64 = 0
    }

    private struct Listed {
        var name: String
        var size: Int64
        var lastUse: Double
    }

    private let path: String
    private let clock: @Sendable () -> Int64
    /// Counts uses, because the clock's seconds do not order them.
    private let uses = Atomic<Int>(0)
    /// The size as far as this process knows; `nil` before the first scan.
    private let estimate = Mutex<Estimate?>(nil)

    /// Bodies up to this length are kept in memory once they were verified, and need not be read again.
    private static let largestInMemory: Int64 = 1 << 20
    /// Not blocking: the name may be that of a pipe.
    private static let readFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    private static let blockLength = 256 << 10
    private static let temporaryLifetime: Int64 = 3600
    /// Different from the prefix of other temporary files, which may be those of a download into the directory.
    private static let temporaryPrefix = ".martlet-cache-"

    /// Creates the store of an existing directory.
    ///
    /// - Parameters:
    ///   - path: The absolute path.
    ///   - clock: Returns the seconds since 1970, for the times of use.
    package init(path: String, clock: @escaping @Sendable () -> Int64) {
        self.path = path
        self.clock = clock
    }

    private func path(_ name: String) -> String { self.path + "/" + name }

    func error(_ number: Int32, _ doing: String) -> StorageError {
        StorageError(errno: number, otherwise: .inputOutput, doing, self.path)
    }

    // MARK: Reading

    package func open(_ key: CacheKey) -> CachedEntry? {
        let raw = FileCalls.open(self.path(key.fileName), Self.readFlags)
        guard raw >= 0 else { return nil }
        let file = FileDescriptor(raw)
        guard let entry = Self.read(file, key) else {
            self.unlink(key.fileName)
            return nil
        }
        self.noteUse(file)
        return entry
    }

    /// Notes the time of the last use: the clock's seconds, and microseconds that order the uses of this process.
    func noteUse(_ file: FileDescriptor) {
        let count = self.uses.wrappingAdd(1, ordering: .relaxed).oldValue
        let time = timespec(tv_sec: Int(self.clock()), tv_nsec: (count & Int.max) % 1_000_000 * 1000)
        // It is not important enough to fail.
        _ = [time, time].withUnsafeBufferPointer { FileCalls.futimens(file.raw, $0.baseAddress) }
    }

    package func selection(of key: CacheKey) -> CacheSelection? { self.header(key)?.selection }

    package func requestTime(of key: CacheKey) -> Int64? { self.header(key)?.requestTime }

    /// The header of an entry, unverified.
    private func header(_ key: CacheKey) -> CacheEntryFormat.Header? {
        let raw = FileCalls.open(self.path(key.fileName), Self.readFlags)
        guard raw >= 0 else { return nil }
        return Self.read(FileDescriptor(raw), 0, CacheEntryFormat.headerLength)
            .flatMap { CacheEntryFormat.Header($0, key) }
    }

    /// Reads and verifies an entry; one that another user has written is not trusted.
    private static func read(_ file: FileDescriptor, _ key: CacheKey) -> CachedEntry? {
        guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            let first = self.read(file, 0, CacheEntryFormat.headerLength),
            let header = CacheEntryFormat.Header(first, key)
        else { return nil }
        let start = Int64(CacheEntryFormat.headerLength + header.fieldsLength)
        guard Int64(status.st_size) == start + header.bodyLength,
            let fields = self.read(file, Int64(CacheEntryFormat.headerLength), header.fieldsLength),
            let response = header.response(fields)
        else { return nil }
        if header.bodyLength <= self.largestInMemory {
            guard let body = self.read(file, start, Int(header.bodyLength)),
                SHA256.hash(data: body).elementsEqual(header.bodyDigest)
            else { return nil }
            return CachedEntry(response, header.selection, body: body)
        }
        var digest = SHA256()
        var offset: Int64 = 0
        while offset < header.bodyLength {
            let count = Int(min(Int64(self.blockLength), header.bodyLength - offset))
            guard let block = self.read(file, start + offset, count) else { return nil }
            digest.update(data: block)
            offset += Int64(count)
        }
        guard digest.finalize().elementsEqual(header.bodyDigest) else { return nil }
        return CachedEntry(response, header.selection, length: header.bodyLength, .file(file, offset: start))
    }

    private static func read(_ file: FileDescriptor, _ offset: Int64, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return bytes.withUnsafeMutableBytes { file.read(into: $0, at: offset) } == count ? bytes : nil
    }

    // MARK: Writing

    package func makeWriter(
        _ key: CacheKey,
        _ response: StoredResponse,
        _ selection: CacheSelection
    ) throws(StorageError) -> any CacheEntryWriter { try DiskEntryWriter(self, key, response, selection) }

    /// Creates a file of mode 0600 with a temporary name, and the directory if it was deleted.
    func createTemporary() throws(StorageError) -> (FileDescriptor, String) {
        var attempts = 0
        while true {
            let name = Self.temporaryPrefix + Hexadecimal.encode(SystemRandom.bytes(8))
            let raw = FileCalls.open(self.path(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if raw >= 0 { return (FileDescriptor(raw), name) }
            let number = errno
            attempts += 1
            switch number {
            case ENOENT where attempts < 16: _ = FileCalls.mkdir(self.path, 0o700)
            case EINTR where attempts < 16, EEXIST where attempts < 16: break
            default: throw self.error(number, "cannot create a file in")
            }
        }
    }

    func rename(_ name: String, _ key: CacheKey) throws(StorageError) {
        guard FileCalls.rename(self.path(name), self.path(key.fileName)) == 0 else {
            throw self.error(errno, "cannot rename a file in")
        }
    }

    func unlink(_ name: String) { _ = FileCalls.unlink(self.path(name)) }

    // MARK: Removing

    package func remove(_ key: CacheKey) { self.unlink(key.fileName) }

    package func removeAll(since time: Int64?) {
        for entry in self.list() {
            if let time, let key = CacheKey(fileName: entry.name), let header = self.header(key),
                header.responseTime < time
            {
                continue
            }
            self.unlink(entry.name)
        }
        self.estimate.withLock { $0 = nil }
    }

    // MARK: The limit

    package var size: Int64 { EvictionRule.total(self.list().map(\.size)) }

    package func trim(to limit: Int64, added: Int64) {
        let isDue = self.estimate.withLock { estimate in
            guard var known = estimate else { return true }
            known.size = known.size.adding(clamping: added)
            known.sinceScan = known.sinceScan.adding(clamping: added)
            estimate = known
            // Other processes add entries as well.
            return known.size > limit || known.sinceScan > limit / 10
        }
        guard isDue else { return }
        let entries = self.list()
        let victims = EvictionRule.victims(
            entries.map { (id: $0, size: $0.size, lastUse: $0.lastUse) },
            limit: limit
        )
        for victim in victims { self.unlink(victim.name) }
        let removed = Set(victims.map(\.name))
        let size = EvictionRule.total(entries.filter { !removed.contains($0.name) }.map(\.size))
        self.estimate.withLock { $0 = Estimate(size: size) }
    }

    /// Lists the entries, and removes temporary files that a killed process has left.
    private func list() -> [Listed] {
        guard let names = DirectoryEntries(path: self.path) else { return [] }
        var entries: [Listed] = []
        let now = FileCalls.nanoseconds(of: CLOCK_REALTIME) / 1_000_000_000
        while let name = names.next() {
            let isTemporary = name.hasPrefix(Self.temporaryPrefix)
            var status = stat()
            guard isTemporary || CacheKey(fileName: name) != nil, FileCalls.lstat(self.path(name), &status) == 0 else {
                continue
            }
            let modified = FileTime.modified(status)
            if isTemporary {
                if modified < Double(now - Self.temporaryLifetime) { self.unlink(name) }
            } else {
                entries.append(Listed(name: name, size: Int64(status.st_size), lastUse: modified))
            }
        }
        return entries
    }
}
