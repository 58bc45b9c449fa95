// SPDX-License-Identifier: Apache-2.0
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
    /// The size as far as this process knows; `nil` before the first scan.
    private let estimate = Mutex<Estimate?>(nil)

    /// Bodies up to this length are kept in memory once they were verified, and need not be read again.
    private static let largestInMemory: Int64 = 1 << 20
    /// Not blocking: the name may be that of a pipe.
    private static let readFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    private static let blockLength = 256 << 10
    private static let temporaryLifetime: Int64 = 3600

    /// Creates the store of an existing directory.
    ///
    /// - Parameter path: The absolute path.
    package init(path: String) { self.path = path }

    private func path(_ name: String) -> String { self.path + "/" + name }

    func error(_ number: Int32, _ doing: String) -> StorageError {
        StorageError(errno: number, otherwise: .inputOutput, doing, self.path)
    }

    // MARK: Reading

    package func open(_ key: CacheKey) -> CachedEntry? {
        let raw = Platform.open(self.path(key.fileName), Self.readFlags)
        guard raw >= 0 else { return nil }
        let file = FileDescriptor(raw)
        guard let entry = Self.read(file, key) else {
            self.unlink(key.fileName)
            return nil
        }
        // The time of the last use; it is not important enough to fail.
        _ = futimens(raw, nil)
        return entry
    }

    package func selection(of key: CacheKey) -> CacheSelection? { self.header(key)?.selection }

    /// The header of an entry, unverified.
    private func header(_ key: CacheKey) -> CacheEntryFormat.Header? {
        let raw = Platform.open(self.path(key.fileName), Self.readFlags)
        guard raw >= 0 else { return nil }
        return Self.read(FileDescriptor(raw), 0, CacheEntryFormat.headerLength)
            .flatMap { CacheEntryFormat.Header($0, key) }
    }

    /// Reads and verifies an entry.
    private static func read(_ file: FileDescriptor, _ key: CacheKey) -> CachedEntry? {
        guard let status = file.status(), status.st_mode & S_IFMT == S_IFREG,
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
            let name = DirectoryHandle.temporaryName()
            let raw = Platform.open(self.path(name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if raw >= 0 { return (FileDescriptor(raw), name) }
            let number = errno
            attempts += 1
            switch number {
            case ENOENT where attempts < 16: _ = mkdir(self.path, 0o700)
            case EINTR where attempts < 16, EEXIST where attempts < 16: break
            default: throw self.error(number, "cannot create a file in")
            }
        }
    }

    func rename(_ name: String, _ key: CacheKey) throws(StorageError) {
        guard Platform.rename(self.path(name), self.path(key.fileName)) == 0 else {
            throw self.error(errno, "cannot rename a file in")
        }
    }

    func unlink(_ name: String) { _ = Platform.unlink(self.path(name)) }

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

    package var size: Int64 { self.list().reduce(0) { $0 + $1.size } }

    package func trim(to limit: Int64, added: Int64) {
        let isDue = self.estimate.withLock { estimate in
            guard var known = estimate else { return true }
            known.size += added
            known.sinceScan += added
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
        let size = entries.reduce(0) { $0 + $1.size } - victims.reduce(0) { $0 + $1.size }
        self.estimate.withLock { $0 = Estimate(size: size) }
    }

    /// Lists the entries, and removes temporary files that a killed process has left.
    private func list() -> [Listed] {
        guard let stream = opendir(self.path) else { return [] }
        defer { closedir(stream) }
        var entries: [Listed] = []
        let now = Int64(time(nil))
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let isTemporary = DirectoryHandle.isTemporary(name)
            var status = stat()
            guard isTemporary || CacheKey(fileName: name) != nil, lstat(self.path(name), &status) == 0 else { continue }
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
