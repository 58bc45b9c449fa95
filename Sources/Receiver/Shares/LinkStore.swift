// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import Synchronization
internal import TransferCore

/// The file with the links of one receiver.
///
/// One receiver reads and writes it; other processes append revocations. A lock file excludes them from each other while
/// they write, another one excludes other receivers. Both are next to the file, with mode 0600. Every method blocks.
final class LinkStore: Sendable {
    private let log: Mutex<LineLog>
    private let writing: OpenFile
    /// Locked until the store is closed; `nil` if it was not opened for a receiver.
    private let serving: OpenFile?

    private static let format = "martlet-links"
    private static let version = 1

    /// Opens a store; its directory must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file, which may be missing.
    ///   - isServing: Whether it is opened for a receiver.
    /// - Throws: ``ReceiverError``: `busy` if another receiver uses it, `links` if it cannot be opened.
    init(_ path: String, isServing: Bool) throws(ReceiverError) {
        self.log = Mutex(LineLog(path, format: Self.format, version: Self.version))
        self.writing = try Self.lockFile(path + ".lock")
        self.serving = isServing ? try Self.lockFile(path + ".serving") : nil
        guard self.serving?.lock() ?? 0 == 0 else {
            throw ReceiverError(
                .busy,
                "another martlet serve uses the links in '\(path)'; stop that one, or start this one without links"
            )
        }
    }

    private static func lockFile(_ path: String) throws(ReceiverError) -> OpenFile {
        let raw = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard raw >= 0 else {
            throw ReceiverError(
                .links,
                "cannot store links: cannot create '\(path)': \(String(cString: strerror(errno)))"
            )
        }
        return OpenFile(raw)
    }

    /// Lets another receiver use the store.
    func close() { self.serving?.unlock() }

    /// Whether another process has written to the file; stat(2).
    var hasChanged: Bool { self.log.withLock { $0.hasChanged } }

    /// Reads all records.
    ///
    /// - Returns: The records; none if the file does not exist.
    /// - Throws: `StorageError` if the file is damaged or cannot be read.
    func read() throws(StorageError) -> [[UInt8]] {
        try self.locked { (log) throws(StorageError) in try log.read() ?? [] }
    }

    /// Reads the records of other processes since the last call.
    ///
    /// - Returns: The records.
    /// - Throws: `StorageError` if the file is damaged or cannot be read.
    func readAppended() throws(StorageError) -> [[UInt8]] {
        try self.locked { (log) throws(StorageError) in try log.readAppended() }
    }

    /// A change of the file.
    enum Change: Sendable {
        /// A record.
        case append([UInt8])
        /// All records.
        case replace
    }

    /// Appends a record of this process, or replaces the file.
    ///
    /// - Parameters:
    ///   - apply: Takes the records that other processes have appended meanwhile.
    ///   - change: Returns what to write, or `nil` for nothing; called after `apply`.
    ///   - snapshot: Returns all records, those of `change` included.
    ///   - stored: Called when the change is stored, before another one is written.
    /// - Throws: `StorageError`; whether the record was written is then unknown, so that the next change must replace the
    ///   file.
    func write(
        apply: ([[UInt8]]) throws(StorageError) -> Void,
        change: () -> Change?,
        snapshot: () -> [[UInt8]],
        stored: () -> Void
    ) throws(StorageError) {
        try self.locked { (log) throws(StorageError) in
            try apply(try log.readAppended())
            switch change() {
            case nil: return
            case .append(let record):
                if try log.append(record) {
                    stored()
                    // The record is stored; the file is made smaller another time if there is no space.
                    if log.isBloated { try? log.replace(snapshot()) }
                    return
                }
            case .replace: break
            }
            try log.replace(snapshot())
            stored()
        }
    }

    /// Reads all records and appends one, without a receiver; never replaces the file.
    ///
    /// - Parameter record: Returns the record for the ones that were read, or `nil` to append none.
    /// - Throws: `StorageError` if the file cannot be read or written, and the error of `record`.
    func append(_ record: ([[UInt8]]) throws(StorageError) -> [UInt8]?) throws(StorageError) {
        try self.locked { (log) throws(StorageError) in
            guard let records = try log.read(), let record = try record(records) else { return }
            guard try log.append(record) else {
                throw StorageError(.inputOutput, "'\(log.path)' was changed by another program; try again")
            }
        }
    }

    private func locked<Value: Sendable>(
        _ body: (inout LineLog) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        let result = self.log.withLock { log -> Result<Value, StorageError> in
            Result { () throws(StorageError) in
                try self.writing.waitForLock(of: log.path)
                defer { self.writing.unlock() }
                return try body(&log)
            }
        }
        return try result.get()
    }
}
