// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("When the wake command is started")
struct WakeMachineTests {
    private static let limits = {
        var limits = WakeMachine.Limits()
        (limits.gathering, limits.firstPause, limits.longestPause, limits.starts) = (30, 10, 35, 4)
        return limits
    }()

    private static func due(_ machine: WakeMachine, _ now: Int64, complete: Bool = true, held: Bool = false) -> Bool {
        machine.isDue(at: now, isHeld: held, isComplete: complete)
    }

    @Test("The program is started when all transfers have ended, or some time after the first end")
    func complete() {
        var machine = WakeMachine(limits: Self.limits)
        #expect(!Self.due(machine, 1000) && machine.standing == .idle)
        machine.endStored(3, at: 1000)
        machine.endStored(5, at: 1020)
        #expect(Self.due(machine, 1020))
        #expect(!Self.due(machine, 1029, complete: false))
        #expect(Self.due(machine, 1030, complete: false))
        #expect(!Self.due(machine, 1030, held: true))
    }

    @Test("Never a second time while it runs; events in between start the next batch after its end")
    func once() {
        var machine = WakeMachine(limits: Self.limits)
        machine.endStored(1, at: 0)
        machine.started()
        machine.endStored(2, at: 5)
        machine.handled(upTo: 1)
        #expect(!Self.due(machine, 500) && machine.standing == .running)
        machine.exited(at: 500)
        #expect(Self.due(machine, 500))
        machine.started()
        machine.handled(upTo: 2)
        machine.exited(at: 600)
        #expect(!Self.due(machine, 10_000) && machine.standing == .idle)
    }

    @Test("After a program that handled nothing there is a pause, which doubles; then only another end starts it")
    func failing() {
        var machine = WakeMachine(limits: Self.limits)
        machine.endStored(1, at: 0)
        var now: Int64 = 0
        for pause in [10, 20, 35] as [Int64] {
            machine.started()
            machine.exited(at: now)
            #expect(machine.standing == .pausing(until: now + pause))
            #expect(!Self.due(machine, now + pause - 1))
            now += pause
            #expect(Self.due(machine, now))
        }
        machine.startFailed(at: now)
        #expect(machine.standing == .exhausted && !Self.due(machine, now + 1_000_000))
        machine.endStored(2, at: now + 5)
        #expect(!Self.due(machine, now + 9))
        #expect(Self.due(machine, now + 10))
    }

    @Test("Events handled after the command's own end count: it may only have asked another program to start")
    func launcher() {
        var machine = WakeMachine(limits: Self.limits)
        machine.endStored(1, at: 0)
        machine.started()
        machine.exited(at: 1)
        machine.handled(upTo: 1)
        machine.endStored(2, at: 2)
        #expect(Self.due(machine, 2))
    }

    /// The complete history, from which each decision is recomputed.
    private struct History {
        enum Event {
            case end(Int64)
            case handled(Int64)
            case started
            case startFailed
            case exited
        }

        var events: [(at: Int64, event: Event)] = []

        /// Whether the program is running after the first `count` events.
        func isRunning(after count: Int) -> Bool {
            for (_, event) in self.events[..<count].reversed() {
                if case .started = event { return true }
                if case .exited = event { return false }
            }
            return false
        }

        /// The numbers of the unhandled ends after the first `count` events.
        func unhandled(after count: Int) -> [Int64] {
            var (ends, handled): ([Int64], Int64) = ([], 0)
            for (_, event) in self.events[..<count] {
                if case .end(let number) = event { ends.append(number) }
                if case .handled(let number) = event { handled = max(handled, number) }
            }
            return ends.filter { $0 > handled }
        }

        /// The time from which on something has been unhandled.
        var since: Int64? {
            guard !self.unhandled(after: self.events.count).isEmpty else { return nil }
            var count = self.events.count
            while !self.unhandled(after: count - 1).isEmpty { count -= 1 }
            return self.events[count - 1].at
        }

        /// The times of the failed starts since the last event that was handled.
        var failures: [Int64] {
            var failures: [Int64] = []
            var (handled, progressed): (Int64, Bool) = (0, false)
            for (index, (at, event)) in self.events.enumerated() {
                switch event {
                case .end: failures = failures.suffix(1)
                case .handled(let number) where number > handled:
                    handled = number
                    failures = []
                    progressed = true
                case .handled: break
                case .started: progressed = false
                case .startFailed: failures.append(at)
                case .exited: if self.isRunning(after: index), !progressed { failures.append(at) }
                }
            }
            return failures
        }

        func isDue(at now: Int64, isHeld: Bool, isComplete: Bool) -> Bool {
            guard !isHeld, !self.isRunning(after: self.events.count), let since = self.since else { return false }
            let failures = self.failures
            guard failures.count < 4 else { return false }
            if let last = failures.last, now < last + [10, 20, 35][failures.count - 1] { return false }
            return isComplete || now >= since + 30
        }
    }

    @Test("It decides as a model that derives everything from the whole history", arguments: 0..<40 as Range<UInt64>)
    func walk(_ seed: UInt64) {
        var random = WalkRandom(seed)
        var machine = WakeMachine(limits: Self.limits)
        var history = History()
        var (now, number): (Int64, Int64) = (0, 0)
        var starts = 0
        for _ in 0..<150 {
            now += Int64.random(in: 0...12, using: &random)
            let isHeld = Int.random(in: 0..<4, using: &random) == 0
            let isComplete = Bool.random(using: &random)
            let isDue = machine.isDue(at: now, isHeld: isHeld, isComplete: isComplete)
            #expect(isDue == history.isDue(at: now, isHeld: isHeld, isComplete: isComplete))
            if isDue {
                starts += 1
                #expect(!history.isRunning(after: history.events.count))
                if Int.random(in: 0..<5, using: &random) == 0 {
                    machine.startFailed(at: now)
                    history.events.append((now, .startFailed))
                } else {
                    machine.started()
                    history.events.append((now, .started))
                }
            }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                // The numbers between are those of other events.
                number += Int64.random(in: 1...3, using: &random)
                machine.endStored(number, at: now)
                history.events.append((now, .end(number)))
            case 3 where number > 0:
                let upTo = Int64.random(in: 0...number, using: &random)
                machine.handled(upTo: upTo)
                history.events.append((now, .handled(upTo)))
            case 4..<6:
                machine.exited(at: now)
                history.events.append((now, .exited))
            default: break
            }
        }
        #expect(starts > 0)
    }
}
