// SPDX-License-Identifier: Apache-2.0
import Testing
import Worlds

@Suite("The scheduler of a world")
struct SchedulerTests {
    @Test("does work in the order of its time, then of its scheduling")
    func order() {
        let scheduler = Scheduler(seed: 1)
        var done: [Int] = []
        for (index, delay) in [30, 10, 20, 10, 0].enumerated() {
            scheduler.schedule(after: Int64(delay)) { done.append(index) }
        }
        while scheduler.step() {}
        #expect(done == [4, 1, 3, 2, 0])
        #expect(scheduler.now == 30)
    }

    @Test("neither cancelled work nor that of a dead process is done")
    func dropped() {
        let scheduler = Scheduler(seed: 1)
        let process = SimulatedProcess(number: 1)
        var done: [Int] = []
        let first = scheduler.schedule(after: 1) { done.append(1) }
        scheduler.schedule(after: 2, in: process) { done.append(2) }
        scheduler.schedule(after: 3) { done.append(3) }
        scheduler.cancel(first)
        process.kill()
        while scheduler.step() {}
        #expect(done == [3])
    }

    @Test("a cancellation after the work was done cancels no other work")
    func cancelledLate() {
        let scheduler = Scheduler(seed: 1)
        var done: [Int] = []
        let first = scheduler.schedule(after: 1) { done.append(1) }
        #expect(scheduler.step())
        scheduler.schedule(after: 1) { done.append(2) }
        scheduler.cancel(first)
        while scheduler.step() {}
        #expect(done == [1, 2])
    }

    @Test("the work of a process is taken in order, without its timers and what was cancelled")
    func taken() {
        let scheduler = Scheduler(seed: 1)
        let process = SimulatedProcess(number: 1)
        var done: [Int] = []
        scheduler.schedule(after: 3, in: process) { done.append(3) }
        scheduler.schedule(after: 1, in: process) { done.append(1) }
        scheduler.schedule(after: 2, in: process, isTimer: true) { done.append(2) }
        let cancelled = scheduler.schedule(after: 0, in: process) { done.append(0) }
        scheduler.schedule(after: 5) { done.append(5) }
        scheduler.cancel(cancelled)
        process.dispose(scheduler) {}
        #expect(done == [1, 3])
        while scheduler.step() {}
        #expect(done == [1, 3, 5])
    }
}
