// SPDX-License-Identifier: Apache-2.0
/// The lanes of a ``QueueMachine`` by identifier.
///
/// An event finds the place of its lane once and changes the lane there: a lane is large, and reading it from a
/// dictionary copies it.
struct LaneTable: Sendable {
    typealias LaneID = QueueMachine.LaneID

    /// The place of a lane, until a lane is removed.
    struct Place: Sendable { fileprivate let index: Int }

    private var places: [LaneID: Int] = [:]
    private var lanes: [QueueLane] = []

    var count: Int { self.lanes.count }
    var ids: Dictionary<LaneID, Int>.Keys { self.places.keys }
    /// The lanes, in no particular order.
    var all: [QueueLane] { self.lanes }

    func place(of id: LaneID) -> Place? { self.places[id].map { Place(index: $0) } }

    /// The lane at a place; inlined, because a call of such an accessor allocates its frame.
    subscript(place: Place) -> QueueLane {
        @inline(__always) _read { yield self.lanes[place.index] }
        @inline(__always) _modify { yield &self.lanes[place.index] }
    }

    /// A copy of a lane.
    subscript(id: LaneID) -> QueueLane? { self.places[id].map { self.lanes[$0] } }

    /// Changes a lane in its place.
    ///
    /// - Returns: The result of `change`, or `nil` if the lane does not exist.
    @discardableResult
    mutating func change<Result>(_ id: LaneID, _ change: (inout QueueLane) -> Result) -> Result? {
        guard let index = self.places[id] else { return nil }
        return change(&self.lanes[index])
    }

    /// Adds a lane that does not exist.
    mutating func insert(_ lane: QueueLane, _ id: LaneID) {
        self.places[id] = self.lanes.count
        self.lanes.append(lane)
    }

    mutating func remove(_ id: LaneID) -> QueueLane? {
        guard let index = self.places.removeValue(forKey: id) else { return nil }
        let last = self.lanes.count - 1
        // The entry, not its key, which may itself be `nil`.
        if index < last, let moved = self.places.first(where: { $0.value == last }) {
            self.lanes.swapAt(index, last)
            self.places[moved.key] = index
        }
        return self.lanes.removeLast()
    }

    /// Takes a lane out of its place for a change that needs the machine as well; ``put(_:_:)`` must follow.
    mutating func take(_ id: LaneID) -> QueueLane? {
        guard let index = self.places[id] else { return nil }
        var lane = QueueLane(limit: 1)
        swap(&lane, &self.lanes[index])
        return lane
    }

    /// Returns a lane to its place.
    mutating func put(_ lane: consuming QueueLane, _ id: LaneID) {
        guard let index = self.places[id] else { return }
        self.lanes[index] = lane
    }
}
