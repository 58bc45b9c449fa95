// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// The services that runs need from the engine: connections, names and rate limits.
extension TransferEngine {
    // MARK: Connections

    func acquireConnection(_ origin: Origin, for transfer: TransferID) -> Bool {
        let now = self.time.now
        return self.state.withLock { $0.machine.acquireConnection(origin, for: transfer, now: now) }
    }

    func releaseConnection(_ origin: Origin, of transfer: TransferID) {
        self.state.withLock { $0.machine.connectionReleased(origin, by: transfer) }
    }

    func whenConnectionIsFree(_ origin: Origin, for transfer: TransferID, _ wake: @escaping @Sendable () -> Void) {
        self.handle { $0.claims[$0.machine.awaitConnection(origin, for: transfer)] = (transfer, wake) }
    }

    func connectionRefused(_ origin: Origin) {
        let now = self.time.now
        self.state.withLock { $0.machine.connectionRefused(origin, now: now) }
    }

    func connectionsReleased(lane: Int?) { self.drive(onLane: lane) }

    // MARK: Names

    func takeName(directory: String, base: String) -> FileTarget {
        self.state.withLock { $0.machine.takeName(directory: directory, base: base) }
    }

    func takeNextName(directory: String, base: String) -> FileTarget {
        self.state.withLock { $0.machine.takeNextName(directory: directory, base: base) }
    }

    // MARK: Rates

    var isThrottling: Bool { self.throttles.load(ordering: .relaxed) }

    func charge(_ count: Int, to transfer: Transfer, now: Int64) -> RateTickets {
        RateTickets(
            global: self.limiter.withLock { $0.rate == nil ? nil : $0.charge(count, now: now) },
            own: transfer.limiter.withLock { $0.rate == nil ? nil : $0.charge(count, now: now) }
        )
    }

    func wait(for tickets: RateTickets, of transfer: Transfer, now: Int64) -> Int64 {
        let global = tickets.global.map { ticket in self.limiter.withLock { $0.wait(for: ticket, now: now) } } ?? 0
        let own = tickets.own.map { ticket in transfer.limiter.withLock { $0.wait(for: ticket, now: now) } } ?? 0
        return max(global, own)
    }

    func readQuantum(for transfer: Transfer, attempts: Int) -> Int? {
        guard self.isThrottling else { return nil }
        var quantum = Int64.max
        if let rate = self.limiter.withLock({ $0.rate }) {
            let runs = self.state.withLock { $0.machine.runCount }
            quantum = rate / 20 / Int64(max(1, runs))
        }
        if let rate = transfer.limiter.withLock({ $0.rate }) { quantum = min(quantum, rate / 20) }
        guard quantum != Int64.max else { return nil }
        return Int(min(max(512, quantum / Int64(max(1, attempts))), 65_536))
    }
}
