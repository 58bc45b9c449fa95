// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The bytes of one version that a response delivered.
struct Delivery {
    var shown: Shown
    /// The position of the first byte in the version.
    var start: Int64
    var count: Int64 = 0

    var end: Int64 { self.start + self.count }
}

/// A part of a mixed file that only some versions have.
private struct Stretch {
    var range: Range<Int64>
    /// The versions that have these bytes here, one bit each.
    var versions: UInt32

    func has(_ version: Int) -> Bool { self.versions & (1 << UInt32(version)) != 0 }
}

extension Site {
    /// Returns whether no client could know that a file is mixed: the responses that gave its bytes were of one version
    /// by their validators.
    ///
    /// Bytes that all versions have in common prove nothing, so only those that distinguish versions count.
    func isDeceptive(_ file: [UInt8]) -> Bool {
        guard self.isLiar, let stretches = self.stretches(of: file) else { return false }
        // A wrong length: the responses that name it need not have given any byte.
        if stretches.contains(where: { $0.versions == 0 }) { return false }
        // The beginning of one version: a response has named the length of another one.
        if stretches.reduce(~0, { $0 & $1.versions }) != 0 {
            return self.contents.contains { $0.bytes.count == file.count }
        }
        let givers = self.deliveries.values
            .filter { giver in
                stretches.contains {
                    $0.has(giver.shown.version) && giver.start < $0.range.upperBound && $0.range.lowerBound < giver.end
                }
            }
            .sorted { ($0.start, $0.count) < ($1.start, $1.count) }
        var left = Array(givers.indices)
        while let first = left.popLast() {
            var group = [first]
            var next = 0
            while next < group.count {
                let member = givers[group[next]].shown
                let joined = left.filter {
                    givers[$0].shown.version == member.version || givers[$0].shown.isOneVersion(with: member)
                }
                left.removeAll(where: joined.contains)
                group += joined
                next += 1
            }
            let members = group.sorted().map { givers[$0] }
            if stretches.allSatisfy({ Self.isCovered($0, by: members) }) { return true }
        }
        return false
    }

    /// Returns whether deliveries, sorted by their starts, gave all bytes of a stretch.
    private static func isCovered(_ stretch: Stretch, by deliveries: [Delivery]) -> Bool {
        var place = stretch.range.lowerBound
        for delivery in deliveries where stretch.has(delivery.shown.version) && delivery.start <= place {
            place = max(place, delivery.end)
        }
        return place >= stretch.range.upperBound
    }

    /// The parts of a file that distinguish the versions; `nil` if there is none.
    private func stretches(of file: [UInt8]) -> [Stretch]? {
        var result: [Stretch] = []
        let all: UInt32 = (1 << UInt32(self.contents.count)) - 1
        for place in file.indices {
            var versions: UInt32 = 0
            for (version, content) in self.contents.enumerated()
            where place < content.bytes.count && content.bytes[place] == file[place] {
                versions |= 1 << UInt32(version)
            }
            guard versions != all else { continue }
            let position = Int64(place)
            if let last = result.last, last.versions == versions, last.range.upperBound == position {
                result[result.count - 1].range = last.range.lowerBound..<position + 1
            } else {
                result.append(Stretch(range: position..<position + 1, versions: versions))
            }
        }
        return result.isEmpty ? nil : result
    }
}
