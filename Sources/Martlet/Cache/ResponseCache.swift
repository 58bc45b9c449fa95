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
/// One response is stored per URL; it is used only for requests with the same cookies and credentials, of sessions with
/// the same TLS options. A response is stored when its body was received completely, unless it is larger than a
/// twentieth of the limit or than 64 MiB. The least recently used responses are removed when the limit is exceeded.
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
    /// The longest body: each use of a response reads and verifies all of it before the first byte is delivered.
    private static let longestBody: Int64 = 64 << 20

    /// Creates a cache in a directory, which may contain the responses of earlier runs.
    ///
    /// - Parameters:
    ///   - directory: The path of a directory for this cache only; it is created with mode 0700 if it does not exist.
    ///   - limit: The maximum size of all responses, in bytes.
    /// - Throws: ``TransferError`` with `file` if the directory cannot be created, belongs to another user, or can be written to by
    ///   another user.
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
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & 0o022 == 0 else {
            throw TransferError(
                .file,
                "'\(directory)', for the response cache, can be written to by other users",
                remedy: "remove their permission (chmod go-w), or choose another directory for it"
            )
        }
        let store = DiskResponseStore(path: String(cString: path), clock: clock)
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
    func lookUp(_ request: CacheRequest, found: @escaping @Sendable (CachedEntry?) -> Void) {
        self.onLine(request.key) {
            let entry = self.store.open(request.key)
            found(entry.flatMap { $0.selection.matches(request, $0.response.fields) ? $0 : nil })
        }
    }

    /// Notes that an exchange sends a request.
    func sent(_ exchange: CachingExchange, _ key: CacheKey) {
        self.state.withLock { $0.sent[ObjectIdentifier(exchange)] = key }
    }

    /// Notes that the response to a sent request has arrived and is not stored, or will not arrive.
    func received(_ exchange: CachingExchange) {
        self.state.withLock { _ = $0.sent.removeValue(forKey: ObjectIdentifier(exchange)) }
    }

    /// The result of ``record(_:_:_:length:_:)``.
    enum RecordingResult {
        case begun(CacheRecording)
        /// It replaces the stored response, but is too large to be stored.
        case tooLarge
        /// Responses were removed after the request, which can be older than the reason of the removal.
        case refused
    }

    /// Notes that the response to a sent request has arrived, and begins to store it.
    ///
    /// - Parameters:
    ///   - exchange: The exchange that has sent the request.
    ///   - request: The request.
    ///   - response: The head.
    ///   - length: The length of the body in bytes, or `nil` if it is unknown.
    ///   - logger: The logger for failures.
    /// - Returns: The recording, or why there is none.
    func record(
        _ exchange: CachingExchange,
        _ request: CacheRequest,
        _ response: StoredResponse,
        length: Int64?,
        _ logger: Logger?
    ) -> RecordingResult {
        guard let selection = CacheSelection(request: request, response: response.fields) else { return .refused }
        // With one lock, so that a removal finds either the request or the recording.
        return self.state.withLock { state in
            state.logger = logger
            guard state.sent.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return .refused }
            let most = min(state.limit / Self.shareOfEntry, Self.longestBody)
            guard length ?? 0 <= most else { return .tooLarge }
            let recording = CacheRecording(self, request.key, response, selection, expected: length, limit: most)
            state.recordings[ObjectIdentifier(recording)] = recording
            return .begun(recording)
        }
    }

    /// Stores the new head of a response that was validated.
    func freshen(
        _ exchange: CachingExchange,
        _ request: CacheRequest,
        _ entry: CachedEntry,
        _ response: StoredResponse,
        _ logger: Logger?
    ) {
        if case .begun(let recording) = self.record(exchange, request, response, length: nil, logger) {
            self.onLine(request.key) { recording.copy(entry) }
        }
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
        // The recordings are released outside of the lock.
        _ = self.state.withLock { state in
            defer { state.recordings = state.recordings.filter { key != nil && $0.value.key != key } }
            state.sent = state.sent.filter { key != nil && $0.value != key }
            return state.recordings
        }
    }

    // MARK: Called by recordings

    /// Whether an entry is still the one that is stored.
    func isCurrent(_ entry: CachedEntry, _ key: CacheKey) -> Bool { self.store.selection(of: key) == entry.selection }

    func makeWriter(_ recording: CacheRecording) throws(StorageError) -> any CacheEntryWriter {
        try self.store.makeWriter(recording.key, recording.response, recording.selection)
    }

    /// Makes a recorded response available, unless it was removed while it was received, or the stored one answers a
    /// later request; on the key's line.
    func commit(_ recording: CacheRecording, _ writer: any CacheEntryWriter) throws(StorageError) {
        let size = try writer.finish()
        let own = recording.response.requestTime
        // A time in the future was noted before the clock was set back.
        if let other = self.store.requestTime(of: recording.key), other > own, other <= self.now { return }
        guard self.isRecording(recording) else { return }
        // Not with the lock, for which event loops wait; searches wait for this line.
        try writer.commit()
        let limit: Int64? = self.state.withLock { state in
            state.hasWarned = false
            return state.recordings[ObjectIdentifier(recording)] == nil ? nil : state.limit
        }
        guard let limit else { return self.store.remove(recording.key) }
        self.store.trim(to: limit, added: size)
    }

    private func isRecording(_ recording: CacheRecording) -> Bool {
        self.state.withLock { $0.recordings[ObjectIdentifier(recording)] != nil }
    }

    func ended(_ recording: CacheRecording) {
        _ = self.state.withLock { $0.recordings.removeValue(forKey: ObjectIdentifier(recording)) }
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
