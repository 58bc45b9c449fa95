// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferCore

/// Requests that wait: for the interval of their host or domain, and for the rules of their origin.
extension TransferEngine {
    func permit(_ url: HTTPURL, for transfer: TransferID, lane: Int, _ again: @escaping @Sendable () -> Void)
        -> RequestPermit
    {
        if let robots = self.robots {
            switch robots.verdict(on: url) {
            case .allowed: break
            case .refused(let error): return .refused(error)
            case .unknown:
                robots.fetch(url.origin, onLane: lane, again)
                return .later
            }
        }
        guard self.pacesRequests else { return .granted }
        let now = self.time.now
        let delay = self.state.withLock { $0.machine.requestDelay(url.origin, for: transfer, now: now) }
        return delay > 0 ? .delayed(delay) : .granted
    }

    func fetchRules(_ origin: Origin) {
        guard let robots = self.robots else { return }
        robots.fetch(origin, onLane: abs(origin.hashValue % self.transport.laneCount)) {
            let terms = robots.terms(of: origin)
            self.handle { $0.machine.rulesArrived(origin, crawlDelay: terms.crawlDelay, until: terms.end) }
        }
    }
}
