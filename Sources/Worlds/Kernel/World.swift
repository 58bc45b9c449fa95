// SPDX-License-Identifier: Apache-2.0
internal import Platform

/// A kind of world: a part of Martlet, and what surrounds it.
package protocol World: SendableMetatype {
    /// The kind's name in reports and on the command line.
    static var kind: String { get }

    /// Lives through the world of a recipe, and judges it.
    ///
    /// - Parameters:
    ///   - recipe: The recipe; its ingredients are known on return.
    ///   - trace: What happens is noted here.
    /// - Returns: What must not have happened; empty if all promises were kept.
    static func run(_ recipe: inout Recipe, _ trace: Trace) -> WorldEnd
}

/// The life of a world on a scheduler and a disk.
protocol WorldLife {
    var scheduler: Scheduler { get }
    var disk: SimulatedDisk { get }

    /// Lives through the world.
    func live() -> WorldEnd
}

extension World {
    /// Lives through a world with its disk, then releases its objects.
    static func end(of life: some WorldLife) -> WorldEnd {
        // Otherwise the scheduler and the disk keep each other, and a run of many worlds all their files.
        defer { life.scheduler.end() }
        var end = FileCalls.simulating(life.disk) { life.live() }
        end.deepest = life.scheduler.deepest
        if end.deepest > life.scheduler.mostStack {
            end.fail("a step has used \(end.deepest) bytes of the stack: something calls itself for each item")
        }
        return end
    }
}

package struct WorldEnd {
    /// Each broken promise, in a sentence; empty if all were kept.
    package var broken: [String] = []
    /// Counts of events, for the table of a run: they show which cases the worlds reach.
    package var counts: [String: Int] = [:]

    /// The bytes of the stack that a step has used most.
    package var deepest = 0

    /// Creates the end of a world in which nothing happened.
    package init() {}

    /// Counts something that happened.
    package mutating func count(_ what: String, _ times: Int = 1) { self.counts[what, default: 0] += times }

    /// Notes a broken promise.
    package mutating func fail(_ promise: String) { self.broken.append(promise) }
}

/// The story of a world: who did what, and when.
package final class Trace {
    /// One thing that happened.
    package struct Line: Equatable {
        /// Nanoseconds of virtual time since the world began.
        package var time: Int64
        /// Who did it: `user`, `server a`, `process 1`, `disk`.
        package var who: String
        /// The event.
        package var what: String
    }

    /// Whether lines are kept; without, a world runs faster.
    package let isKept: Bool
    /// The lines, in order.
    package private(set) var lines: [Line] = []
    /// The virtual time, set by the world.
    package var time: () -> Int64 = { 0 }

    /// Creates an empty story.
    package init(isKept: Bool) { self.isKept = isKept }

    /// Adds a line.
    package func add(_ who: @autoclosure () -> String, _ what: @autoclosure () -> String) {
        guard self.isKept else { return }
        self.lines.append(Line(time: self.time(), who: who(), what: what()))
    }
}
