// SPDX-License-Identifier: Apache-2.0
/// The number of transfers of one session, or of the shared queue, in each state of the store.
package struct LaneCounts: Hashable, Sendable {
    /// Waiting in the queue, including running ones.
    package var waiting = 0
    package var paused = 0
    /// Complete.
    package var finished = 0
    package var failed = 0
    package var removed = 0

    /// Creates counts of zero.
    package init() {}

    /// The transfers that have ended.
    package var ended: Int { self.finished + self.failed + self.removed }

    /// The transfers that have not ended.
    package var unfinished: Int { self.waiting + self.paused }

    static func += (left: inout LaneCounts, right: LaneCounts) {
        left.waiting += right.waiting
        left.paused += right.paused
        left.finished += right.finished
        left.failed += right.failed
        left.removed += right.removed
    }
}
