// SPDX-License-Identifier: Apache-2.0
/// The exit status of a run with several reasons for one: the first of them in a fixed order.
///
/// Pure value: the order in which the reasons occur does not matter. Causes that the user has to remove precede those
/// that another run may cure, so that a status of the latter says that another run may cure all. One that is not in
/// the order, from a later daemon, counts as 1.
struct ExitOrder: Equatable, Sendable {
    /// The statuses, the most severe one first.
    static let statuses: [Int32] = [
        // A signal; this machine; the arguments and lists.
        ExitStatus.interrupted, 9, 17, 16, 18, 15, 28,
        // Wrong bytes, and what the server or an option refuses.
        32, 24, 3, 22, 23, 33, 34, 35, 13, 8, 1,
        // The causes that can be different the next time.
        11, 19, 6, 2, 5, 29,
        // Not ended; failed rows of a table, of which the report has the reasons.
        ExitStatus.unfinished, ExitStatus.rowsFailed,
    ]

    static let text = "130, 9, 17, 16, 18, 15, 28, 32, 24, 3, 22, 23, 33, 34, 35, 13, 8, 1, 11, 19, 6, 2, 5, 29, 7, 65"

    /// The exit status for the reasons so far; 0 without one.
    private(set) var status = ExitStatus.success

    /// Adds a reason; 0 is none.
    mutating func add(_ status: Int32) {
        guard status != ExitStatus.success else { return }
        let known = Self.statuses.contains(status) ? status : 1
        guard self.status == ExitStatus.success || Self.rank(known) < Self.rank(self.status) else { return }
        self.status = known
    }

    static func status(of reasons: some Sequence<Int32>) -> Int32 {
        var order = ExitOrder()
        for reason in reasons { order.add(reason) }
        return order.status
    }

    private static func rank(_ status: Int32) -> Int { Self.statuses.firstIndex(of: status) ?? Self.statuses.count }
}
