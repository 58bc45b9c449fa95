/// The waiting transfers of one priority, a line for each host.
///
/// A transfer that is taken out of its line leaves its place behind, which is dropped when it reaches the front or
/// when the dead places outnumber the live ones.
struct PriorityClass: Sendable {
    /// A transfer's place in line; live while the ticket is the transfer's current one.
    struct Place: Sendable {
        var slot: Int
        var ticket: UInt64
    }

    /// The live places.
    var count = 0
    /// All places.
    private(set) var total = 0
    /// The number of starts of others while work waited here.
    var passedOver = 0
    /// The hosts that have a line, in the order of their turns.
    private(set) var hosts = FirstInFirstOut<Int>()
    private var lines: [Int: FirstInFirstOut<Place>] = [:]
    /// The hosts that have no turn because they are held.
    private var parked: Set<Int> = []

    /// Puts a transfer in its host's line.
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

    /// Takes the host whose turn it is, with the first live place of its line; drops a host that has none.
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

    /// Ends the turn of a host: it goes to the end, without its first place if that one has started.
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

    /// Gives a host, whose turn it is, no more turns before ``unpark(_:)``.
    mutating func park(_ host: Int) { self.parked.insert(host) }

    /// Gives a host turns again.
    mutating func unpark(_ host: Int) {
        guard self.parked.remove(host) != nil, self.lines[host] != nil else { return }
        self.hosts.append(host)
    }

    /// The places in a host's line, dead ones included.
    func places(of host: Int) -> [Place] { self.lines[host]?.elements ?? [] }

    /// The hosts that have a line.
    var hostsInLine: some Sequence<Int> { self.lines.keys }

    /// Removes the dead places once they are more than the live ones.
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
    /// - Returns: Whether a live one is left.
    private mutating func compact(_ host: Int, _ isLive: (Place) -> Bool) -> Bool {
        var kept = FirstInFirstOut<Place>()
        while let place = self.lines[host]?.popFirst() { if isLive(place) { kept.append(place) } }
        self.lines[host] = kept.isEmpty ? nil : kept
        return !kept.isEmpty
    }

    /// Removes all places, of which none is live.
    mutating func removeAll() {
        self.parked = []
        self.hosts = FirstInFirstOut()
        self.lines = [:]
        self.total = 0
    }

    private static let tolerated = 64
}
