// SPDX-License-Identifier: Apache-2.0

/// The error of the clock of a world's machine, and the times at which it is set.
///
/// Only the machine has this clock: its processes and its file system. Servers have the true time, and timers count the
/// time that passes, whatever the clock shows.
struct MachineClock {
    /// A change of the clock.
    struct Step {
        /// Nanoseconds since the world began.
        var time: Int64
        /// Nanoseconds by which the clock is set forward; negative for back.
        var change: Int64
    }

    /// The changes, those at the beginning included.
    private(set) var steps: [Step] = []

    /// Draws how wrong the clock is.
    ///
    /// - Parameters:
    ///   - recipe: The recipe of the world.
    ///   - span: Nanoseconds within which the clock is set.
    init(_ recipe: inout Recipe, within span: Int64 = 20_000_000_000) {
        let lengths: [Int64] = [1, 5, 61, 3600, 3601, 86_400, 40_000_000, 1_500_000_000]
        for place in 0..<3 {
            let length = recipe.pick(lengths)
            let isBack = recipe.draw(0...1) == 0
            let time = place == 0 ? 0 : recipe.draw(0...span)
            let text = "\(length) s \(isBack ? "back" : "ahead")"
            let isTaken =
                place == 0
                ? recipe.has(oneIn: 15, "the clock of the machine is \(text)")
                : recipe.has(oneIn: 20, "the clock of the machine is set \(text) after \(time / 1_000_000) ms")
            if isTaken { self.steps.append(Step(time: time, change: (isBack ? -length : length) * 1_000_000_000)) }
        }
    }

    /// Sets the clock of a world, now and later.
    func start(_ scheduler: Scheduler, _ trace: Trace) {
        for step in self.steps {
            guard step.time > 0 else {
                scheduler.setClock(forward: step.change)
                continue
            }
            scheduler.schedule(after: step.time) {
                trace.add("world", "the clock of the machine is set by \(step.change / 1_000_000_000) s")
                scheduler.setClock(forward: step.change)
            }
        }
    }
}
