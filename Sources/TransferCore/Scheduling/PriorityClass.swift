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

    /// Puts a transfer in its host's line.
    mutating func append(_ place: Place, host: Int, atFront: Bool) {
        self.count += 1
        self.total += 1
        if self.lines[host] == nil { self.hosts.append(host) }
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

    /// Removes the dead places once they are more than the live ones.
    mutating func compact(isLive: (Place) -> Bool) {
        guard self.total - self.count > self.count + Self.tolerated else { return }
        var hosts = FirstInFirstOut<Int>()
        while let host = self.hosts.popFirst() {
            var kept = FirstInFirstOut<Place>()
            while let place = self.lines[host]?.popFirst() { if isLive(place) { kept.append(place) } }
            self.lines[host] = kept.isEmpty ? nil : kept
            if !kept.isEmpty { hosts.append(host) }
        }
        self.hosts = hosts
        self.total = self.count
    }

    /// Removes all places, of which none is live.
    mutating func removeAll() {
        self.hosts = FirstInFirstOut()
        self.lines = [:]
        self.total = 0
    }

    private static let tolerated = 64
}

/// A line of elements with cheap ends.
struct FirstInFirstOut<Element: Sendable>: Sendable {
    private var front: [Element] = []
    private var back: [Element] = []
    private var head = 0

    var count: Int { self.front.count + self.back.count - self.head }
    var isEmpty: Bool { self.count == 0 }
    var first: Element? { self.front.last ?? (self.head < self.back.count ? self.back[self.head] : nil) }

    mutating func append(_ element: Element) { self.back.append(element) }

    mutating func prepend(_ element: Element) { self.front.append(element) }

    mutating func popFirst() -> Element? {
        if let element = self.front.popLast() { return element }
        guard self.head < self.back.count else { return nil }
        let element = self.back[self.head]
        self.head += 1
        if self.head == self.back.count {
            self.back.removeAll(keepingCapacity: self.head <= 64)
            self.head = 0
        } else if self.head > 64, self.head * 2 > self.back.count {
            self.back.removeFirst(self.head)
            self.head = 0
        }
        return element
    }
}
