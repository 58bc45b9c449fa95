// SPDX-License-Identifier: Apache-2.0
/// Determines the number of connections that increase the rate of one file.
///
/// It starts with one. After a second of flow it tries one more; if the rate over the next second is at least a quarter
/// above the best so far, the new one is kept and another is tried, up to the limit. The first one without a benefit
/// is closed and ends the trial for good.
package struct ConnectionAdvisor: Sendable {
    /// The number of connections to use now.
    package private(set) var wanted = 1

    private let most: Int
    private var best: Double = 0
    private var since: Int64?
    private var bytesThen: Int64 = 0
    private var settled = false

    package init(most: Int) {
        self.most = max(1, most)
        self.settled = most <= 1
    }

    /// Records the number of bytes received at a time, while `connections` were receiving.
    package mutating func observe(bytes: Int64, connections: Int, now: Int64) {
        guard !self.settled else { return }
        guard connections == self.wanted, let since = self.since else {
            // The rate is only compared while all the requested connections receive bytes.
            self.since = connections == self.wanted ? now : nil
            self.bytesThen = bytes
            return
        }
        guard now - since >= Self.period else { return }
        let rate = Double(bytes - self.bytesThen) * 1e9 / Double(now - since)
        if self.wanted > 1, rate < self.best * Self.gain {
            self.wanted -= 1
            self.settled = true
            return
        }
        self.best = rate
        if self.wanted < self.most { self.wanted += 1 } else { self.settled = true }
        self.since = nil
    }

    /// The server refused a further connection: keep this number.
    package mutating func refused(having connections: Int) {
        self.wanted = max(1, connections)
        self.settled = true
    }

    private static let period: Int64 = 1_000_000_000
    private static let gain = 1.25
}
