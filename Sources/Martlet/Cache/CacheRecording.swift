// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Files
internal import Synchronization
internal import TransferCore

/// A response that is being stored while it is received.
///
/// Bytes are collected and written in blocks on the threads for blocking calls. The exchange pauses while too many wait
/// for the disk.
final class CacheRecording: Sendable {
    private struct State {
        var machine: RecordingMachine
        /// Continues the exchange, while the machine has paused it.
        var resume: (@Sendable () -> Void)?
    }

    /// The writer and its digests, used on the key's line.
    private struct Output {
        /// Created with the first block.
        var writer: (any CacheEntryWriter)?
        /// The digests of the bytes written so far, in the order of the claims.
        var digests: [RunningDigest]
    }

    let key: CacheKey
    let response: StoredResponse
    let selection: CacheSelection
    private let cache: ResponseCache
    private let state: Mutex<State>
    private let output: Mutex<Output>
    /// The digests that the response declares.
    private let claims: [ExpectedDigest]

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
        self.claims = DigestFields.representation(response.fields) + DigestFields.content(response.fields)
        self.state = Mutex(State(machine: RecordingMachine(expected: expected, limit: limit)))
        self.output = Mutex(Output(digests: self.claims.map { RunningDigest($0.algorithm) }))
    }

    /// Appends bytes of the body.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - resume: Called on any thread when reading may continue, if this returns false.
    /// - Returns: Whether reading may continue immediately.
    func append(_ bytes: UnsafeRawBufferPointer, resume: @escaping @Sendable () -> Void) -> Bool {
        let step = self.state.withLock { state in
            let step = state.machine.append(bytes)
            if case .write(_, pauses: true) = step { state.resume = resume }
            return step
        }
        switch step {
        case .nothing: return true
        case .write(let block, let pauses):
            self.cache.onLine(self.key) { self.write(block) }
            return !pauses
        case .tooLong:
            self.abandon()
            // The response replaces the stored one, although it is not stored itself.
            self.cache.remove(self.key)
            return true
        }
    }

    private func write(_ block: [UInt8]) {
        self.attempt { (output) throws(StorageError) in try self.write(block, &output) }
        self.advance { $0.wrote(block.count) }
    }

    /// Stores the response, which is complete; a later search finds it.
    func finish() {
        guard let rest = self.state.withLock({ $0.machine.finish() }) else { return }
        self.cache.onLine(self.key) {
            self.attempt { (output) throws(StorageError) in
                if !rest.isEmpty { try self.write(rest, &output) }
                try self.commit(&output)
            }
            self.end()
        }
    }

    /// Stores the body of another entry with this recording's head, unless that was replaced; on the key's line.
    func copy(_ entry: CachedEntry) {
        defer { self.end() }
        guard self.cache.isCurrent(entry, self.key) else { return }
        // If this fails, the entry is still intact, with its old head.
        self.attempt(removing: false) { (output) throws(StorageError) in
            if let bytes = entry.bytesInMemory {
                try self.write(bytes, &output)
            } else {
                var offset: Int64 = 0
                while offset < entry.length {
                    guard let bytes = entry.read(at: offset, atMost: RecordingMachine.block), !bytes.isEmpty else {
                        return
                    }
                    try self.write(bytes, &output)
                    offset += Int64(bytes.count)
                }
            }
            try self.commit(&output)
        }
    }

    private func write(_ bytes: [UInt8], _ output: inout Output) throws(StorageError) {
        try self.writer(&output).write(bytes)
        for index in output.digests.indices { bytes.withUnsafeBytes { output.digests[index].update($0) } }
    }

    /// Commits the response, unless it differs from the digests that it declares: its task fails.
    private func commit(_ output: inout Output) throws(StorageError) {
        guard output.digests.map({ $0.finalized() }) == self.claims.map(\.bytes) else {
            return self.cache.remove(self.key)
        }
        try self.cache.commit(self, self.writer(&output))
    }

    private func writer(_ output: inout Output) throws(StorageError) -> any CacheEntryWriter {
        if let writer = output.writer { return writer }
        let writer = try self.cache.makeWriter(self)
        output.writer = writer
        return writer
    }

    /// Ends the recording of an exchange that was closed: the response is stored if it happens to be complete.
    func close() {
        if self.state.withLock({ $0.machine.isComplete }) { self.finish() } else { self.abandon() }
    }

    /// Stores nothing.
    func abandon() {
        self.advance { $0.end() }
        self.cache.ended(self)
        self.cache.onLine(self.key) { self.end() }
    }

    /// Deletes what was written and not committed; on the key's line.
    private func end() {
        self.advance { $0.end() }
        self.cache.ended(self)
        let writer = self.output.withLock { $0.writer.take() }
        writer?.discard()
    }

    /// Changes the machine, and continues the exchange if the machine says so.
    private func advance(_ change: (inout RecordingMachine) -> Bool) {
        let resume = self.state.withLock { state in change(&state.machine) ? state.resume.take() : nil }
        resume?()
    }

    /// Writes on the key's line; after a failure the response is not stored, and nothing more is written.
    ///
    /// - Parameters:
    ///   - removing: Whether the failure removes the stored response, which this one would have replaced.
    ///   - work: Writes.
    private func attempt(removing: Bool = true, _ work: (inout Output) throws(StorageError) -> Void) {
        if self.state.withLock({ $0.machine.hasEnded }) { return }
        let failure = self.output.withLock { output -> StorageError? in
            do throws(StorageError) {
                try work(&output)
                return nil
            } catch {
                return error
            }
        }
        guard let failure else { return }
        self.end()
        self.cache.failed(failure)
        if removing { self.cache.remove(self.key) }
    }
}
