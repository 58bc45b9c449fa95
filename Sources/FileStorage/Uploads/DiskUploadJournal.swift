// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
package import TransferCore
import TransferEngine

internal import Crypto

/// Stores the record of one resumable upload as a small file, which is replaced atomically.
///
/// The file name is a digest of the content's source and the target, so that the same command finds the record again.
/// Only the owner can read it, because knowing the resource of an upload permits appending to it.
package final class DiskUploadJournal: UploadJournal {
    /// The age in seconds from which an unchanged record is removed: servers delete partial uploads far sooner.
    private static let lifetime: Int64 = 30 * 86_400

    private let directory: String
    private let key: @Sendable () -> [String]

    /// Creates the journal of one upload.
    ///
    ///   - directory: The directory of records; created with its parents when the first record is written.
    ///   - key: Returns the strings that identify the upload, such as the file's absolute path and the URL. It is
    ///     called only when the journal is used, and so not for small files.
    package init(in directory: String, for key: @escaping @Sendable () -> [String]) {
        self.directory = directory
        self.key = key
    }

    private var path: String {
        var digest = SHA256()
        for text in self.key() {
            digest.update(data: Array(text.utf8))
            digest.update(data: [0])
        }
        let name = digest.finalize().prefix(16)
            .map { byte in
                let text = String(byte, radix: 16)
                return text.utf8.count == 1 ? "0" + text : text
            }
        return self.directory + "/" + name.joined() + Self.suffix
    }

    private static let suffix = ".upload"
    private static let longest = 64 << 10

    /// Reads the record.
    ///
    /// - Returns: `nil` if there is none, or if a newer version wrote it.
    package func read() throws(StorageError) -> UploadRecord? {
        guard let bytes = try AtomicFile.read(self.path, atMost: Self.longest) else { return nil }
        return UploadRecord(encoded: bytes)
    }

    /// Replaces the record; see ``AtomicFile``.
    package func write(_ record: UploadRecord) throws(StorageError) {
        // Before the first write, the directory does not exist.
        if FileCalls.access(self.directory, F_OK) != 0 { try Self.make(self.directory) }
        try AtomicFile.replace(self.path, with: record.encoded)
    }

    /// Deletes the record.
    package func remove() throws(StorageError) {
        let path = self.path
        guard FileCalls.unlink(path) != 0, errno != ENOENT else { return }
        throw StorageError(errno: errno, otherwise: .inputOutput, "cannot remove", path)
    }

    /// Deletes the records that are too old to be of use, see ``removeOld(in:olderThan:)``.
    package static func removeOld(in directory: String) { self.removeOld(in: directory, olderThan: self.lifetime) }

    /// Deletes records last modified more than `seconds` seconds ago, and temporary files left by crashes.
    ///
    /// The servers have discarded such uploads by then.
    package static func removeOld(in directory: String, olderThan seconds: Int64) {
        guard let entries = DirectoryEntries(path: directory) else { return }
        let now = FileCalls.nanoseconds(of: CLOCK_REALTIME) / 1_000_000_000
        while let name = entries.next() {
            guard name.hasSuffix(Self.suffix) || DirectoryHandle.isTemporary(name) else { continue }
            var status = stat()
            guard FileCalls.fstatat(entries.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG,
                now.subtracting(clamping: Int64(status.modificationTime.tv_sec)) > seconds
            else { continue }
            FileCalls.unlinkat(entries.descriptor, name, 0)
        }
    }

    /// Creates a directory and its parents with mode 0700.
    private static func make(_ path: String) throws(StorageError) {
        var end = path.startIndex
        while end < path.endIndex {
            end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            if FileCalls.mkdir(part, 0o700) != 0, errno != EEXIST {
                throw StorageError(
                    errno: errno,
                    otherwise: .cannotCreateDirectory,
                    "cannot create the directory",
                    part
                )
            }
        }
    }
}
