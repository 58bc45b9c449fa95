// SPDX-License-Identifier: Apache-2.0
/// Collects and compares the digests that servers declare.
extension DownloadMachine {
    /// The digests of the file that a whole response declares.
    static func digests(in head: ResponseHead) -> [ExpectedDigest] {
        // The digest of the content of a part is that of the part.
        if head.status == 206 { return self.once(DigestFields.representation(head.fields)) }
        guard head.status == 200 else { return [] }
        return self.once(DigestFields.representation(head.fields) + DigestFields.content(head.fields))
    }

    /// The digests recorded in a journal.
    static func digests(of facts: ResourceFacts) -> [ExpectedDigest] {
        facts.representationDigest.map { self.once(DigestFields.parse($0, source: "Repr-Digest")) } ?? []
    }

    /// Removes all but the first digest of each algorithm.
    private static func once(_ digests: [ExpectedDigest]) -> [ExpectedDigest] {
        if digests.count < 2 { return digests }
        var seen: Set<DigestAlgorithm> = []
        return digests.filter { seen.insert($0.algorithm).inserted }
    }

    /// Records the digests declared with a part: those of the file and those of the part (RFC 9530 §3.1).
    mutating func takeDigests(_ head: ResponseHead, _ index: Int) {
        let whole = Self.once(DigestFields.representation(head.fields))
        let part = DigestFields.content(head.fields)
        // The version of a response under comparison is not confirmed: its file digests are not adopted.
        if !whole.isEmpty, self.fetching?.digests.isEmpty ?? false, !self.requests[index].isComparing {
            self.fetching?.digests = whole
        }
        guard !part.isEmpty, case .length(let length) = head.framing else { return }
        self.requests[index].partExpected = part
        self.requests[index].partLength = length
        self.emit(.beginPartDigests(self.requests[index].number, part.map(\.algorithm)))
    }

    /// Records the digests declared in the trailers (RFC 9110 §6.5).
    mutating func takeDigests(trailers: HeaderFields, _ index: Int) {
        let request = self.requests[index]
        let whole = DigestFields.representation(trailers)
        // Content digests count only for a whole response: the bytes of a part have already been written.
        let content = request.isPart || request.range != nil ? [] : DigestFields.content(trailers)
        guard !whole.isEmpty || !content.isEmpty else { return }
        if case .small(var small) = self.phase {
            small.digests = Self.once(small.digests + whole + content)
            self.phase = .small(small)
        } else if let digests = self.fetching?.digests {
            self.fetching?.digests = Self.once(digests + whole + content)
        }
    }

    /// The digests of a request's bytes are known.
    ///
    /// - Parameters:
    ///   - digests: The digests.
    ///   - count: The number of bytes in the digests.
    ///   - number: The request.
    ///   - now: The time.
    /// - Returns: The actions.
    package mutating func partDigested(
        _ digests: [DigestAlgorithm: [UInt8]],
        count: Int64,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        let request = self.requests[index]
        if count == request.partLength,
            let wrong = request.partExpected.first(where: { digests[$0.algorithm] != $0.bytes })
        {
            self.holdsWrongBytes = true
            self.isNewerWrong = true
            let disagreement = Self.disagreement(wrong, digests[wrong.algorithm])
            self.end(
                .failed(
                    TransferFailure(
                        .checksumMismatch,
                        "\(count) bytes from \(request.range?.lowerBound ?? 0) on: " + disagreement,
                        remedy: "the received bytes cannot be resumed; download the file again"
                    )
                )
            )
        } else {
            self.nextPiece(index, now)
        }
        return self.takeActions()
    }

    static func disagreement(_ expected: ExpectedDigest, _ actual: [UInt8]?) -> String {
        "the \(expected.algorithm.rawValue) digest is \(Hexadecimal.encode(actual ?? [])), but \(expected.source) says "
            + Hexadecimal.encode(expected.bytes)
    }
}
