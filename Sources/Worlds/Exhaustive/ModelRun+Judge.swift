// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// The judge of the exhaustive search, which knows the version of each byte.
extension ModelRun {
    /// A file gets its name.
    func judgeFile(_ file: ModelPartial, _ length: Int64) {
        self.finished = file
        let ranges = file.ranges.filter { $0.lower < length }
        guard let first = ranges.first else { return self.check(length == 0, "an empty file of \(length) bytes") }
        self.check(ranges.allSatisfy { $0.shift == 0 }, "bytes are not where they belong: \(Self.text(file))")
        self.check(!file.isKnownToDiffer, "bytes known to differ get their name")
        let isPure = ranges.allSatisfy { $0.version == first.version && $0.isCompressed == first.isCompressed }
        if isPure {
            let isWhole = length == self.scale.size(first.version)
            let isDeclared = ranges.contains { $0.total == length } || file.reportedEnd == length
            self.check(
                isWhole || isDeclared || !file.hasDeclaredLength,
                "a file of \(length) bytes is cut: \(Self.text(file))"
            )
            return
        }
        self.check(Self.areClaimedEqual(ranges), "a file is mixed: \(Self.text(file))")
    }

    /// Whether all bytes are related by the same version, or by a response that lied about it.
    private static func areClaimedEqual(_ ranges: [ModelRange]) -> Bool {
        var (related, others) = (ranges.prefix(1).map(\.self), Array(ranges.dropFirst()))
        while let index = others.firstIndex(where: { other in related.contains { Self.wereClaimedEqual($0, other) } }) {
            related.append(others.remove(at: index))
        }
        return others.isEmpty
    }

    private static func wereClaimedEqual(_ left: ModelRange, _ right: ModelRange) -> Bool {
        if left.version == right.version, left.isCompressed == right.isCompressed { return true }
        return left.isCompressed == right.isCompressed && left.validators.claims(theVersionOf: right.validators)
    }

    /// The run reports what shows that the file is of one version.
    func judgeCompletion(_ completion: TransferCompletion) {
        guard let file = self.finished, let first = file.ranges.first else { return }
        let isPure = file.ranges.allSatisfy { $0.version == first.version }
        guard !isPure else {
            if completion.bytes < self.scale.size(first.version),
                file.ranges.allSatisfy({ $0.total != completion.bytes }),
                file.reportedEnd != completion.bytes
            {
                self.check(!completion.verifiedLength, "a file that was cut is reported as complete")
            }
            return
        }
        // A response lied, and the report says on what the file depends.
        let isTold = completion.consistency != nil && ![.singleResponse, .digest].contains(completion.consistency)
        self.check(isTold, "a mixed file is reported as \(completion.consistency?.rawValue ?? "certain")")
    }

    /// Held bytes are deleted, because a response replaces them.
    func judgeReplacement(of old: ModelPartial, by letter: ModelLetter?, _ plan: PartialPlan) {
        guard let letter, let first = old.ranges.first, !old.isKnownToDiffer, !old.facts.isUnreliable else { return }
        let isStrong = letter.validators.claims(theVersionOf: letter.validators)
        let isSame = old.ranges.allSatisfy {
            $0.validators == letter.validators && $0.isCompressed == letter.isCompressed && $0.total == first.total
        }
        let length = self.scale.size(letter.version)
        guard isStrong, isSame, first.total == length, letter.digest == .none, old.facts.representationDigest == nil,
            old.facts.consistency != .digest, !self.machine.history.takesSingleResponse
        else { return }
        self.check(false, "\(old.bytes) bytes of the same version are deleted: \(Self.text(old))")
    }

    static func text(_ file: ModelPartial) -> String {
        file.ranges
            .map { range in
                let shift = range.shift == 0 ? "" : " shifted by \(range.shift)"
                return
                    "\(range.lower)..<\(range.upper) of \(range.version) as \(range.validators.entityTag ?? "-")\(shift)"
            }
            .joined(separator: ", ")
    }
}

extension ModelPartial {
    /// Whether any response said how long the whole is.
    var hasDeclaredLength: Bool { self.ranges.contains { $0.total != nil } }
}
