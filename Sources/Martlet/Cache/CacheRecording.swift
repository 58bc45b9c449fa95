// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Synchronization
internal import TransferCore

/// A response that is being stored while it is received.
///
/// Bytes are collected and written in blocks on the threads for blocking calls. The exchange pauses while too many wait
/// for the disk.
final class CacheRecording: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var length: Int64 = 0
        /// Bytes that were passed to the disk and are not written yet.
        var unwritten = 0
        var resume: (@Sendable () -> Void)?
        var isOver = false
    }

    /// The size of the blocks; a shorter body is written at once when it is complete.
    private static let block = 256 << 10
    /// The counts in bytes at which reading pauses (above `high`) and resumes (at most `low`).
    private static let high = 2 << 20
    private static let low = 512 << 10

    let key: CacheKey
    let response: StoredResponse
    let selection: CacheSelection
    private let cache: ResponseCache
    private let limit: Int64
    private let expected: Int64?
    private let state = Mutex(State())
    /// Created with the first block, on the key's line.
    private let writer = Mutex<(any CacheEntryWriter)?>(nil)
    /// The digests that the response declares.
    private let claims: [ExpectedDigest]
    /// Those of the bytes written so far, in the order of the claims.
    private let digests: Mutex<[RunningDigest]>

    /// - Parameters:
    ///   - cache: The cache.
    ///   - key: The key.
    ///   - response: The head to store.
    ///   - selection: The requests that select it.
    ///   - expected: The length of the body in bytes, or `nil` if its end shows it.
    ///   - limit: The largest accepted body in bytes.
    init(
        _ cache: ResponseCache,
        _ key: CacheKey,
        _ response: StoredResponse,
        _ selection: CacheSelection,
        expected: Int64?,
        limit: Int64
    ) {
        self.cache = cache
        self.key = key
        self.response = response
        self.selection = selection
        self.expected = expected
        self.limit = limit
        self.claims = DigestFields.representation(response.fields) + DigestFields.content(response.fields)
        self.digests = Mutex(self.claims.map { RunningDigest($0.algorithm) })
    }

    /// Appends bytes of the body.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - resume: Called on any thread when reading may continue, if this returns false.
    /// - Returns: Whether reading may continue immediately.
    func append(_ bytes: UnsafeRawBufferPointer, resume: @escaping @Sendable () -> Void) -> Bool {
        let (block, mayContinue, isTooLong) = self.state.withLock { state -> ([UInt8], Bool, Bool) in
            if state.isOver { return ([], true, false) }
            state.length += Int64(bytes.count)
            if state.length > self.limit { return ([], true, true) }
            state.waiting.append(contentsOf: bytes)
            guard state.waiting.count >= Self.block else { return ([], true, false) }
            defer { state.waiting = [] }
            state.unwritten += state.waiting.count
            guard state.unwritten > Self.high else { return (state.waiting, true, false) }
            state.resume = resume
            return (state.waiting, false, false)
        }
        if isTooLong {
            self.abandon()
            // The response replaces the stored one, although it is not stored itself.
            self.cache.remove(self.key)
        }
        if !block.isEmpty { self.cache.onLine(self.key) { self.write(block) } }
        return mayContinue
    }

    private func write(_ block: [UInt8]) {
        self.attempt { (writer) throws(StorageError) in try self.write(block, writer) }
        let resume = self.state.withLock { state -> (@Sendable () -> Void)? in
            state.unwritten -= block.count
            guard state.unwritten <= Self.low || state.isOver else { return nil }
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
    }

    /// Stores the response, which is complete; a later search finds it.
    func finish() {
        let rest: [UInt8]? = self.state.withLock { state in
            defer { state.waiting = [] }
            return state.isOver ? nil : state.waiting
        }
        guard let rest else { return }
        self.cache.onLine(self.key) {
            self.attempt { (writer) throws(StorageError) in
                if !rest.isEmpty { try self.write(rest, writer) }
                try self.commit(writer)
            }
            self.end()
        }
    }

    /// Stores the body of another entry with this recording's head, unless that was replaced; on the key's line.
    func copy(_ entry: CachedEntry) {
        defer { self.end() }
        guard self.cache.isCurrent(entry, self.key) else { return }
        // If this fails, the entry is still intact, with its old head.
        self.attempt(removing: false) { (writer) throws(StorageError) in
            if let bytes = entry.bytesInMemory {
                try self.write(bytes, writer)
            } else {
                var offset: Int64 = 0
                while offset < entry.length {
                    guard let bytes = entry.read(at: offset, atMost: Self.block), !bytes.isEmpty else { return }
                    try self.write(bytes, writer)
                    offset += Int64(bytes.count)
                }
            }
            try self.commit(writer)
        }
    }

    private func write(_ bytes: [UInt8], _ writer: any CacheEntryWriter) throws(StorageError) {
        try writer.write(bytes)
        self.digests.withLock { digests in
            for index in digests.indices { bytes.withUnsafeBytes { digests[index].update($0) } }
        }
    }

    /// Commits the response, unless it differs from the digests that it declares: its task fails.
    private func commit(_ writer: any CacheEntryWriter) throws(StorageError) {
        guard self.digests.withLock({ $0.map { $0.finalized() } }) == self.claims.map(\.bytes) else {
            return self.cache.remove(self.key)
        }
        try self.cache.commit(self, writer)
    }

    /// Ends the recording of an exchange that was closed: the response is stored if it happens to be complete.
    func close() {
        let isComplete = self.state.withLock { $0.length == self.expected }
        if isComplete { self.finish() } else { self.abandon() }
    }

    /// Stores nothing.
    func abandon() {
        let resume = self.state.withLock { state -> (@Sendable () -> Void)? in
            state.isOver = true
            state.waiting = []
            defer { state.resume = nil }
            return state.resume
        }
        resume?()
        self.cache.ended(self)
        self.cache.onLine(self.key) { self.end() }
    }

    /// Deletes what was written and not committed; on the key's line.
    private func end() {
        self.state.withLock { $0.isOver = true }
        self.cache.ended(self)
        let writer = self.writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
        writer?.discard()
    }

    /// Writes on the key's line; after a failure the response is not stored, and nothing more is written.
    ///
    /// - Parameters:
    ///   - removing: Whether the failure removes the stored response, which this one would have replaced.
    ///   - work: Writes.
    private func attempt(removing: Bool = true, _ work: (any CacheEntryWriter) throws(StorageError) -> Void) {
        if self.state.withLock({ $0.isOver }) { return }
        do throws(StorageError) {
            let writer: any CacheEntryWriter
            if let known = self.writer.withLock({ $0 }) {
                writer = known
            } else {
                writer = try self.cache.makeWriter(self)
                self.writer.withLock { $0 = writer }
            }
            try work(writer)
        } catch {
            self.end()
            self.cache.failed(error)
            if removing { self.cache.remove(self.key) }
        }
    }
}
