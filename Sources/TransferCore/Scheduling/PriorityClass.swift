// SPDX-License-Identifier: Apache-2.0
/// The waiting transfers of one priority, with a queue for each host.
///
/// A transfer that is removed from its queue leaves its place behind, which is dropped when it reaches the front or
/// when the dead places outnumber the live ones.
struct PriorityClass: Sendable {
    /// A transfer's place in a queue; live while the ticket is the transfer's current one.
    struct Place: Sendable {
        var slot: Int
        var ticket: UInt64
    }

    /// The live places.
    var count = 0
    /// All places.
    private(set) var total = 0
    /// The number of starts of others while transfers waited here.
    var passedOver = 0
    /// The hosts that have a queue, in rotation order.
    private(set) var hosts = FirstInFirstOut<Int>()
    private var lines: [Int: FirstInFirstOut<Place>] = [:]
    /// The hosts that are out of rotation because they are held.
    private var parked: Set<Int> = []

    /// Appends a transfer to its host's queue.
    mutating func append(_ place: Place, host: Int, atFront: Bool) {
        self.count += 1
        self.total += 1
        if self.lines[host] == nil, !self.parked.contains(host) { self.hosts.append(host) }
        if atFront {
            self.lines[host, default: FirstInFirstOut()].prepend(place)
        } else {
            self.lines[host, default: FirstInFirstOut()].append(place)
        }
    }

    /// Returns the next host in rotation with the first live place of its queue; drops a host that has none.
    mutating func nextHost(isLive: (Place) -> Bool) -> (host: Int, place: Place)? {
        while let host = self.hosts.popFirst() {
            while let place = self.lines[host]?.first {
                if isLive(place) { return (host, place) }
                _ = self.lines[host]?.popFirst()
                self.total -= 1
            }
            self.lines[host] = nil
        }
        return nil
    }

    /// Ends the turn of a host: it moves to the end, without its first place if that one has started.
    mutating func endTurn(_ host: Int, starts: Bool) {
        if starts {
            _ = self.lines[host]?.popFirst()
            self.total -= 1
            self.count -= 1
            if self.lines[host]?.isEmpty ?? true {
                self.lines[host] = nil
                return
            }
        }
        self.hosts.append(host)
    }

    /// Moves a place of a host's queue to its front.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - position: The place's position among the eligible ones, from 0 to less than 1.
    ///   - isEligible: Whether a place may be moved.
    /// - Returns: The place, or `nil` if none is eligible.
    mutating func advance(_ host: Int, to position: Double, isEligible: (Place) -> Bool) -> Place? {
        var places = self.lines[host]?.elements ?? []
        let eligible = places.indices.filter { isEligible(places[$0]) }
        guard !eligible.isEmpty else { return nil }
        let index = eligible[min(Int(position * Double(eligible.count)), eligible.count - 1)]
        let place = places[index]
        guard index > 0 else { return place }
        places.remove(at: index)
        var line = FirstInFirstOut<Place>()
        line.append(place)
        for place in places { line.append(place) }
        self.lines[host] = line
        return place
    }

    /// Takes a host, whose turn it is, out of rotation until ``unpark(_:)``.
    mutating func park(_ host: Int) { self.parked.insert(host) }

    /// Returns a host to the rotation.
    mutating func unpark(_ host: Int) {
        guard self.parked.remove(host) != nil, self.lines[host] != nil else { return }
        self.hosts.append(host)
    }

    /// The places in a host's queue, including dead ones.
    func places(of host: Int) -> [Place] { self.lines[host]?.elements ?? [] }

    /// The hosts that have a queue.
    var hostsInLine: some Sequence<Int> { self.lines.keys }

    /// Removes the dead places if they outnumber the live ones.
    mutating func compact(isLive: (Place) -> Bool) {
        guard self.total - self.count > self.count + Self.tolerated else { return }
        var hosts = FirstInFirstOut<Int>()
        while let host = self.hosts.popFirst() {
            if self.compact(host, isLive) { hosts.append(host) }
        }
        for host in self.parked { _ = self.compact(host, isLive) }
        self.hosts = hosts
        self.total = self.count
    }

    /// Removes the dead places of a host.
    ///
    /// - Returns: Whether a live place is left.
    private mutating func compact(_ host: Int, _ isLive: (Place) -> Bool) -> Bool {
        var kept = FirstInFirstOut<Place>()
        while let place = self.lines[host]?.popFirst() { if isLive(place) { kept.append(place) } }
        self.lines[host] = kept.isEmpty ? nil : kept
        return !kept.isEmpty
    }

    /// Removes all places; none of them may be live.
    mutating func removeAll() {
        self.parked = []
        self.hosts = FirstInFirstOut()
        self.lines = [:]
        self.total = 0
    }

    private static let tolerated = 64
}
