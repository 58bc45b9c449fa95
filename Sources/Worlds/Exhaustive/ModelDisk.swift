// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Bytes in a file of the model: where they are, and which response sent them.
struct ModelRange: Hashable {
    var lower: Int64
    var upper: Int64
    var version: ModelVersion
    /// The offset in the file minus the offset in the version: 0 where the bytes belong.
    var shift: Int64
    var validators: ModelValidators
    var isCompressed: Bool
    /// The length of the whole that the response declared.
    var total: Int64?

    func isContinued(by next: ModelRange) -> Bool {
        self.upper == next.lower && self.version == next.version && self.shift == next.shift
            && self.validators == next.validators && self.isCompressed == next.isCompressed && self.total == next.total
    }
}

/// A partial file with its journal, as a kill leaves it.
struct ModelPartial: Hashable {
    /// The facts in the journal; the search copies them often.
    private var box: Boxed<ResourceFacts>
    /// Ascending and disjoint.
    var ranges: [ModelRange] = []
    /// Whether a comparison has found its bytes different from the server's.
    var isKnownToDiffer = false
    /// The length at which a server said, rightly or not, that the file ends.
    var reportedEnd: Int64?
    /// Whether the file has its final name, and only its journal is left.
    var isNamed = false

    init(facts: ResourceFacts) { self.box = Boxed(facts) }

    var facts: ResourceFacts {
        get { self.box.value }
        set { self.box = Boxed(newValue) }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(self.box.value)
        hasher.combine(self.ranges)
        hasher.combine(self.isKnownToDiffer)
        hasher.combine(self.reportedEnd)
        hasher.combine(self.isNamed)
    }

    var bytes: Int64 { self.ranges.reduce(0) { $0 + $1.upper - $1.lower } }

    var extents: [ByteRange] {
        var found: [ByteRange] = []
        for range in self.ranges {
            if let last = found.last, last.upperBound == range.lower {
                found[found.count - 1] = last.lowerBound..<range.upper
            } else {
                found.append(range.lower..<range.upper)
            }
        }
        return found
    }

    func covers(_ range: ByteRange) -> Bool {
        range.isEmpty
            || self.extents.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    func touches(_ range: ByteRange) -> Bool {
        self.ranges.contains { $0.lower < range.upperBound && range.lowerBound < $0.upper }
    }

    mutating func write(_ new: ModelRange) {
        if new.lower >= new.upper { return }
        var parts: [ModelRange] = []
        for old in self.ranges {
            var (before, after) = (old, old)
            before.upper = min(old.upper, new.lower)
            after.lower = max(old.lower, new.upper)
            for part in [before, after] where part.lower < part.upper { parts.append(part) }
        }
        self.ranges = (parts + [new]).sorted { $0.lower < $1.lower }
        var joined: [ModelRange] = []
        for range in self.ranges {
            if let last = joined.last, last.isContinued(by: range) {
                joined[joined.count - 1].upper = range.upper
            } else {
                joined.append(range)
            }
        }
        self.ranges = joined
    }

    /// Whether the file has these bytes of a version.
    func holds(_ version: ModelVersion, isCompressed: Bool, _ range: ByteRange, shift: Int64) -> Bool {
        guard self.covers(range) else { return false }
        return self.ranges.allSatisfy {
            $0.upper <= range.lowerBound || range.upperBound <= $0.lower
                || ($0.version == version && $0.shift == shift && $0.isCompressed == isCompressed)
        }
    }
}

/// The files that survive a kill.
struct ModelDisk: Hashable {
    /// The partial files, by the names of their final files.
    var partials: [String: ModelPartial] = [:]
}
