internal import Synchronization
internal import TransferCore

/// Digests that the bytes are compared with.
extension DownloadRun {
    /// The digests that a whole answer gives of the file.
    static func digests(in head: ResponseHead) -> [ExpectedDigest] {
        guard head.status == 200 else { return [] }
        return self.once(DigestFields.representation(head.fields) + DigestFields.content(head.fields))
    }

    /// The digests that a journal remembers.
    static func digests(of facts: ResourceFacts) -> [ExpectedDigest] {
        facts.representationDigest.map { self.once(DigestFields.parse($0, source: "Repr-Digest")) } ?? []
    }

    /// What the user, and an earlier response, expect of the whole file.
    func expectedDigests(_ facts: ResourceFacts) -> [ExpectedDigest] {
        self.request.expected + Self.digests(of: facts)
    }

    /// One per algorithm is enough; the first counts.
    private static func once(_ digests: [ExpectedDigest]) -> [ExpectedDigest] {
        var seen: Set<DigestAlgorithm> = []
        return digests.filter { seen.insert($0.algorithm).inserted }
    }

    /// What the user and the server expect of the whole file.
    func expectedDigests() -> [ExpectedDigest] {
        self.request.expected + self.state.withLock { $0.serverDigests }
    }

    // MARK: Parts and trailers

    /// Takes the digests that come with a part: the file's own, and those of the part (RFC 9530 §3.1).
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
            // Of a response whose version is still being compared nothing is taken.
            if state.serverDigests.isEmpty, !attempt.isComparing { state.serverDigests = whole }
            attempt.partExpected = part
            attempt.partDigests = digests
        }
    }

    /// Takes the digests that come behind the body (RFC 9110 §6.5).
    func takeDigests(trailers: HTTPFields, _ attempt: Attempt) {
        let whole = DigestFields.representation(trailers)
        // Of the content only where it was the whole file: a part's bytes have gone by.
        let content = attempt.isPart || attempt.range != nil ? [] : DigestFields.content(trailers)
        guard !whole.isEmpty || !content.isEmpty else { return }
        self.state.withLock { $0.serverDigests = Self.once($0.serverDigests + whole + content) }
    }

    /// What is wrong with the part that an attempt fetched, where its digest was given and all of it came.
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
            remedy: "what had arrived is not gone on from; fetch it again"
        )
    }

    private static func disagreement(_ expected: ExpectedDigest, _ actual: [UInt8]?) -> String {
        "the \(expected.algorithm.rawValue) digest is \(Hexadecimal.encode(actual ?? [])), but \(expected.source) says "
            + Hexadecimal.encode(expected.bytes)
    }

    // MARK: Streams

    /// Begins the digests that are expected of a stream's bytes, or asked for.
    func beginStreamDigests() {
        var algorithms = self.expectedDigests().map(\.algorithm)
        if let report = self.options.reportDigest { algorithms.append(report) }
        let digests = algorithms.isEmpty ? nil : self.engine.store.beginDigests(algorithms)
        self.transfer.memory.withLock { $0.stream.digests = digests }
    }

    /// Every byte of a stream was written: they cannot be taken back, but a wrong one is told.
    func commitStream() {
        let length = self.state.withLock { $0.planner?.completed ?? 0 }
        let actual = self.transfer.memory.withLock { $0.stream.digests }?.digests() ?? [:]
        for expected in self.expectedDigests() {
            guard let computed = actual[expected.algorithm] else {
                self.note("\(expected.source) came too late to compare the output with it")
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
