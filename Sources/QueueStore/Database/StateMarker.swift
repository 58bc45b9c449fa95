// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Platform

/// A file next to the database that records the database's identity and progress, to detect its loss.
///
/// The database has an identity and a counter, and the file has a copy of both. The counter is advanced at each start
/// and after each checkpoint of the write-ahead log, in the database first; so whenever the log contains commits that
/// the database file lacks, only the log contains the newest counter. A database whose counter is less than the file's
/// has lost durable commits: its log is missing, or it is an older copy. A kill or a power failure between the two
/// writes leaves the database ahead, which is harmless.
final class StateMarker: Sendable {
    /// The content of the file.
    struct Content: Sendable, Hashable {
        /// The database's identity.
        var identity: Int64
        /// The database's counter, or an earlier value.
        var counter: Int64
        /// Whether the store was closed properly.
        var isClean: Bool

        /// The file's text.
        var text: String {
            "martlet queue 1\nidentity \(self.identity)\ncounter \(self.counter)\nclean \(self.isClean ? "yes" : "no")\n"
        }

        /// Parses the file's text; `nil` if it is malformed.
        init?(_ text: String) {
            let lines = text.split(separator: "\n")
            guard lines.count == 4, lines[0] == "martlet queue 1", lines[1].hasPrefix("identity "),
                lines[2].hasPrefix("counter "), lines[3].hasPrefix("clean "),
                let identity = Int64(lines[1].dropFirst(9)), let counter = Int64(lines[2].dropFirst(8))
            else { return nil }
            self.init(identity: identity, counter: counter, isClean: lines[3] == "clean yes")
        }

        init(identity: Int64, counter: Int64, isClean: Bool) {
            self.identity = identity
            self.counter = counter
            self.isClean = isClean
        }
    }

    private let database: String
    private let path: String
    private let written = Mutex<Content?>(nil)

    /// Creates the marker of the database at a path.
    init(path: String) {
        self.database = path
        self.path = path + "-state"
    }

    // MARK: Checking

    /// Throws `damaged` if the marker exists but the database's file is missing or empty.
    func checkFile() throws(QueueStoreError) {
        var status = stat()
        guard FileCalls.stat(self.path, &status) == 0 else { return try self.requireAbsence(self.path) }
        let isThere = FileCalls.stat(self.database, &status) == 0
        if !isThere { try self.requireAbsence(self.database) }
        guard !isThere || (status.st_mode & S_IFMT == S_IFREG && status.st_size == 0) else { return }
        throw self.lost(isThere ? "it is empty" : "it is missing")
    }

    /// Throws if the last call failed for another reason than a missing file: the file is then unknown, not missing.
    private func requireAbsence(_ path: String) throws(QueueStoreError) {
        let number = errno
        if number == ENOENT || number == ENOTDIR { return }
        throw QueueStoreError(.inputOutput, "'\(path)' cannot be examined (\(String(cString: strerror(number))))")
    }

    /// Throws `damaged` if the database is a different one, or lacks durable commits.
    func check(_ connection: Connection) throws(QueueStoreError) {
        guard let content = try self.read() else { return }
        let facts: (identity: Int64?, counter: Int64?)
        do throws(QueueStoreError) {
            let tables = try connection.integer("SELECT count(*) FROM sqlite_master WHERE name = 'facts'")
            facts =
                tables == 0
                ? (nil, nil)
                : (
                    try connection.integer("SELECT value FROM facts WHERE name = 'identity'"),
                    try connection.integer("SELECT value FROM facts WHERE name = 'counter'")
                )
        } catch {
            // An unreadable database is reported when it is used.
            return
        }
        let identity = facts.identity ?? content.identity
        let counter = facts.counter ?? 0
        guard identity == content.identity else { throw self.lost("it is another one") }
        guard counter < content.counter else { return }
        throw self.lost(
            content.isClean
                ? "it is an older copy" : "its '-wal' file with the last changes is missing or was emptied"
        )
    }

    private func lost(_ reason: String) -> QueueStoreError {
        QueueStoreError(
            .damaged,
            "the database '\(self.database)' is not as it was left: \(reason); restore it with its '-wal' file, or delete "
                + "'\(self.path)' to start with what is there"
        )
    }

    private func read() throws(QueueStoreError) -> Content? {
        let file = FileCalls.open(self.path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            try self.requireAbsence(self.path)
            return nil
        }
        defer { FileCalls.close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
            count = max(0, FileCalls.read(file, buffer.baseAddress, buffer.count))
        }
        return Content(String(decoding: bytes, as: UTF8.self))
    }

    // MARK: Writing

    /// Advances the counter, first in the database, then in the file.
    ///
    /// If writes fail, both remain unchanged: a loss may then be missed, but is never reported wrongly.
    func advance(_ connection: Connection) {
        var random = SystemRandom()
        do throws(QueueStoreError) {
            try connection.run(
                "INSERT INTO facts VALUES ('counter', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
            )
            if try connection.integer("SELECT 1 FROM facts WHERE name = 'identity'") == nil {
                try connection.run(
                    "INSERT INTO facts VALUES ('identity', ?)",
                    [Int64.random(in: 1 ... .max, using: &random)]
                )
            }
            guard let identity = try connection.integer("SELECT value FROM facts WHERE name = 'identity'"),
                let counter = try connection.integer("SELECT value FROM facts WHERE name = 'counter'")
            else { return }
            self.write(Content(identity: identity, counter: counter, isClean: false))
        } catch {}
    }

    /// Records that the database file contains all commits.
    func stop() {
        guard var content = self.written.withLock({ $0 }) else { return }
        content.isClean = true
        self.write(content)
    }

    /// Replaces the file atomically; the old content remains if that fails.
    private func write(_ content: Content) {
        let temporary = self.path + ".new"
        let file = FileCalls.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        let text = Array(content.text.utf8)
        let isWritten = FileCalls.write(file, text, text.count) == text.count && FileCalls.fsync(file) == 0
        FileCalls.close(file)
        guard isWritten, FileCalls.rename(temporary, self.path) == 0 else {
            FileCalls.unlink(temporary)
            return
        }
        let directory = FileCalls.open(DatabaseFile.directory(of: self.path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory >= 0 {
            FileCalls.fsync(directory)
            FileCalls.close(directory)
        }
        self.written.withLock { $0 = content }
    }
}
