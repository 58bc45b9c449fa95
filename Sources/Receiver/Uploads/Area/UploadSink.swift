internal import FileStorage
internal import Glibc
internal import Synchronization
internal import TransferCore

/// Takes the content of one request, on the loop that reads it.
protocol BodySink: Sendable {
    /// Takes bytes, valid only during the call.
    func take(_ bytes: UnsafeRawBufferPointer) throws(UploadRefusal)
}

/// Writes content behind what a partial file holds already.
///
/// The loop writes while content comes, the pool finishes when it has come: never both at once, so that the lock is never
/// waited for.
final class UploadSink: BodySink {
    /// What one request may bring.
    struct Bounds: Sendable {
        /// The offset at which the whole upload must not go on.
        var length: Int64?
        /// The most bytes of one upload.
        var limit: Int64?
        /// The bytes that are left free.
        var reserve: Int64 = 0
    }

    private struct State {
        var offset: Int64
        var uncheckedBytes: Int64 = 0
        var digests: [DigestAlgorithm: RunningDigest] = [:]
    }

    /// After how many bytes the free space is looked at again.
    private static let spaceInterval: Int64 = 1 << 20

    /// The partial file.
    let file: OpenFile
    /// Where this request's content begins.
    let start: Int64
    private let bounds: Bounds
    private let budget: UploadBudget
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: The partial file.
    ///   - start: How long it is.
    ///   - bounds: What may come.
    ///   - budget: What all uploads together may take.
    ///   - digests: The digests of this request's content that are computed on the way.
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

    /// How long the partial file is now.
    var offset: Int64 { self.state.withLock { $0.offset } }

    /// The finished digest of this request's content.
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
        guard self.budget.take(count) else { return .quota }
        state.uncheckedBytes += count
        if state.uncheckedBytes >= Self.spaceInterval {
            state.uncheckedBytes = 0
            if let free = FreeSpace.bytes(self.file), free < self.bounds.reserve {
                self.budget.give(count)
                return .noSpace
            }
        }
        let number = self.file.write(bytes, at: state.offset)
        guard number == 0 else {
            // What of it was written does not count: the partial file is as long as what was taken.
            _ = self.file.truncate(state.offset)
            self.budget.give(count)
            return UploadRefusal(number: number, "writing")
        }
        state.offset += count
        for algorithm in state.digests.keys { state.digests[algorithm]?.update(bytes) }
        return nil
    }
}
