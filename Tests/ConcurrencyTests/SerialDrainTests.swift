// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing

@testable import Concurrency

@Suite("Serial drains", .timeLimit(.minutes(1)))
struct SerialDrainTests {
    @Test("One caller claims the queue until it finds it empty, and gets everything in order")
    func queue() {
        var queue = DrainQueue<Int>()
        #expect(!queue.claim() && queue.isEmpty)
        queue.append(1)
        let first = queue.claim()
        let second = queue.claim()
        #expect(first && !second && queue.isClaimed)
        queue.append(contentsOf: [2, 3])
        #expect(queue.next() == [1, 2, 3])
        queue.append(4)
        let third = queue.claim()
        #expect(!third)
        #expect(queue.next() == [4])
        #expect(queue.next() == nil && !queue.isClaimed)
        queue.append(5)
        let fourth = queue.claim()
        #expect(fourth)
    }

    @Test("The list of an emptied batch is used for the elements that follow, unless a burst has made it long")
    func reuse() {
        var queue = DrainQueue<Int>()
        var batch: [Int] = []
        func drain() -> [[Int]] {
            var batches: [[Int]] = []
            while queue.next(into: &batch) {
                batches.append(batch)
                while batch.popLast() != nil {}
            }
            return batches
        }
        queue.append(contentsOf: [1, 2])
        let claimed = queue.claim()
        #expect(claimed && drain() == [[1, 2]] && !queue.isClaimed)
        #expect(queue.elements.capacity > 0)
        queue.append(3)
        #expect(drain() == [[3]])
        queue.append(contentsOf: Array(0..<10_000))
        #expect(drain() == [Array(0..<10_000)])
        #expect(queue.elements.capacity < 10_000)
    }

    @Test("Elements that the handler appends are handled after those that wait, without nested calls")
    func reentrant() {
        let drain = SerialDrain<Int>()
        let handled = Mutex<[Int]>([])
        let depth = Mutex(0)
        #expect(drain.append(1))
        drain.run { number in
            depth.withLock {
                $0 += 1
                #expect($0 == 1)
            }
            handled.withLock { $0.append(number) }
            if number < 4 {
                #expect(!drain.append(number * 2) && !drain.append(number * 2 + 1))
                #expect(drain.isActive)
            }
            depth.withLock { $0 -= 1 }
        }
        #expect(handled.withLock { $0 } == [1, 2, 3, 4, 5, 6, 7] && !drain.isActive)
    }

    private final class Handled: Sendable {
        let numbers = Mutex<[[Int]]>(Array(repeating: [], count: 8))
        let isHandling = Atomic(false)

        func add(_ element: (thread: Int, number: Int)) {
            let wasHandling = self.isHandling.exchange(true, ordering: .acquiringAndReleasing)
            #expect(!wasHandling)
            self.numbers.withLock { $0[element.thread].append(element.number) }
            self.isHandling.store(false, ordering: .releasing)
        }
    }

    @Test("Elements of many threads are handled once, one at a time, and in the order of each thread")
    func threads() async {
        let drain = SerialDrain<(thread: Int, number: Int)>()
        let handled = Handled()
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<2000 where drain.append((thread, number)) {
                        drain.run { handled.add($0) }
                    }
                }
            }
        }
        for numbers in handled.numbers.withLock({ $0 }) { #expect(numbers == Array(0..<2000)) }
        #expect(!drain.isActive)
    }

    @Test("A caller that takes batches is called again after the empty one")
    func batches() {
        let drain = SerialDrain<Int>()
        #expect(drain.append(1) && !drain.append(2))
        #expect(drain.takeBatch() == [1, 2])
        #expect(!drain.append(3))
        #expect(drain.takeBatch() == [3])
        #expect(drain.takeBatch() == [] && !drain.isActive)
        #expect(drain.append(4))
    }

    @Test("An element is released when its handler returns")
    func released() {
        final class Tracked: Sendable {}
        let drain = SerialDrain<Tracked>()
        weak var first: Tracked?
        do {
            let element = Tracked()
            first = element
            #expect(drain.append(element))
        }
        _ = drain.append(Tracked())
        var count = 0
        drain.run { _ in
            count += 1
            #expect((first == nil) == (count == 2))
        }
        #expect(count == 2)
    }
}
