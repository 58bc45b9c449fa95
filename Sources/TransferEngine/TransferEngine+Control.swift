// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import TransferCore

/// Pausing, resuming and cancelling transfers; changing limits.
extension TransferEngine {
    /// Pauses a transfer that is waiting, running or between attempts; its partial file is kept.
    ///
    /// Has no effect in other states.
    package func pause(_ id: TransferID) {
        let now = self.time.now
        let run = self.handle { state -> (any TransferRun)? in
            switch state.machine.pause(id, now: now) {
            case .interrupt: return state.runs[id]
            case .paused: if let transfer = state.transfers[id] { self.hub.post(transfer.event(.paused)) }
            default: break
            }
            return nil
        }
        run?.interrupt(.paused)
    }

    /// Queues a paused transfer again, or one that is still being paused.
    package func resume(_ id: TransferID) { self.handle { _ = $0.machine.resume(id) } }

    /// Cancels a transfer that has not ended.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - keeping: Whether the partial file is kept, so that another transfer can resume it; otherwise it is deleted.
    package func cancel(_ id: TransferID, keeping: Bool = false) {
        let (run, ended): ((any TransferRun)?, Transfer?) = self.state.withLock { state in
            switch state.machine.cancel(id, keeping: keeping) {
            case .interrupt: return (state.runs[id], nil)
            case .cancelled:
                let transfer = state.transfers[id]
                if let transfer { self.ended(&state, transfer, .cancelled) }
                return (nil, transfer)
            default: return (nil, nil)
            }
        }
        if let ended { self.abandon(ended, keeping: keeping) }
        run?.interrupt(.cancelled(keeping: keeping))
        self.drive()
    }

    /// Removes transfers that have never started from the queue, without an event; others are not changed.
    ///
    /// - Returns: The removed transfers; the others have started, or are not in this queue.
    package func withdraw(_ ids: [TransferID]) -> Set<TransferID> {
        let withdrawn: [Transfer] = self.state.withLock { state in
            var withdrawn: [Transfer] = []
            for id in ids where state.machine.withdraw(id) {
                guard let transfer = state.transfers.removeValue(of: id) else { continue }
                if self.releasesNames, case .download = transfer.work {
                    state.machine.releaseName(transfer.reserved)
                }
                withdrawn.append(transfer)
            }
            return withdrawn
        }
        for transfer in withdrawn { transfer.letGoOfSource() }
        self.drive()
        return Set(withdrawn.map(\.id))
    }

    /// Whether slots are free although transfers are waiting, because the limits of their hosts are reached.
    package var hasIdlePlaces: Bool { self.state.withLock { $0.machine.hasIdlePlaces } }

    /// Pauses every transfer that is waiting, running or between attempts.
    package func pauseAll() {
        for id in self.runningLast { self.pause(id) }
    }

    /// Queues every paused transfer again, in the order in which they were added.
    package func resumeAll() {
        for id in self.state.withLock({ $0.transfers.ids }) { self.resume(id) }
    }

    /// Cancels every transfer that has not ended.
    package func cancelAll() {
        for id in self.runningLast { self.cancel(id) }
    }

    /// All transfers, those without a run first, so that none of them starts when a running one ends.
    private var runningLast: [TransferID] {
        self.state.withLock { state in
            let ids = state.transfers.ids
            return ids.filter { state.runs[$0] == nil } + ids.filter { state.runs[$0] != nil }
        }
    }

    /// Changes a transfer's priority; a running transfer keeps running.
    package func setPriority(_ priority: Priority, of id: TransferID) {
        self.handle { $0.machine.setPriority(priority, of: id) }
    }

    // MARK: Limits

    /// Changes the maximum number of running transfers; a lower limit does not interrupt running ones.
    ///
    /// With a limit above 1, transfers whose host has not responded for 5 s are not counted, up to the limit or 32 of them.
    package func setConcurrentTransfers(_ count: Int) { self.handle { $0.machine.limit = max(1, count) } }

    /// Changes the maximum number of connections per host.
    package func setConnectionsPerHost(_ count: Int) { self.handle { $0.machine.connectionsPerHost = count } }

    /// Changes the connection limits of single hosts, by lower-case host name; they replace the limit for all hosts.
    package func setConnectionLimits(ofHosts limits: [String: Int]) { self.handle { $0.machine.hostLimits = limits } }

    /// Changes the rate limit over all transfers, in bytes per second; `nil` removes the limit.
    package func setRateLimit(_ rate: Int64?) {
        let now = self.time.now
        self.limiter.withLock { $0.setRate(rate, now: now) }
        if rate != nil { self.throttles.store(true, ordering: .relaxed) }
    }

    /// Changes the rate limit of one transfer, in bytes per second; `nil` removes the limit.
    package func setRateLimit(_ rate: Int64?, of id: TransferID) {
        let now = self.time.now
        self.state.withLock { $0.transfers[id] }?.limiter.withLock { $0.setRate(rate, now: now) }
        if rate != nil { self.throttles.store(true, ordering: .relaxed) }
    }

    /// Changes the lowest rate of one transfer; `nil` removes it.
    package func setSpeedFloor(_ floor: SpeedFloor?, of id: TransferID) {
        self.state.withLock { $0.transfers[id] }?.memory.withLock { $0.speedFloor = floor }
    }
}
