// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Dispatch
internal import FileStorage
internal import HTTPTransport
internal import Logging
internal import Synchronization
internal import TransferCore

internal import Platform

/// A private cache of responses to `GET`, on disk or in memory, shared by sessions or used by one (RFC 9111).
///
/// One response is stored per URL. A response is stored when its body was received completely, unless it is larger than
/// a twentieth of the limit. The least recently used responses are removed when the limit is exceeded.
///
/// On disk, each response is a file that its owner only can read; its name reveals nothing about the URL, and neither
/// cookies nor the request are stored. A response is used only if its length and its digest are correct. Several
/// processes can share a directory; a process that is killed leaves it intact. If the disk is full or fails, requests
/// succeed, and the session's logger gets a warning.
///
/// Every method may be called from any thread. Those that use the disk may block.
public final class ResponseCache: Sendable {
    private struct State {
        var limit: Int64
        /// The exchanges whose requests were sent, until their responses arrive.
        ///
        /// The response to one that was removed from here is not stored: it may be older than the cause of the removal.
        var sent: [ObjectIdentifier: CacheKey] = [:]
        /// The responses that are being stored; one that was removed from here is not.
        var recordings: [ObjectIdentifier: CacheRecording] = [:]
        var hasWarned = false
        /// The logger of the session that used the cache last.
        var logger: Logger?
    }

    private let store: any ResponseStore
    private let state: Mutex<State>
    /// Operations on one key are performed one after another, so that a search finds what was stored before.
    private let lines = (0..<ResponseCache.lineCount).map { _ in SerialDrain<@Sendable () -> Void>() }
    private let clock: @Sendable () -> Int64

    private static let lineCount = 8
    /// The part of the limit that one response may have.
    private static let shareOfEntry: Int64 = 20

    /// Creates a cache in a directory, which may contain the responses of earlier runs.
    ///
    /// - Parameters:
    ///   - directory: The path of a directory for this cache only; it is created with mode 0700 if it does not exist.
    ///   - limit: The maximum size of all responses, in bytes.
    /// - Throws: ``TransferError`` with `file` if the directory cannot be created or belongs to another user.
    public convenience init(directory: String, limit: Int64) throws(TransferError) {
        try self.init(directory: directory, limit: limit) { SystemClock.now }
    }

    /// Creates an empty cache in memory.
    ///
    /// - Parameter limit: The maximum size of all responses, in bytes.
    public convenience init(memoryLimit limit: Int64) { self.init(memoryLimit: limit) { SystemClock.now } }

    /// - Parameters:
    ///   - directory: The path of the directory.
    ///   - limit: The maximum size in bytes.
    ///   - clock: Returns the seconds since 1970.
    /// - Throws: ``TransferError`` with `file`.
    package convenience init(
        directory: String,
        limit: Int64,
        clock: @escaping @Sendable () -> Int64
    ) throws(TransferError) {
        try TemporaryPlace.prepare(directory, for: "the response cache", remedy: "choose another directory for it")
        guard let path = realpath(directory, nil) else {
            throw TransferError(.file, "cannot find '\(directory)': \(String(cString: strerror(errno)))")
        }
        defer { free(path) }
        let store = DiskResponseStore(path: String(cString: path))
        self.init(store, limit: limit, clock)
        // An earlier run may have had a higher limit, and may have left temporary files.
        SharedRuntime.pool.run { store.trim(to: limit, added: 0) }
    }

    /// - Parameters:
    ///   - limit: The maximum size in bytes.
    ///   - clock: Returns the seconds since 1970.
    package convenience init(memoryLimit limit: Int64, clock: @escaping @Sendable () -> Int64) {
        self.init(MemoryResponseStore(), limit: limit, clock)
    }

    private init(_ store: any ResponseStore, limit: Int64, _ clock: @escaping @Sendable () -> Int64) {
        self.store = store
        self.state = Mutex(State(limit: max(0, limit)))
        self.clock = clock
    }

    /// The maximum size of all responses, in bytes; a lower limit removes responses at once.
    public var limit: Int64 {
        get { self.state.withLock { $0.limit } }
        set {
            self.state.withLock { $0.limit = max(0, newValue) }
            self.store.trim(to: max(0, newValue), added: 0)
        }
    }

    /// The size of all stored responses with their heads, in bytes; waits for responses that are being written.
    public var size: Int64 {
        let semaphore = DispatchSemaphore(value: 0)
        for line in self.lines { self.run(on: line) { semaphore.signal() } }
        for _ in self.lines { semaphore.wait() }
        return self.store.size
    }

    /// Removes the response stored for a request's URL.
    ///
    /// - Throws: ``TransferError`` with `badURL`.
    public func remove(for request: some RequestConvertible) throws(TransferError) {
        let key = CacheKey(try request.transferRequest().url)
        self.drop(key)
        self.store.remove(key)
    }

    /// Removes the responses that were stored or validated at a time or later.
    ///
    /// - Parameter seconds: Seconds since 1970.
    public func removeAll(since seconds: Int64) {
        self.drop(nil)
        self.store.removeAll(since: seconds)
    }

    /// Removes all responses, including those that are being received now.
    public func removeAll() {
        self.drop(nil)
        self.store.removeAll(since: nil)
    }

    // MARK: Exchanges

    var now: Int64 { self.clock() }

    /// Performs an operation on a key after those that were passed before.
    func onLine(_ key: CacheKey, _ work: @escaping @Sendable () -> Void) {
        self.run(on: self.lines[key.slot(of: Self.lineCount)], work)
    }

    private func run(on line: SerialDrain<@Sendable () -> Void>, _ work: @escaping @Sendable () -> Void) {
        if line.append(work) { SharedRuntime.pool.run { line.run { $0() } } }
    }

    /// Searches for the response that a request selects.
    func lookUp(_ key: CacheKey, _ request: HeaderFields, found: @escaping @Sendable (CachedEntry?) -> Void) {
        self.onLine(key) {
            let entry = self.store.open(key)
            found(entry.flatMap { $0.selection.matches(request, $0.response.fields) ? $0 : nil })
        }
    }

    /// Notes that an exchange sends a request.
    func sent(_ exchange: CachingExchange, _ key: CacheKey) {
        self.state.withLock { $0.sent[ObjectIdentifier(exchange)] = key }
    }

    /// Notes that the response to a sent request has arrived, or will not.
    ///
    /// - Returns: Whether it may be stored.
    @discardableResult
    func received(_ exchange: CachingExchange) -> Bool {
        self.state.withLock { $0.sent.removeValue(forKey: ObjectIdentifier(exchange)) != nil }
    }

    /// Begins to store a response.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - response: The head.
    ///   - request: The request's fields.
    ///   - length: The length of the body in bytes, or `nil` if it is unknown.
    ///   - logger: The logger for failures.
    /// - Returns: The recording, or `nil` if the response is too large.
    func record(
        _ key: CacheKey,
        _ response: StoredResponse,
        _ request: HeaderFields,
        length: Int64?,
        _ logger: Logger?
    ) -> CacheRecording? {
        guard let selection = CacheSelection(request: request, response: response.fields) else { return nil }
        return self.state.withLock { state in
            state.logger = logger
            let most = state.limit / Self.shareOfEntry
            guard length ?? 0 <= most else { return nil }
            let recording = CacheRecording(self, key, response, selection, expected: length, limit: most)
            state.recordings[ObjectIdentifier(recording)] = recording
            return recording
        }
    }

    /// Stores the new head of a response that was validated.
    func freshen(
        _ key: CacheKey,
        _ entry: CachedEntry,
        _ response: StoredResponse,
        _ request: HeaderFields,
        _ logger: Logger?
    ) {
        let recording = self.record(key, response, request, length: nil, logger)
        self.onLine(key) { recording?.copy(entry) }
    }

    /// Removes the response of a key after the operations that were passed before.
    func remove(_ key: CacheKey) {
        self.drop(key)
        self.onLine(key) { self.store.remove(key) }
    }

    /// Removes the responses that a successful unsafe request makes invalid (RFC 9111 §4.4).
    func invalidate(_ url: HTTPURL, _ response: ResponseHead) {
        self.remove(CacheKey(url))
        for name in ["Location", "Content-Location"] {
            guard let reference = response.fields[name], let other = try? url.resolving(reference),
                other.origin == url.origin
            else { continue }
            self.remove(CacheKey(other))
        }
    }

    /// Prevents that responses of a key, or all of them, are stored whose requests were already sent.
    private func drop(_ key: CacheKey?) {
        self.state.withLock { state in
            state.sent = state.sent.filter { key != nil && $0.value != key }
            state.recordings = state.recordings.filter { key != nil && $0.value.key != key }
        }
    }

    // MARK: Called by recordings

    /// Whether an entry is still the one that is stored.
    func isCurrent(_ entry: CachedEntry, _ key: CacheKey) -> Bool { self.store.selection(of: key) == entry.selection }

    func makeWriter(_ recording: CacheRecording) throws(StorageError) -> any CacheEntryWriter {
        try self.store.makeWriter(recording.key, recording.response, recording.selection)
    }

    /// Makes a recorded response available, unless it was removed while it was received.
    func commit(_ recording: CacheRecording, _ writer: any CacheEntryWriter) throws(StorageError) {
        let size = try writer.finish()
        let limit: Int64? = try self.state.withLock { state throws(StorageError) in
            guard state.recordings[ObjectIdentifier(recording)] != nil else { return nil }
            // Renaming a file is fast enough for the lock; a removal that follows finds the file.
            try writer.commit()
            state.hasWarned = false
            return state.limit
        }
        if let limit { self.store.trim(to: limit, added: size) }
    }

    func ended(_ recording: CacheRecording) {
        self.state.withLock { _ = $0.recordings.removeValue(forKey: ObjectIdentifier(recording)) }
    }

    /// Logs the first of several failures in a row.
    func failed(_ error: StorageError) {
        let logger: Logger? = self.state.withLock { state in
            defer { state.hasWarned = true }
            return state.hasWarned ? nil : state.logger
        }
        logger?.warning("a response was not stored in the cache", metadata: ["error": "\(error.message)"])
    }
}
