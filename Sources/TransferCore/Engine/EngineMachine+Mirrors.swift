// SPDX-License-Identifier: Apache-2.0
/// Transfers that can be fetched from several hosts: one whose host is held starts at a host that is not.
extension EngineMachine {
    /// The host in whose queue a transfer is, and to which its run has a connection.
    package func host(of id: TransferID) -> Origin? {
        self.slots[id].map { self.hosts[Int(self.entries[$0].host)].origin }
    }

    /// Moves the transfers of a held host that have mirrors to the queues of hosts that are free.
    ///
    /// - Parameters:
    ///   - host: The held host, which is parked.
    ///   - index: The class.
    ///   - now: The time.
    /// - Returns: Whether any was moved.
    mutating func moveToMirrors(from host: Int, in index: Int, _ now: Int64) -> Bool {
        guard self.mirroredCount > 0 else { return false }
        var hasMoved = false
        for place in self.classes[index].places(of: host) {
            guard self.entries[place.slot].ticket == place.ticket,
                let free = self.entries[place.slot].mirrors.firstIndex(where: { self.isFree($0, now) })
            else { continue }
            self.endHeldTime(place.slot, now)
            self.leaveLine(place.slot)
            self.move(place.slot, toMirror: free)
            self.enterLine(place.slot, atFront: false)
            hasMoved = true
        }
        return hasMoved
    }

    /// A host is free again: it may be that of a mirror of transfers that wait for other hosts.
    mutating func resumeMirrored() {
        guard self.mirroredCount > 0 else { return }
        for host in self.hosts.allIndices { self.resume(host) }
        self.resumeAll()
    }

    /// Whether transfers of a host could start at once, as far as outages and requested delays are concerned.
    private func isFree(_ mirror: MirrorHost, _ now: Int64) -> Bool {
        if let host = self.hosts.index(of: mirror.origin) { return self.permission(host, now) == .free }
        let gate = mirror.gate ?? mirror.origin
        guard !self.network.concerns(gate) else { return false }
        return self.hosts.index(of: gate).map { self.hosts[$0].health.permission(at: now, isProxy: true) == .free }
            ?? true
    }

    private mutating func move(_ slot: Int, toMirror index: Int) {
        let old = Int(self.entries[slot].host)
        let gate = self.hosts[old].gate
        let mirror = self.entries[slot].mirrors[index]
        self.entries[slot].mirrors[index] = MirrorHost(
            origin: self.hosts[old].origin,
            gate: gate == old ? nil : self.hosts[gate].origin
        )
        self.entries[slot].host = Int32(self.hosts.retain(mirror.origin, gate: mirror.gate))
        self.hosts.release(old)
    }
}
