// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// The content of one request of an upload, pulled by the transport: paced, counted, and checked for changes.
final class UploadStretch: RequestContent {
    private enum Source: Sendable {
        case parts(SourceParts)
        case stream(any ContentStream)
    }

    private struct State {
        var offset: Int64
        var pace = SendPace()
        var failure: TransferFailure?
        /// Whether the transport has read all bytes before the last ones; true at the beginning.
        var isLastNext = true
        /// Whether a call of the stream's `next` is in progress, and the result it gave during that call.
        var isAsking = false
        var early: Early?
        /// The last bytes of a stream of a declared length; sent once the stream has ended.
        var last: [UInt8]?
    }

    /// The result that a stream gave before its `next` returned.
    private enum Early {
        case piece(ContentPiece)
        /// No bytes to send yet: `next` is called again.
        case nothing
    }

    let length: Int64?
    private let run: UploadRun
    /// The number of the request.
    private let id: Int
    private let source: Source
    private let end: Int64
    private let state: Mutex<State>

    /// Creates the content from a range of parts, which can be sent again.
    init(_ run: UploadRun, _ id: Int, _ parts: SourceParts, _ range: Range<Int64>) {
        self.run = run
        self.id = id
        self.source = .parts(parts)
        self.length = range.upperBound - range.lowerBound
        self.end = range.upperBound
        self.state = Mutex(State(offset: range.lowerBound))
    }

    init(_ run: UploadRun, _ id: Int, _ stream: any ContentStream) {
        self.run = run
        self.id = id
        self.source = .stream(stream)
        self.length = stream.length
        self.end = stream.length ?? Int64.max
        self.state = Mutex(State(offset: 0))
    }

    /// The reason for the piece `failed`.
    var failure: TransferFailure? { self.state.withLock { $0.failure } }

    func sent(_ count: Int) {
        let now = self.run.now
        self.state.withLock { $0.pace.sent(count, now: now) }
        self.run.contentSent(count, of: self.id, now)
    }

    func next(_ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece? {
        switch self.source {
        case .parts(let parts): self.next(of: parts, later)
        case .stream(let stream): self.next(of: stream, later)
        }
    }

    // MARK: Parts

    private func next(of parts: SourceParts, _ later: @escaping @Sendable (ContentPiece) -> Void) -> ContentPiece? {
        let (offset, paced) = self.state.withLock { ($0.offset, $0.pace.size) }
        guard offset < self.end else { return .end }
        let quantum = self.run.host.readQuantum(for: self.run.transfer, attempts: 1).map(Int64.init)
        let size = min(paced, quantum ?? paced)
        let left = self.end - offset
        do throws(TransferFailure) {
            if self.end == parts.length, !parts.files.isEmpty {
                let last = min(size, Self.longestEnd)
                return left <= last
                    ? self.last(of: parts, at: offset, later)
                    : try self.piece(of: parts, at: offset, atMost: min(size, left - last), later)
            }
            return try self.piece(of: parts, at: offset, atMost: min(size, left), later)
        } catch {
            self.state.withLock { $0.failure = error }
            return .failed
        }
    }

    private func piece(
        of parts: SourceParts,
        at offset: Int64,
        atMost most: Int64,
        _ later: @escaping @Sendable (ContentPiece) -> Void
    ) throws(TransferFailure) -> ContentPiece? {
        let (piece, count) = try parts.piece(at: offset, atMost: most)
        self.state.withLock { state in
            state.offset += count
            state.isLastNext = false
        }
        return self.paced(piece, Int(count), later)
    }

    /// Returns the last bytes of the content, after the transport has read all earlier ones.
    private func last(
        of parts: SourceParts,
        at offset: Int64,
        _ later: @escaping @Sendable (ContentPiece) -> Void
    ) -> ContentPiece? {
        let wasRead = self.state.withLock { state in
            defer { state.isLastNext = true }
            return state.isLastNext
        }
        guard wasRead else { return .afterwards }
        self.state.withLock { $0.offset = self.end }
        let rest = ContentEnd(parts) { failure in self.state.withLock { $0.failure = failure } }
        let count = Int(self.end - offset)
        return self.paced(.file(rest, offset: offset, count: count), count, later)
    }

    /// The most bytes that are held back until the files were compared: as many as the transport reads at once.
    private static let longestEnd: Int64 = 64 << 10

    // MARK: Streams

    private func next(
        of stream: any ContentStream,
        _ later: @escaping @Sendable (ContentPiece) -> Void
    ) -> ContentPiece? {
        self.run.contentHeld(true, of: self.id)
        while true {
            self.state.withLock { state in
                state.pace.paused()
                state.isAsking = true
            }
            stream.next { given in
                self.run.host.transport.execute(onLane: self.run.lane) { self.came(given, of: stream, later) }
            }
            // A source with available bytes passes them before `next` returns.
            let early = self.state.withLock { state in
                state.isAsking = false
                defer { state.early = nil }
                return state.early
            }
            switch early {
            case nil: return nil
            case .piece(let piece): return piece
            case .nothing: continue
            }
        }
    }

    private func came(
        _ given: Result<[UInt8]?, TransferFailure>,
        of stream: any ContentStream,
        _ later: @escaping @Sendable (ContentPiece) -> Void
    ) {
        func isEarly(_ early: Early) -> Bool {
            self.state.withLock { state in
                if state.isAsking { state.early = early }
                return state.isAsking
            }
        }
        if case .success(let bytes?) = given, bytes.isEmpty || self.isLast(bytes) {
            if !isEarly(.nothing), let piece = self.next(of: stream, later) { later(piece) }
            return
        }
        self.run.contentHeld(false, of: self.id)
        guard let piece = self.taken(given, later), !isEarly(.piece(piece)) else { return }
        later(piece)
    }

    /// Whether bytes complete the declared length: then they wait for the end of the stream.
    ///
    /// If they were sent immediately, the server would accept the beginning of a longer stream as the whole.
    private func isLast(_ bytes: [UInt8]) -> Bool {
        self.state.withLock { state in
            guard self.length != nil, state.offset + Int64(bytes.count) == self.end else { return false }
            state.offset = self.end
            state.last = bytes
            return true
        }
    }

    private func taken(
        _ given: Result<[UInt8]?, TransferFailure>,
        _ later: @escaping @Sendable (ContentPiece) -> Void
    ) -> ContentPiece? {
        switch given {
        case .success(let bytes?):
            guard self.state.withLock({ Int64(bytes.count) <= self.end - $0.offset }) else {
                return self.failed("the source provided more than the declared \(self.end) bytes")
            }
            self.state.withLock { $0.offset += Int64(bytes.count) }
            return self.paced(.bytes(bytes), bytes.count, later)
        case .success(nil):
            let count = self.state.withLock { $0.offset }
            guard self.length == nil || count == self.end else {
                return self.failed("the source provided only \(count) of the declared \(self.end) bytes")
            }
            self.run.contentEnded(at: count, of: self.id)
            let last = self.state.withLock { state in
                defer { state.last = nil }
                return state.last
            }
            if let last { return self.paced(.bytes(last), last.count, later) }
            return .end
        case .failure(let failure):
            self.state.withLock { $0.failure = failure }
            return .failed
        }
    }

    private func failed(_ message: String) -> ContentPiece {
        self.state.withLock { $0.failure = TransferFailure(.fileIO, message) }
        return .failed
    }

    // MARK: The rate

    /// Returns a piece if the rate limits permit it now, otherwise passes it to `later`.
    private func paced(
        _ piece: ContentPiece,
        _ count: Int,
        _ later: @escaping @Sendable (ContentPiece) -> Void
    ) -> ContentPiece? {
        let (host, transfer) = (self.run.host, self.run.transfer)
        guard host.isThrottling else { return piece }
        let now = self.run.now
        let tickets = host.charge(count, to: transfer, now: now)
        let wait = host.wait(for: tickets, of: transfer, now: now)
        guard wait > 0 else { return piece }
        self.state.withLock { $0.pace.paused() }
        self.run.contentHeld(true, of: self.id)
        self.wait(wait, tickets) {
            self.run.contentHeld(false, of: self.id)
            later(piece)
        }
        return nil
    }

    private func wait(_ wait: Int64, _ tickets: RateTickets, then go: @escaping @Sendable () -> Void) {
        // The limit can change during a wait: long waits are split, and the remaining wait is recomputed.
        self.run.host.time.schedule(after: min(wait, Self.longestWait)) {
            let left = self.run.host.wait(for: tickets, of: self.run.transfer, now: self.run.now)
            if left > 0, !self.run.isEnding { return self.wait(left, tickets, then: go) }
            self.run.host.transport.execute(onLane: self.run.lane, go)
        }
    }

    private static let longestWait: Int64 = 500_000_000
}

/// The last bytes of a content, which are known to be of unchanged files once they were read.
///
/// A server that has the whole content has that of one version of each file, even if nobody can tell it any more that a file
/// changed: these bytes are sent only if all earlier ones were read from unchanged files.
private final class ContentEnd: SourceFile {
    private let parts: SourceParts
    private let failed: @Sendable (TransferFailure) -> Void

    init(_ parts: SourceParts, failed: @escaping @Sendable (TransferFailure) -> Void) {
        self.parts = parts
        self.failed = failed
    }

    /// None: the kernel would send the bytes before the files are compared.
    var descriptor: Int32? { nil }

    func identity() throws(StorageError) -> FileIdentity {
        throw StorageError(.inputOutput, "the end of a content is no file of its own")
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) -> Int {
        do throws(TransferFailure) {
            try self.parts.read(offset..<offset + Int64(buffer.count), into: buffer)
        } catch {
            self.failed(error)
            throw StorageError(.inputOutput, error.message)
        }
        return buffer.count
    }
}
