// SPDX-License-Identifier: Apache-2.0
/// The rate over the last few seconds, from samples of a growing count.
package struct RateWindow: Sendable {
    private struct Sample {
        var time: Int64
        var bytes: Int64
    }

    private let span: Int64
    private var samples: [Sample] = []

    /// Creates a window over this many nanoseconds.
    package init(span: Int64 = 3_000_000_000) {
        self.span = span
    }

    /// Whether nothing was recorded.
    package var isEmpty: Bool { self.samples.isEmpty }

    package mutating func record(_ bytes: Int64, at time: Int64) {
        self.samples.append(Sample(time: time, bytes: bytes))
        while self.samples.count > 2, let second = self.samples.dropFirst().first, time - second.time >= self.span {
            self.samples.removeFirst()
        }
    }

    /// Bytes per second between the oldest and the newest sample of the window, 0 with fewer than two.
    package var rate: Double {
        guard let first = self.samples.first, let last = self.samples.last, last.time > first.time else { return 0 }
        return Double(max(0, last.bytes - first.bytes)) * 1e9 / Double(last.time - first.time)
    }
}
