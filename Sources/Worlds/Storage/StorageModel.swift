// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine

/// The states of a name that are permitted after a crash.
struct StorageModel {
    /// The content of a finished file.
    enum Content: Equatable {
        case absent
        case bytes([UInt8])
        /// Not promised: it was not synced before a loss of power.
        case unknown
    }

    /// The partial file of a name.
    struct Partial {
        /// The version that its bytes are of.
        var version: Int
        var length: Int64
        /// The bytes that survive the death of the process.
        var written: [ByteRange] = []
        /// The bytes that survive a loss of power.
        var durable: [ByteRange] = []
        /// Whether a checkpoint was made: before, a loss of power can leave an unreadable journal.
        var isAnchored = false
        /// Whether a sync failed: later writes are not promised either.
        var hasLostWrites = false
        /// The number of the facts under which each byte was written first.
        var bases: [(range: ByteRange, facts: Int)] = []
    }

    /// The finished file, after the death of the process and after a loss of power.
    var finals: [Content] = [.absent]
    var durableFinals: [Content] = [.absent]
    /// `nil` if nothing is promised.
    var partial: Partial?
    /// Whether files of ours may be left that look like files of others.
    var mayLookForeign = false
    /// Whether files of others have taken the names.
    var isTaken = false

    /// A new content may appear, durable or not.
    mutating func mayBecome(_ content: Content) {
        if !self.finals.contains(content) { self.finals.append(content) }
        if !self.durableFinals.contains(content) { self.durableFinals.append(content) }
    }

    /// A content has appeared.
    mutating func became(_ content: Content, isDurable: Bool) {
        self.finals = [content]
        if isDurable {
            self.durableFinals = [content]
        } else if !self.durableFinals.contains(.unknown) {
            self.durableFinals.append(.unknown)
        }
    }

    /// Bytes of the partial file were written.
    mutating func wrote(_ range: ByteRange) {
        guard var partial = self.partial, !partial.hasLostWrites else { return }
        partial.written = Self.union(partial.written, range)
        self.partial = partial
    }

    /// The written bytes of the partial file are durable.
    mutating func synced() {
        guard let written = self.partial?.written else { return }
        self.partial?.durable = written
        self.partial?.isAnchored = true
    }

    /// A sync failed: only what was durable before is promised.
    mutating func failedToSync() {
        guard let durable = self.partial?.durable else { return }
        self.partial?.written = durable
        self.partial?.hasLostWrites = true
    }

    /// The length of the runs of equal bytes in a version.
    private static let run: Int64 = 32

    static func byte(_ version: Int, _ offset: Int64) -> UInt8 {
        let mixed = UInt64(truncatingIfNeeded: offset / self.run &+ Int64(version) &* 131) &* 0x9E37_79B9_7F4A_7C15
        return UInt8(truncatingIfNeeded: mixed >> 32) | 1
    }

    /// Bytes of a version; none is zero, so that holes are noticed.
    static func bytes(_ version: Int, _ range: ByteRange) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            count = range.count
            guard let base = buffer.baseAddress else { return }
            var offset = range.lowerBound
            while offset < range.upperBound {
                let end = min(range.upperBound, (offset / self.run + 1) * self.run)
                memset(base + Int(offset - range.lowerBound), Int32(self.byte(version, offset)), Int(end - offset))
                offset = end
            }
        }
    }

    /// Adds a range to a union of ranges.
    static func union(_ ranges: [ByteRange], _ range: ByteRange) -> [ByteRange] {
        var result: [ByteRange] = []
        for next in (ranges + [range]).sorted(by: { $0.lowerBound < $1.lowerBound }) where !next.isEmpty {
            if let last = result.last, next.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
            } else {
                result.append(next)
            }
        }
        return result
    }

    /// The parts of some ranges that others lack.
    static func missing(_ wanted: [ByteRange], in ranges: [ByteRange]) -> [ByteRange] {
        wanted.flatMap { range -> [ByteRange] in
            var rest: [ByteRange] = []
            var start = range.lowerBound
            for other in ranges where other.upperBound > start && other.lowerBound < range.upperBound {
                if other.lowerBound > start { rest.append(start..<other.lowerBound) }
                start = max(start, other.upperBound)
            }
            if start < range.upperBound { rest.append(start..<range.upperBound) }
            return rest
        }
    }
}
