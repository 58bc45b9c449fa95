// SPDX-License-Identifier: Apache-2.0
package import Control
package import QueueStore

/// Selects the transfers to list.
package struct ListQuery: Sendable, Hashable {
    /// The states; empty means all.
    package var states: Set<TransferRecord.State> = []
    /// The session: `.some(nil)` means the shared queue alone, `nil` everything.
    package var session: String??
    /// The number of transfers to skip; a negative offset lists backwards from the end, -1 from the last one (aria2).
    package var offset = 0
    /// Enumerates in the order of ``TransferRecord/key``, beginning after this one; then offset, words and order are
    /// ignored.
    package var after: Int64?
    /// The maximum number of transfers.
    package var limit = 1000
    /// The words that the name or a URL must contain; ASCII letters match in both cases.
    package var words: [String] = []
    /// The first digits of the identifiers; then offset, words and order are ignored, and the transfers are in the order
    /// of their identifiers.
    package var prefix: String?
    /// The order; the default is that of the queue, then of the ends, oldest first.
    package var order = TransferOrder.queue

    /// The number of transfers to skip, and whether they are counted from the end.
    ///
    /// No queue is longer than the limit, and sums with it do not overflow.
    var place: (offset: Int, isBackward: Bool) {
        let offset = min(max(self.offset, -Self.mostSkipped - 1), Self.mostSkipped)
        return offset < 0 ? (-(offset + 1), true) : (offset, false)
    }

    /// The maximum number of transfers, never negative; limited as ``place``.
    var most: Int { min(max(0, self.limit), Self.mostSkipped) }

    private static let mostSkipped = 1 << 48

    /// Creates a query; by default for everything, at most a thousand transfers.
    package init(
        states: Set<TransferRecord.State> = [],
        session: String?? = nil,
        offset: Int = 0,
        limit: Int = 1000
    ) {
        self.states = states
        self.session = session
        self.offset = offset
        self.limit = limit
    }
}
