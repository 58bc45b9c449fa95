// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import Synchronization
internal import TransferCore

/// Rates of the last minutes, and orders by what only memory knows.
extension DaemonCore {
    /// The total rate during the last ten minutes; performs no I/O.
    package nonisolated var rateHistory: RateHistory { self.rates.withLock { $0 } }

    /// Adds the published rate to the history.
    func sampleRate() {
        let (rate, uptime) = (self.counts.rate, self.uptime)
        self.rates.withLock { $0.sampled(rate, at: uptime) }
    }

    /// Returns the values by which started transfers are sorted, which are stored as waiting.
    ///
    /// - Parameters:
    ///   - order: The order.
    ///   - session: The session, or `nil` for everything.
    /// - Returns: The rates, the seconds left or the places of the states; empty for orders by stored values.
    func startedValues(_ order: TransferOrder, _ session: String??) -> [GID: Int64] {
        guard order.isOfStarted else { return [:] }
        var values: [GID: Int64] = [:]
        let states = TransferRecord.State.allCases
        for record in self.started(session) {
            switch order {
            case .rate: values[record.id] = record.rate
            case .left:
                guard record.rate > 0, let total = record.total else { continue }
                values[record.id] = max(0, total - record.bytes) / record.rate
            default: values[record.id] = Int64((states.firstIndex(of: record.state) ?? 0) - states.count)
            }
        }
        return values
    }
}
