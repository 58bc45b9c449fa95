// SPDX-License-Identifier: Apache-2.0
/// Hosts that do not respond: their runs lend their slots to transfers of other hosts.
///
/// A host is silent while runs wait for its response and none has received one for ``silence``. Each of these runs
/// continues and lends its slot; a lent slot is only used by a transfer of a responsive host. The first response
/// ends the silence. Then more transfers than ``limit`` may run until some of them end.
extension EngineMachine {
    /// The time without a response after which a host is silent, in nanoseconds.
    package static let silence: Int64 = 5_000_000_000
    /// The number of slots that may be lent regardless of the limit.
    package static let lentAtLeast = 32

    /// The number of lent slots.
    ///
    /// None is lent during a shortage of descriptors, because a run keeps its own, or with a limit of 1, which fixes
    /// order.
    var lentPlaces: Int {
        guard self.affordable.count == .max, self.limit > 1 else { return 0 }
        return min(self.unansweredOfSilent, max(self.limit, Self.lentAtLeast))
    }

    /// The number of slots available to a transfer of a host.
    func places(for host: Int) -> Int { self.hosts[host].isSilent ? self.ownPlaces : self.freePlaces }

    /// Detects hosts that have become silent while transfers wait for a slot.
    mutating func findSilentHosts(_ now: Int64) {
        guard self.waitingCount > 0, self.runCount > 0, self.freePlaces == 0 else { return }
        for host in self.hosts.allIndices where self.hosts[host].unanswered > 0 && !self.hosts[host].isSilent {
            guard now - self.hosts[host].quietSince >= Self.silence else { continue }
            self.hosts[host].isSilent = true
            self.unansweredOfSilent += self.hosts[host].unanswered
        }
    }

    /// A run waits for its first response.
    mutating func awaitResponse(_ slot: Int, _ now: Int64) {
        let host = Int(self.entries[slot].host)
        self.entries[slot].isUnanswered = true
        if self.hosts[host].unanswered == 0 { self.hosts[host].quietSince = now }
        self.hosts[host].unanswered += 1
        if self.hosts[host].isSilent { self.unansweredOfSilent += 1 }
    }

    /// The host of a run responds: the run received a response, or its content is being accepted.
    ///
    /// - Parameters:
    ///   - id: The transfer.
    ///   - status: The status of the final response, if there is one.
    ///   - now: The time.
    package mutating func hostResponds(to id: TransferID, status: Int?, now: Int64) {
        guard let slot = self.slots[id], self.entries[slot].isUnanswered else { return }
        self.endAwaiting(slot, hasResponse: true, now)
        if let status { self.hostServed(Int(self.entries[slot].host), status) }
    }

    /// A run received a response, or ended.
    mutating func endAwaiting(_ slot: Int, hasResponse: Bool, _ now: Int64) {
        let host = Int(self.entries[slot].host)
        if self.entries[slot].isUnanswered {
            self.entries[slot].isUnanswered = false
            self.hosts[host].unanswered -= 1
            if self.hosts[host].isSilent { self.unansweredOfSilent -= 1 }
        }
        if hasResponse { self.hosts[host].quietSince = now }
        guard self.hosts[host].isSilent, hasResponse || self.hosts[host].unanswered == 0 else { return }
        self.hosts[host].isSilent = false
        self.unansweredOfSilent -= self.hosts[host].unanswered
    }
}
