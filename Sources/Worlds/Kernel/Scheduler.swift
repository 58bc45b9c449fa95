// SPDX-License-Identifier: Apache-2.0
package import TransferEngine
package import TransferTesting

/// Everything that happens in a world, one thing after another, in virtual time.
///
/// Work is ordered by its time, and at one time by the order in which it was scheduled. Nothing else decides what
/// happens next, so that a seed gives the same world on every machine.
///
/// `@unchecked Sendable`: a world runs on one thread. The ports of the engine require a sendable type.
package final class Scheduler: @unchecked Sendable {
    /// Work that waits.
    private struct Entry {
        /// The process that does the work; `nil` for the network, the user and the disk.
        var process: SimulatedProcess?
        /// Whether it is a timer, for which the world does not wait.
        var isTimer: Bool
        var work: () -> Void
    }

    /// When work is due, in the heap; the work itself stays where it is.
    private struct Place {
        var due: Int64
        var number: UInt64
        var slot: Int
    }

    /// A place for work.
    private struct Slot {
        /// The number of the work that has it.
        var number: UInt64
        /// The work; `nil` if it was cancelled or dropped.
        var entry: Entry?
    }

    /// Nanoseconds since the world began.
    package private(set) var now: Int64 = 0
    /// The number of pieces of work done.
    package private(set) var steps = 0
    /// The process whose work is being done.
    package private(set) var current: SimulatedProcess?
    /// The world's random numbers.
    package var random: SeededGenerator
    /// Seconds since 1970 at the beginning: a day in November 2026.
    package static let epoch: Int64 = 1_795_000_000

    private var clockError: Int64 = 0
    private var heap: [Place] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var nextNumber: UInt64 = 0

    /// Creates an empty world.
    package init(seed: UInt64) { self.random = SeededGenerator(seed: seed) }

    /// The true time: seconds since 1970-01-01T00:00:00Z.
    package var trueNow: Int64 { Self.epoch + self.now / 1_000_000_000 }

    /// Nanoseconds since 1970 by the clock of the machine, which can be wrong (``MachineClock``).
    package var wallNanoseconds: Int64 { Self.epoch * 1_000_000_000 + self.now + self.clockError }

    /// Seconds since 1970 by the clock of the machine.
    package var wallNow: Int64 { self.wallNanoseconds / 1_000_000_000 }

    /// Sets the clock of the machine forward by nanoseconds, or back.
    package func setClock(forward change: Int64) { self.clockError += change }

    /// Schedules work.
    ///
    /// - Parameters:
    ///   - delay: The virtual time until then, in nanoseconds.
    ///   - process: The process that does the work: it is not done if the process has died.
    ///   - isTimer: Whether it is a timer, and not work that was handed over.
    ///   - work: The work.
    /// - Returns: What ``cancel(_:)`` needs.
    @discardableResult
    package func schedule(
        after delay: Int64,
        in process: SimulatedProcess? = nil,
        isTimer: Bool = false,
        _ work: @escaping () -> Void
    ) -> Scheduled {
        self.nextNumber += 1
        let (due, overflow) = self.now.addingReportingOverflow(max(0, delay))
        let slot = Slot(number: self.nextNumber, entry: Entry(process: process, isTimer: isTimer, work: work))
        let index = self.freeSlots.popLast() ?? self.slots.count
        if index == self.slots.count { self.slots.append(slot) } else { self.slots[index] = slot }
        self.push(Place(due: overflow ? .max : due, number: self.nextNumber, slot: index))
        return Scheduled(number: self.nextNumber, slot: index)
    }

    /// The time until the next piece of work, in nanoseconds; less, if that was prevented meanwhile.
    var idleTime: Int64 { self.heap.first.map { $0.due - self.now } ?? 0 }

    /// Prevents scheduled work, unless it has begun.
    package func cancel(_ scheduled: Scheduled) {
        guard scheduled.slot < self.slots.count, self.slots[scheduled.slot].number == scheduled.number else { return }
        self.slots[scheduled.slot].entry = nil
    }

    /// Does the next piece of work.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    package func step() -> Bool {
        while let place = self.pop() {
            guard let entry = self.take(place), entry.process?.isAlive != false else { continue }
            self.now = max(self.now, place.due)
            self.steps += 1
            self.stackBase = Self.stackAddress()
            self.perform(as: entry.process, entry.work)
            return true
        }
        return false
    }

    /// Frees the slot of a place that has left the heap; returns its work, unless it was cancelled.
    private func take(_ place: Place) -> Entry? {
        let entry = self.slots[place.slot].entry
        self.slots[place.slot] = Slot(number: 0, entry: nil)
        self.freeSlots.append(place.slot)
        return entry
    }

    /// The bytes of the stack that a step has used most, where processes look at their clock.
    package private(set) var deepest = 0
    /// The bytes of the stack that a step may use; threads have 512 KiB or more.
    package let mostStack = 128 << 10
    private var stackBase: UInt = 0

    /// Notes how deep the stack is below the step.
    func noteDepth() {
        let here = Self.stackAddress()
        if self.stackBase > here { self.deepest = max(self.deepest, Int(self.stackBase - here)) }
    }

    @inline(never) private static func stackAddress() -> UInt {
        var mark: UInt8 = 0
        return withUnsafeMutablePointer(to: &mark) { UInt(bitPattern: $0) }
    }

    /// Does work as a process outside of a step, as when a user starts it.
    package func perform<Result>(as process: SimulatedProcess?, _ work: () throws -> Result) rethrows -> Result {
        let outer = self.current
        self.current = process
        self.onProcess?(process)
        defer {
            self.current = outer
            self.onProcess?(outer)
        }
        return try work()
    }

    /// Drops all work at the end of a world: it refers to the objects that refer to the scheduler.
    package func end() {
        self.heap = []
        self.slots = []
        self.freeSlots = []
        self.onProcess = nil
    }

    /// Takes the work that a dead process has scheduled, in order, without its timers.
    func takeWork(of process: SimulatedProcess) -> [() -> Void] {
        var taken: [(place: Place, work: () -> Void)] = []
        var left: [Place] = []
        for place in self.heap {
            guard let entry = self.slots[place.slot].entry, entry.process === process else {
                left.append(place)
                continue
            }
            _ = self.take(place)
            if !entry.isTimer { taken.append((place, entry.work)) }
        }
        self.heap = []
        for place in left { self.push(place) }
        return taken.sorted { ($0.place.due, $0.place.number) < ($1.place.due, $1.place.number) }.map(\.work)
    }

    /// Called before each piece of work with the process that does it, such as for the disk.
    package var onProcess: ((SimulatedProcess?) -> Void)?

    // MARK: The heap

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        self.heap[left].due != self.heap[right].due
            ? self.heap[left].due < self.heap[right].due : self.heap[left].number < self.heap[right].number
    }

    private func push(_ place: Place) {
        self.heap.append(place)
        var index = self.heap.count - 1
        while index > 0, self.precedes(index, (index - 1) / 2) {
            self.heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func pop() -> Place? {
        guard !self.heap.isEmpty else { return nil }
        self.heap.swapAt(0, self.heap.count - 1)
        let place = self.heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in 2 * index + 1...2 * index + 2 where child < self.heap.count && self.precedes(child, least) {
                least = child
            }
            guard least != index else { return place }
            self.heap.swapAt(index, least)
            index = least
        }
    }
}

/// Work that was scheduled, to cancel it.
package struct Scheduled {
    fileprivate let number: UInt64
    fileprivate let slot: Int
}

/// A process of a world: what it has scheduled is not done after its death.
///
/// `@unchecked Sendable`: a world runs on one thread.
package final class SimulatedProcess: @unchecked Sendable {
    /// The process's number, from 1.
    package let number: Int
    /// Whether it has neither ended nor been killed.
    package private(set) var isAlive = true

    /// Creates a process.
    package init(number: Int) { self.number = number }

    /// Whether its objects are being released after its death: work that is handed over is then done at once.
    package private(set) var isDisposing = false

    /// Ends the process: what it has scheduled is not done any more.
    package func kill() { self.isAlive = false }

    /// Releases the objects of a dead process, whose system calls have no effect any more.
    ///
    /// Objects that wait for work that is never done keep each other alive; so the work is done.
    ///
    /// - Parameters:
    ///   - scheduler: The world's scheduler.
    ///   - cancel: Ends what the process was doing.
    package func dispose(_ scheduler: Scheduler, _ cancel: () -> Void) {
        self.kill()
        self.isDisposing = true
        scheduler.perform(as: self) {
            cancel()
            for _ in 0..<100 {
                let left = scheduler.takeWork(of: self)
                if left.isEmpty { break }
                for work in left { work() }
            }
        }
    }
}

/// The clock of a process.
package struct SimulatedTime: TimeSource {
    let scheduler: Scheduler
    let process: SimulatedProcess

    /// Creates the clock of a process.
    package init(_ scheduler: Scheduler, _ process: SimulatedProcess) {
        self.scheduler = scheduler
        self.process = process
    }

    /// Nanoseconds of virtual time.
    package var now: Int64 {
        self.scheduler.noteDepth()
        return self.scheduler.now
    }
    /// Seconds since 1970.
    package var wallNow: Int64 { self.scheduler.wallNow }

    /// Calls `work` at its virtual time, unless the process has died.
    @discardableResult
    package func schedule(after delay: Int64, _ work: @escaping @Sendable () -> Void) -> any Timer {
        let scheduled =
            self.process.isDisposing
            ? nil : self.scheduler.schedule(after: delay, in: self.process, isTimer: true, work)
        return SimulatedTimer(scheduler: self.scheduler, scheduled: scheduled)
    }
}

private struct SimulatedTimer: Timer {
    let scheduler: Scheduler
    let scheduled: Scheduled?

    func cancel() { if let scheduled { self.scheduler.cancel(scheduled) } }
}

/// The threads of a process that may block: work begins after a random time, so that the order differs between worlds.
package struct SimulatedPool: BlockingPool {
    let scheduler: Scheduler
    let process: SimulatedProcess

    /// Creates the pool of a process.
    package init(_ scheduler: Scheduler, _ process: SimulatedProcess) {
        self.scheduler = scheduler
        self.process = process
    }

    /// Runs `work` within three milliseconds.
    package func run(_ work: @escaping @Sendable () -> Void) {
        if self.process.isDisposing { return work() }
        let delay = Int64.random(in: 0...3_000_000, using: &self.scheduler.random)
        self.scheduler.schedule(after: delay, in: self.process, work)
    }
}
