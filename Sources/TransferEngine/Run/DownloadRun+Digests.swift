internal import Synchronization
internal import TransferCore

/// Collects the expected digests and compares them with the received bytes.
extension DownloadRun {
    /// The digests of the file that a whole response declares.
    static func digests(in head: ResponseHead) -> [ExpectedDigest] {
        guard head.status == 200 else { return [] }
        return self.once(DigestFields.representation(head.fields) + DigestFields.content(head.fields))
    }

    /// The digests recorded in a journal.
    static func digests(of facts: ResourceFacts) -> [ExpectedDigest] {
        facts.representationDigest.map { self.once(DigestFields.parse($0, source: "Repr-Digest")) } ?? []
    }

    /// The digests of the whole file given by the user and by an earlier response.
    func expectedDigests(_ facts: ResourceFacts) -> [ExpectedDigest] {
        self.request.expected + Self.digests(of: facts)
    }

    /// Removes all but the first digest of each algorithm.
    private static func once(_ digests: [ExpectedDigest]) -> [ExpectedDigest] {
        var seen: Set<DigestAlgorithm> = []
        return digests.filter { seen.insert($0.algorithm).inserted }
    }

    /// The digests of the whole file given by the user and by the server.
    func expectedDigests() -> [ExpectedDigest] {
        self.request.expected + self.state.withLock { $0.serverDigests }
    }

    // MARK: Parts and trailers

    /// Records the digests declared with a part: those of the file and those of the part (RFC 9530 §3.1).
    func takeDigests(_ head: ResponseHead, _ attempt: Attempt) {
        let whole = Self.once(DigestFields.representation(head.fields))
        let part = DigestFields.content(head.fields)
        guard !whole.isEmpty || !part.isEmpty else { return }
        var digests: (any DigestComputation)?
        if !part.isEmpty, case .length(let length) = head.framing {
            digests = self.engine.store.beginDigests(part.map(\.algorithm))
            self.state.withLock { _ in attempt.partLength = length }
        }
        self.state.withLock { state in
            // The version of a response under comparison is not confirmed: its file digests are not adopted.
            if state.serverDigests.isEmpty, !attempt.isComparing { state.serverDigests = whole }
            attempt.partExpected = part
            attempt.partDigests = digests
        }
    }

    /// Records the digests declared in the trailers (RFC 9110 §6.5).
    func takeDigests(trailers: HTTPFields, _ attempt: Attempt) {
        let whole = DigestFields.representation(trailers)
        // Content digests count only for a whole response: the bytes of a part have already been written.
        let content = attempt.isPart || attempt.range != nil ? [] : DigestFields.content(trailers)
        guard !whole.isEmpty || !content.isEmpty else { return }
        self.state.withLock { $0.serverDigests = Self.once($0.serverDigests + whole + content) }
    }

    /// The failure of a complete part whose declared digest does not match; otherwise `nil`.
    func partFailure(_ attempt: Attempt) -> TransferFailure? {
        let (digests, expected, length, range) = self.state.withLock { _ in
            (attempt.partDigests, attempt.partExpected, attempt.partLength, attempt.range)
        }
        guard let digests, digests.count == length else { return nil }
        let actual = digests.digests()
        guard let wrong = expected.first(where: { actual[$0.algorithm] != $0.bytes }) else { return nil }
        return TransferFailure(
            .checksumMismatch,
            "\(length) bytes from \(range?.lowerBound ?? 0) on: " + Self.disagreement(wrong, actual[wrong.algorithm]),
            remedy: "the received bytes are not resumed; fetch the file again"
        )
    }

    private static func disagreement(_ expected: ExpectedDigest, _ actual: [UInt8]?) -> String {
        "the \(expected.algorithm.rawValue) digest is \(Hexadecimal.encode(actual ?? [])), but \(expected.source) says "
            + Hexadecimal.encode(expected.bytes)
    }

    // MARK: Streams

    /// Starts computing the digests of a stream that are expected or requested.
    func beginStreamDigests() {
        var algorithms = self.expectedDigests().map(\.algorithm)
        if let report = self.options.reportDigest { algorithms.append(report) }
        let digests = algorithms.isEmpty ? nil : self.engine.store.beginDigests(algorithms)
        self.transfer.memory.withLock { $0.stream.digests = digests }
    }

    /// Completes a stream: its bytes cannot be taken back, but a digest mismatch is reported.
    func commitStream() {
        let length = self.state.withLock { $0.planner?.completed ?? 0 }
        let actual = self.transfer.memory.withLock { $0.stream.digests }?.digests() ?? [:]
        for expected in self.expectedDigests() {
            guard let computed = actual[expected.algorithm] else {
                self.note("\(expected.source) arrived too late to verify the output")
                continue
            }
            guard computed != expected.bytes else { continue }
            let failure = TransferFailure(
                .checksumMismatch,
                "the output is wrong: " + Self.disagreement(expected, computed),
                remedy: "what was written cannot be taken back; do not use it"
            )
            return self.end(.failed(failure), except: nil)
        }
        self.complete(path: "", bytes: length, digest: self.options.reportDigest.flatMap { actual[$0] })
    }
}
