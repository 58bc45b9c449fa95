// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Concurrency

@Suite("Lines of calls")
struct CallLineTests {
    /// A line whose methods can be called in expectations.
    private final class Line {
        var line = CallLine<Int>()
        var isIdle: Bool { self.line.isIdle }

        @discardableResult
        func append(_ call: Int) -> Bool { self.line.append(call) }
        func enter(_ thread: UInt, isScheduled: Bool) -> Bool { self.line.enter(thread, isScheduled: isScheduled) }
        func next(_ thread: UInt) -> Int? { self.line.next(thread) }
    }

    @Test("A visit is scheduled for the first call, and makes all calls in order")
    func order() {
        let line = Line()
        #expect(line.append(1) && !line.append(2) && !line.isIdle)
        #expect(line.enter(7, isScheduled: true))
        #expect(line.next(7) == 1)
        #expect(!line.append(3))
        #expect(line.next(7) == 2 && line.next(7) == 3 && line.next(7) == nil)
        #expect(line.isIdle && line.append(4))
    }

    @Test("A call that waits makes the later calls on its own thread, and no other thread makes any")
    func nested() {
        let line = Line()
        for call in 1...3 { line.append(call) }
        #expect(line.enter(7, isScheduled: true) && line.next(7) == 1 && line.line.isCaller(7))
        #expect(!line.enter(8, isScheduled: false))
        #expect(line.enter(7, isScheduled: false) && line.next(7) == 2 && line.next(7) == 3 && line.next(7) == nil)
        #expect(line.line.isCaller(7) && !line.isIdle)
        #expect(line.next(7) == nil && line.isIdle)
    }

    @Test("A visit that comes after another thread has made the calls finds none")
    func overtaken() {
        let line = Line()
        #expect(line.append(1))
        #expect(line.enter(8, isScheduled: false) && line.next(8) == 1 && line.next(8) == nil)
        // The visit is still scheduled: no second one is.
        #expect(!line.append(2))
        #expect(line.enter(7, isScheduled: true) && line.next(7) == 2 && line.next(7) == nil)
    }

    @Test("Random threads make each call once, in order, one thread at a time", arguments: 0..<200)
    func randomWalk(_ seed: UInt64) {
        var random = Steps(state: seed)
        var line = CallLine<Int>()
        var (added, made, scheduled) = (0, 0, 0)
        /// The threads inside, one entry for each time that one entered.
        var inside: [UInt] = []
        for _ in 0..<400 {
            switch random.next(5) {
            case 0, 1:
                added += 1
                if line.append(added) { scheduled += 1 }
            case 2 where scheduled > 0:
                scheduled -= 1
                let thread = UInt(random.next(3))
                if line.enter(thread, isScheduled: true) { inside.append(thread) }
            case 3:
                let thread = UInt(random.next(3))
                if line.enter(thread, isScheduled: false) { inside.append(thread) }
            default:
                guard let thread = inside.last else { continue }
                if let call = line.next(thread) {
                    made += 1
                    #expect(call == made)
                } else {
                    inside.removeLast()
                }
            }
            #expect(Set(inside).count <= 1 && scheduled <= 1)
            #expect(made == added || scheduled > 0 || !inside.isEmpty, "a call waits and no thread will make it")
            #expect(line.isIdle == (made == added && inside.isEmpty))
        }
    }

    private struct Steps {
        var state: UInt64

        mutating func next(_ count: UInt64) -> UInt64 {
            self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (self.state >> 33) % count
        }
    }
}
