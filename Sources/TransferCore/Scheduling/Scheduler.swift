/// Decides which waiting transfer starts next, and who may open a connection to a host.
///
/// Four priorities; inside one priority round robin over hosts; first in, first out for each host. No clock: time
/// comes in as an argument. A class that was passed over ``ageingPeriod`` times takes the next start, so a transfer
/// at place *n* of its host's line in a class starts after at most `n × hosts × (ageingPeriod + 3)` starts of others.
package struct Scheduler: Sendable {
    /// After this many starts that passed over a class with eligible work, that class gets one.
    package static let ageingPeriod = 8

    /// The most transfers that run at once.
    package var limit: Int

    /// The most connections to one host over all transfers.
    package var perHost: Int

    /// The most connections to single hosts, by their names in lower case; in place of ``perHost``.
    package var hostLimits: [String: Int] = [:]

    /// The transfers that run.
    package private(set) var runningCount = 0

    /// The transfers that wait.
    package var waitingCount: Int { self.places.count }

    private struct Place {
        var priority: Priority
        var origin: Origin
        var ticket: UInt64
    }

    private var classes: [PriorityClass]
    private var places: [TransferID: Place] = [:]
    private var nextTicket: UInt64 = 0
    private var connections: [Origin: Int] = [:]
    private var heldBack: [Origin: Int64] = [:]
    /// The connections that a host was seen to allow, and until when that is believed.
    private var learnedLimits: [Origin: (count: Int, until: Int64)] = [:]

    /// Creates a scheduler.
    package init(limit: Int, perHost: Int) {
        self.limit = limit
        self.perHost = perHost
        self.classes = Priority.allCases.map { _ in PriorityClass() }
    }

    /// Puts a transfer in line; one that comes back from an attempt goes to the front.
    ///
    /// - Precondition: It does not wait already.
    package mutating func enqueue(_ id: TransferID, origin: Origin, priority: Priority, atFront: Bool = false) {
        precondition(self.places[id] == nil, "transfer \(id) waits already")
        self.nextTicket += 1
        self.places[id] = Place(priority: priority, origin: origin, ticket: self.nextTicket)
        self.classes[Int(priority.rawValue)]
            .append(PriorityClass.Entry(id: id, ticket: self.nextTicket), origin: origin, atFront: atFront)
    }

    /// Takes a transfer out of the line.
    ///
    /// - Returns: Whether it waited.
    package mutating func remove(_ id: TransferID) -> Bool {
        guard let place = self.places.removeValue(forKey: id) else { return false }
        self.classes[Int(place.priority.rawValue)].count -= 1
        return true
    }

    /// Moves a waiting transfer to the end of another priority's line.
    package mutating func setPriority(_ priority: Priority, of id: TransferID) {
        guard let place = self.places[id], place.priority != priority else { return }
        _ = self.remove(id)
        self.enqueue(id, origin: place.origin, priority: priority)
    }

    /// Starts no transfer of a host and opens no further connection to it until `time`.
    package mutating func holdBack(_ origin: Origin, until time: Int64) {
        self.heldBack[origin] = max(time, self.heldBack[origin] ?? time)
    }

    /// Admits the next transfer, with one connection to its host, or returns `nil` where none may start now.
    package mutating func admitNext(now: Int64) -> TransferID? {
        guard self.runningCount < self.limit, !self.places.isEmpty else { return nil }
        var order = Array((0..<self.classes.count).reversed())
        if let starved = order.filter({ self.classes[$0].passedOver >= Self.ageingPeriod })
            .max(by: { self.classes[$0].passedOver < self.classes[$1].passedOver })
        {
            order.removeAll { $0 == starved }
            order.insert(starved, at: 0)
        }
        for index in order where self.classes[index].count > 0 {
            guard let (entry, origin) = self.takeFrom(index, now: now) else { continue }
            self.places[entry.id] = nil
            self.classes[index].count -= 1
            self.classes[index].passedOver = 0
            for other in 0..<index where self.classes[other].count > 0 { self.classes[other].passedOver += 1 }
            self.runningCount += 1
            self.connections[origin, default: 0] += 1
            return entry.id
        }
        return nil
    }

    /// The transfer no longer runs.
    ///
    /// Its connections are released one by one.
    package mutating func ended() {
        precondition(self.runningCount > 0, "a transfer ended that did not run")
        self.runningCount -= 1
    }

    /// Takes one more connection to a host where the cap allows it.
    package mutating func acquireConnection(_ origin: Origin, now: Int64) -> Bool {
        guard self.mayConnect(origin, now: now) else { return false }
        self.connections[origin, default: 0] += 1
        return true
    }

    /// Takes one more connection for a file that has one already: where the cap allows it, and the host has not refused
    /// as many lately.
    package mutating func acquireFurtherConnection(_ origin: Origin, now: Int64) -> Bool {
        if let learned = self.learnedLimits[origin] {
            if learned.until <= now {
                self.learnedLimits[origin] = nil
            } else if self.connections[origin, default: 0] >= learned.count {
                return false
            }
        }
        return self.acquireConnection(origin, now: now)
    }

    /// The host refused a connection beyond those that it has now.
    package mutating func connectionRefused(_ origin: Origin, now: Int64) {
        self.learnedLimits[origin] = (max(1, self.connections[origin, default: 0]), now + Self.learnedPeriod)
    }

    /// How long a host's limit is believed, in nanoseconds.
    private static let learnedPeriod: Int64 = 300_000_000_000

    /// Takes a connection to a host whatever the cap says: for a transfer that runs and must not wait.
    package mutating func takeConnection(_ origin: Origin) {
        self.connections[origin, default: 0] += 1
    }

    /// Gives a connection back.
    package mutating func releaseConnection(_ origin: Origin) {
        guard let count = self.connections[origin] else {
            preconditionFailure("a connection to \(origin.host) was released that was not taken")
        }
        self.connections[origin] = count > 1 ? count - 1 : nil
    }

    private mutating func mayConnect(_ origin: Origin, now: Int64) -> Bool {
        if let until = self.heldBack[origin] {
            guard until <= now else { return false }
            self.heldBack[origin] = nil
        }
        let limit = self.hostLimits.isEmpty ? self.perHost : self.hostLimits[origin.host] ?? self.perHost
        return self.connections[origin, default: 0] < limit
    }

    private mutating func takeFrom(_ index: Int, now: Int64) -> (PriorityClass.Entry, Origin)? {
        for _ in 0..<self.classes[index].hosts.count {
            guard let origin = self.classes[index].hosts.popFirst() else { return nil }
            while let entry = self.classes[index].lines[origin]?.first,
                self.places[entry.id]?.ticket != entry.ticket
            {
                _ = self.classes[index].lines[origin]?.popFirst()
            }
            guard self.classes[index].lines[origin]?.first != nil else {
                self.classes[index].lines[origin] = nil
                continue
            }
            guard self.mayConnect(origin, now: now), let entry = self.classes[index].lines[origin]?.popFirst() else {
                self.classes[index].hosts.append(origin)
                continue
            }
            if self.classes[index].lines[origin]?.isEmpty ?? true {
                self.classes[index].lines[origin] = nil
            } else {
                self.classes[index].hosts.append(origin)
            }
            return (entry, origin)
        }
        return nil
    }
}

/// The waiting transfers of one priority, a line for each host.
struct PriorityClass: Sendable {
    struct Entry: Sendable {
        var id: TransferID
        var ticket: UInt64
    }

    /// Live entries; lines may hold dead ones, whose ticket is no longer current.
    var count = 0
    /// How often others started while work waited here.
    var passedOver = 0
    var hosts = FirstInFirstOut<Origin>()
    var lines: [Origin: FirstInFirstOut<Entry>] = [:]

    mutating func append(_ entry: Entry, origin: Origin, atFront: Bool) {
        self.count += 1
        if self.lines[origin] == nil { self.hosts.append(origin) }
        if atFront {
            self.lines[origin, default: FirstInFirstOut()].prepend(entry)
        } else {
            self.lines[origin, default: FirstInFirstOut()].append(entry)
        }
    }
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
        if self.head > 64, self.head * 2 > self.back.count {
            self.back.removeFirst(self.head)
            self.head = 0
        }
        return element
    }
}
