// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("The life of a transfer in the queue")
struct TransferLifeTests {
    /// A machine with transfer 1 in a state, with a free place and a free connection.
    private func stage(in state: String) -> MachineStage {
        var stage = MachineStage(starts: state != "waiting")
        stage.add(retries: 5)
        stage.starts()
        switch state {
        case "paused":
            _ = stage.machine.pause(TransferID(1), now: stage.now)
            stage.end(1, .paused)
        case "retrying": stage.end(1, MachineStage.late)
        case "ended": stage.end(1)
        default: break
        }
        return stage
    }

    private static let retrying = TransferState.retrying(at: MachineStage.firstDelay)

    @Test("commands in every state")
    func commands() {
        typealias Row = (state: String, command: String, verdict: EngineMachine.Verdict, after: TransferState?)
        let table: [Row] = [
            ("waiting", "pause", .paused, .paused),
            ("waiting", "resume", .unchanged, .waiting),
            ("waiting", "cancel", .cancelled(keeping: false), nil),
            ("running", "pause", .interrupt, .running),
            ("running", "resume", .unchanged, .running),
            ("running", "cancel", .interrupt, .running),
            ("paused", "pause", .unchanged, .paused),
            ("paused", "resume", .waiting, .waiting),
            ("paused", "cancel", .cancelled(keeping: false), nil),
            ("retrying", "pause", .paused, .paused),
            ("retrying", "resume", .unchanged, Self.retrying),
            ("retrying", "cancel", .cancelled(keeping: false), nil),
            ("ended", "pause", .unchanged, nil),
            ("ended", "resume", .unchanged, nil),
            ("ended", "cancel", .unchanged, nil),
        ]
        for row in table {
            var stage = self.stage(in: row.state)
            let id = TransferID(1)
            let verdict =
                switch row.command {
                case "pause": stage.machine.pause(id, now: stage.now)
                case "resume": stage.machine.resume(id)
                default: stage.machine.cancel(id, keeping: false)
                }
            #expect(verdict == row.verdict && stage.state(1) == row.after, "\(row.state), \(row.command)")
            #expect(stage.machine.isIdle == (row.after == nil))
        }
    }

    @Test("results of a run, with the commands that came while it ran")
    func results() {
        typealias Row = (
            commands: String, result: EngineMachine.RunResult, verdict: EngineMachine.Verdict, after: TransferState?
        )
        let retry = EngineMachine.Verdict.retrying(attempt: 1, delay: MachineStage.firstDelay)
        let table: [Row] = [
            ("", .finished(isSkipped: false), .finished, nil),
            ("", .finished(isSkipped: true), .finished, nil),
            ("", .failed, .failed, nil),
            ("", MachineStage.late, retry, Self.retrying),
            ("", .stopped, .waiting, .waiting),
            ("", .cancelled(keeping: false), .cancelled(keeping: false), nil),
            ("p", .paused, .paused, .paused),
            ("p", .finished(isSkipped: false), .finished, nil),
            ("p", .failed, .failed, nil),
            ("p", MachineStage.late, .paused, .paused),
            ("p", .stopped, .paused, .paused),
            ("pr", .paused, .waiting, .waiting),
            ("pr", MachineStage.late, retry, Self.retrying),
            ("pr", .stopped, .waiting, .waiting),
            ("prp", .paused, .paused, .paused),
            ("r", .paused, .paused, .paused),
            ("c", .cancelled(keeping: false), .cancelled(keeping: false), nil),
            ("c", .finished(isSkipped: false), .finished, nil),
            ("c", .failed, .failed, nil),
            ("c", MachineStage.late, .cancelled(keeping: false), nil),
            ("c", .paused, .cancelled(keeping: false), nil),
            ("c", .stopped, .cancelled(keeping: false), nil),
            ("k", MachineStage.late, .cancelled(keeping: true), nil),
            ("cp", .paused, .cancelled(keeping: false), nil),
            ("cr", .paused, .cancelled(keeping: false), nil),
            ("pc", .paused, .cancelled(keeping: false), nil),
        ]
        for row in table {
            var stage = self.stage(in: "running")
            let id = TransferID(1)
            for command in row.commands {
                switch command {
                case "p": _ = stage.machine.pause(id, now: stage.now)
                case "r": _ = stage.machine.resume(id)
                default: _ = stage.machine.cancel(id, keeping: command == "k")
                }
            }
            let verdict = stage.end(1, row.result)
            #expect(verdict == row.verdict && stage.state(1) == row.after, "\(row.commands), \(row.result)")
            #expect(verdict.isEnd == (row.after == nil))
        }
    }

    @Test("a command does not outlive the run that it was given to")
    func spentWish() {
        var stage = self.stage(in: "running")
        _ = stage.machine.pause(TransferID(1), now: stage.now)
        stage.end(1, MachineStage.late)
        _ = stage.machine.resume(TransferID(1))
        stage.starts()
        let verdict = stage.end(1, MachineStage.late)
        #expect(verdict == .retrying(attempt: 2, delay: MachineStage.firstDelay) || verdict.isEnd == false)
        #expect(stage.machine.retryingCount == 1)
    }

    @Test("every end is counted once, with the bytes of its runs")
    func totals() {
        var stage = MachineStage()
        for _ in 1...5 { stage.add() }
        stage.starts()
        var tally = EngineMachine.Tally()
        tally.received = 10
        tally.sent = 3
        let results: [EngineMachine.RunResult] = [
            .finished(isSkipped: false), .finished(isSkipped: true), .failed, MachineStage.late,
            .cancelled(keeping: true),
        ]
        for (index, result) in results.enumerated() {
            stage.release(of: UInt64(index + 1))
            _ = stage.machine.runEnded(TransferID(UInt64(index + 1)), result, tally, now: 0)
        }
        let totals = stage.machine.totals
        #expect(totals.finished == 1 && totals.skipped == 1 && totals.failed == 2 && totals.cancelled == 1)
        #expect(totals.received == 50 && totals.sent == 15 && stage.machine.isIdle)
    }

    @Test("a run knows the counts of the earlier ones")
    func earlier() {
        var stage = self.stage(in: "running")
        var tally = EngineMachine.Tally()
        tally.received = 10
        tally.duration = 7
        stage.release(of: 1)
        _ = stage.machine.runEnded(TransferID(1), MachineStage.late, tally, now: 0)
        let earlier = stage.machine.earlierRuns(of: TransferID(1))
        #expect(earlier.received == 10 && earlier.sent == 0)
        #expect(earlier.activeTime == 7 + MachineStage.firstDelay)
    }

    // MARK: Retries

    @Test("the attempts and the delays of a transfer without progress")
    func delays() {
        var stage = MachineStage()
        stage.add(retries: 2) { $0.retryWait = 60_000_000 }
        var verdicts: [EngineMachine.Verdict] = []
        for _ in 0..<3 {
            stage.starts()
            let failure = EngineMachine.Failure(jitter: 1)
            verdicts.append(stage.end(1, .retry(failure)))
            stage.reach(stage.now + 30_000_000_000)
        }
        let expected: [EngineMachine.Verdict] = [
            .retrying(attempt: 1, delay: 500_000_000), .retrying(attempt: 2, delay: 1_000_000_000),
            .refused(.noneLeft(attempts: 3)),
        ]
        #expect(verdicts == expected)
    }

    @Test("the time that the caller and the server ask for is the least; kept bytes refill the retries")
    func waits() {
        var stage = MachineStage()
        stage.add(retries: 1) { $0.retryWait = 60_000_000 }
        stage.starts()
        let short = stage.end(1, MachineStage.late)
        stage.reach(stage.now + 60_000_000)
        stage.starts()
        let asked = EngineMachine.RunResult.retry(.init(isThrottled: true, retryAfter: 7, jitter: 0))
        let long = stage.end(1, asked, kept: 1000)
        #expect(short == .retrying(attempt: 1, delay: 60_000_000))
        #expect(long == .retrying(attempt: 2, delay: 7_000_000_000))
    }

    @Test("a transfer whose time would be over before its next attempt fails at once")
    func outOfTime() {
        var stage = MachineStage()
        stage.add(retries: 9) { $0.totalTimeout = 5_000_000_000 }
        stage.starts()
        let asked = EngineMachine.RunResult.retry(.init(isThrottled: true, retryAfter: 3, jitter: 0))
        let first = stage.end(1, asked, duration: 1_000_000_000)
        stage.reach(3_000_000_000)
        stage.starts()
        let second = stage.end(1, MachineStage.late, duration: 1_000_000_000)
        #expect(first == .retrying(attempt: 1, delay: 3_000_000_000) && second == .refused(.outOfTime))
    }

    @Test("no transfer of a host that is away fails because those of others did")
    func away() {
        var stage = MachineStage(limit: 1)
        for _ in 1...50 { stage.add(retries: 1, patience: 3_600_000_000_000) }
        stage.starts()
        stage.end(1, MachineStage.refused)
        for _ in 1...20 {
            guard let time = stage.wakeUp else { break }
            stage.reach(time)
            for id in stage.starts() {
                let verdict = stage.end(id, MachineStage.refused)
                #expect(!verdict.isEnd)
            }
        }
        #expect(stage.machine.waitingCount == 50)
    }

    @Test("one timer is set for the earliest attempt, and another only for an earlier one")
    func timers() {
        var stage = MachineStage()
        for _ in 1...3 { stage.add(retries: 3) }
        stage.starts()
        func asked(_ seconds: Int64) -> EngineMachine.RunResult {
            .retry(.init(retryAfter: seconds, jitter: 0))
        }
        var timers: [EngineMachine.Step] = []
        func wakes() -> [EngineMachine.Step] {
            var wakes: [EngineMachine.Step] = []
            while true {
                let step = stage.machine.next(now: stage.now)
                if case .wake = step { wakes.append(step) }
                if step == .none { return wakes }
            }
        }
        for (id, seconds) in [(1, 20), (2, 30), (3, 10)] as [(UInt64, Int64)] {
            stage.end(id, asked(seconds))
            timers += wakes()
        }
        #expect(timers == [.wake(at: 20_000_000_000), .wake(at: 10_000_000_000)])
        stage.reach(10_000_000_000)
        let none = wakes()
        #expect(none.isEmpty && stage.machine.retryingCount == 2)
        stage.reach(20_000_000_000)
        let last = wakes()
        #expect(last == [.wake(at: 30_000_000_000)])
    }

    @Test(
        "a host's transfers start at the end of its hold though those that failed are cancelled",
        arguments: [1, 200]
    )
    func holdEnds(count: Int) {
        var stage = MachineStage(limit: count, perHost: count)
        for _ in 1...count { stage.add(retries: 200, patience: 3_600_000_000_000) }
        stage.starts()
        for id in 1...UInt64(count) { stage.end(id, MachineStage.refused) }
        for id in 1...UInt64(count) { _ = stage.machine.cancel(TransferID(id), keeping: false) }
        let last = stage.add()
        var wakes: [Int64] = []
        while true {
            let step = stage.machine.next(now: 0)
            if case .wake(let time) = step { wakes.append(time) }
            if step == .none { break }
        }
        #expect(wakes == [1_000_000_000])
        stage.reach(1_000_000_000)
        let next = stage.starts()
        #expect(next == [last.rawValue] && stage.machine.storage.due == 0)
    }

    // MARK: Durability in groups

    @Test("complete files are synced in groups, and count as running until then")
    func groups() {
        var stage = MachineStage()
        for _ in 1...4 { stage.add(retries: 1, isDurable: true) }
        stage.starts()
        let first = stage.end(1)
        let sync = stage.steps()
        #expect(first == .unsynced && sync == [.sync])
        let second = stage.end(2)
        let skipped = stage.end(3, .finished(isSkipped: true))
        let nothing = stage.steps()
        #expect(second == .unsynced && skipped == .finished && nothing.isEmpty)
        #expect(stage.machine.runningCount == 3 && stage.machine.runCount == 1)
        // The run is over: commands come too late.
        #expect(stage.machine.pause(TransferID(1), now: stage.now) == .unchanged)
        #expect(stage.machine.cancel(TransferID(1), keeping: false) == .unchanged)
        let group = stage.machine.takeGroup()
        #expect(group == 2)
        let one = stage.machine.synced(TransferID(1))
        let two = stage.machine.syncFailed(TransferID(2), .init(jitter: 0), now: 0)
        #expect(one == .finished && two == .retrying(attempt: 1, delay: MachineStage.firstDelay))
        let third = stage.end(4)
        let none = stage.steps()
        let next = stage.machine.takeGroup()
        let failed = stage.machine.syncFailed(TransferID(4), nil, now: 0)
        let last = stage.machine.takeGroup()
        #expect(third == .unsynced && none.isEmpty && next == 1 && failed == .failed && last == 0)
        #expect(stage.machine.gathering(after: 1) == nil && stage.machine.gathering(after: 100) != nil)
    }

    @Test("nothing starts while too many files wait to be synced")
    func unsyncedLimit() {
        var stage = MachineStage(limit: 1)
        var started = 0
        for _ in 1...1000 { stage.add(isDurable: true) }
        while let id = stage.start() {
            started += 1
            stage.end(id)
        }
        #expect(started == 512)
        let group = stage.machine.takeGroup()
        let next = stage.start()
        #expect(group == 512 && next == 513)
    }

    // MARK: Waits and names

    @Test("callers that wait are resumed when their condition holds")
    func conditions() {
        var stage = MachineStage(limit: 1)
        for _ in 1...3 { stage.add() }
        stage.starts()
        let fed = stage.machine.wait(for: .waiting(atMost: 1))
        let drained = stage.machine.wait(for: .drained)
        var resumed = [stage.steps()]
        stage.end(1)
        resumed.append(stage.steps())
        #expect(resumed == [[], [.start(TransferID(2), lane: 0), .resume(fed)]])
        stage.machine.terminationStarted()
        stage.machine.close()
        for id in [2, 3] as [UInt64] {
            stage.end(id)
            stage.starts()
        }
        let early = stage.steps()
        stage.machine.terminationEnded()
        let late = stage.steps()
        #expect(stage.machine.isIdle && early.isEmpty && late == [.resume(drained)])
        let again = stage.machine.wait(for: .drained)
        let atOnce = stage.steps()
        #expect(atOnce == [.resume(again)])
    }

    @Test("a stopped queue resumes all once nothing runs")
    func stopped() {
        var stage = MachineStage(limit: 1)
        for _ in 1...3 { stage.add() }
        stage.starts()
        let waits = [WaitCondition.stopped, .drained, .waiting(atMost: 0)].map { stage.machine.wait(for: $0) }
        stage.machine.stop()
        let feeder = stage.steps()
        let verdict = stage.end(1, .stopped)
        let rest = stage.steps()
        #expect(verdict == .waiting && feeder == [.resume(waits[2])])
        #expect(rest == [.resume(waits[0]), .resume(waits[1])])
    }

    @Test("names are reserved once, numbered if they are taken, and free again when released")
    func names() {
        var machine = EngineMachine(limit: 1)
        let paths = (0..<3).map { _ in machine.takeName(directory: "d", base: "f.txt").path }
        let next = machine.takeNextName(directory: "d", base: "f.txt").path
        #expect(Set(paths + [next]).count == 4 && paths[0] == "d/f.txt")
        #expect(!machine.isNameFree(FileTarget(directory: "d", name: "f.txt")))
        machine.releaseName(FileTarget(directory: "d", name: "f.txt"))
        let again = machine.takeName(directory: "d", base: "f.txt").path
        #expect(again == "d/f.txt")
    }

    @Test("a transfer whose file another process is downloading has no place and no timer, and uses up no retry")
    func awaitsFile() {
        var failure = EngineMachine.Failure(message: "in use", jitter: 0)
        failure.awaitsFile = true
        var stage = MachineStage(limit: 1)
        let id = stage.add(retries: 0)
        stage.add()
        #expect(stage.starts() == [1])
        #expect(stage.end(1, .retry(failure)) == .held(attempt: 1, delay: EngineMachine.lookInterval))
        #expect(stage.machine.awaitsFile(id, since: 1) && stage.machine.heldCounts(at: stage.now).all == 1)
        #expect(stage.starts() == [2])
        stage.end(2)
        #expect(stage.starts().isEmpty && stage.wakeUp == nil)
        stage.machine.fileReleased(id, since: 1)
        #expect(!stage.machine.awaitsFile(id, since: 1) && stage.machine.heldCounts(at: stage.now).all == 0)
        #expect(stage.starts() == [1])
        // Again in use: a look that was scheduled for the first attempt has no effect.
        stage.end(1, .retry(failure))
        stage.machine.fileReleased(id, since: 1)
        #expect(stage.machine.awaitsFile(id, since: 2) && stage.starts().isEmpty)
        // It is paused, and the release comes too late.
        #expect(stage.machine.pause(id, now: stage.now) == .paused)
        stage.machine.fileReleased(id, since: 2)
        #expect(stage.state(1) == .paused && stage.starts().isEmpty)
        #expect(stage.machine.resume(id) == .waiting)
        #expect(stage.starts() == [1] && stage.end(1) == .finished)
        #expect(stage.machine.isIdle)
    }
}
