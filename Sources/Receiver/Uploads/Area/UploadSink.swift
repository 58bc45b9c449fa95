// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Platform
internal import Synchronization
internal import TransferCore

/// Consumes the content of one request, on the event loop of its connection.
protocol BodySink: Sendable {
    /// Consumes bytes; the buffer is valid only during the call.
    func take(_ bytes: UnsafeRawBufferPointer) throws(UploadRefusal)
}

/// Appends content to a partial file.
///
/// The event loop writes while content arrives, and the pool finishes the upload after that. The two never overlap, so
/// the lock is not contended.
final class UploadSink: BodySink {
    /// The limits for the content of one request.
    struct Bounds: Sendable {
        /// The complete length of the upload; more content is refused.
        var length: Int64?
        /// The maximum size of one upload, in bytes.
        var limit: Int64?
        /// The free space that must remain on the filesystem, in bytes.
        var reserve: Int64 = 0
    }

    private struct State {
        var offset: Int64
        var uncheckedBytes: Int64 = 0
        var digests: [DigestAlgorithm: RunningDigest] = [:]
    }

    /// The number of bytes after which the free space is checked again.
    private static let spaceInterval: Int64 = 1 << 20

    /// The partial file.
    let file: OpenFile
    /// The offset at which this request's content starts.
    let start: Int64
    private let bounds: Bounds
    private let budget: UploadBudget
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: The partial file.
    ///   - start: Its current length.
    ///   - bounds: The limits for the content.
    ///   - budget: The budget of all uploads.
    ///   - digests: The digests of this request's content to compute.
    init(
        _ file: OpenFile,
        start: Int64 = 0,
        bounds: Bounds,
        budget: UploadBudget,
        digests: some Sequence<DigestAlgorithm> = EmptyCollection()
    ) {
        self.file = file
        self.start = start
        self.bounds = bounds
        self.budget = budget
        var state = State(offset: start)
        for algorithm in digests { state.digests[algorithm] = RunningDigest(algorithm) }
        self.state = Mutex(state)
    }

    /// The current length of the partial file.
    var offset: Int64 { self.state.withLock { $0.offset } }

    /// The digest of this request's content.
    func digest(_ algorithm: DigestAlgorithm) -> [UInt8]? { self.state.withLock { $0.digests[algorithm]?.finalized() } }

    func take(_ bytes: UnsafeRawBufferPointer) throws(UploadRefusal) {
        if let refusal = self.state.withLock({ self.write(bytes, &$0) }) { throw refusal }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) -> UploadRefusal? {
        let count = Int64(bytes.count)
        if let length = self.bounds.length, count > length - state.offset {
            return UploadRefusal(400, "more content came than the upload's length declares")
        }
        if let limit = self.bounds.limit, count > limit - state.offset { return .tooLarge(limit) }
        guard self.budget.grow(from: state.offset, to: state.offset + count) else { return .quota }
        state.uncheckedBytes += count
        if state.uncheckedBytes >= Self.spaceInterval {
            state.uncheckedBytes = 0
            if let free = FreeSpace.bytes(self.file), free < self.bounds.reserve {
                self.budget.shrink(from: state.offset + count, to: state.offset)
                return .noSpace
            }
        }
        let number = self.file.write(bytes, at: state.offset)
        guard number == 0 else {
            // A partial write does not count: the partial file has exactly the accepted bytes.
            _ = self.file.truncate(state.offset)
            self.budget.shrink(from: state.offset + count, to: state.offset)
            return UploadRefusal(number: number, "writing")
        }
        state.offset += count
        for algorithm in state.digests.keys { state.digests[algorithm]?.update(bytes) }
        return nil
    }
}
