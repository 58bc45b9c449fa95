// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Full and read-only file systems")
struct FileSystemHoldTests {
    private static let second: Int64 = 1_000_000_000

    private static func full(_ key: UInt64 = 1) -> EngineMachine.RunResult {
        var failure = EngineMachine.Failure(message: "no space left", jitter: 0)
        failure.fileSystem = EngineMachine.FileSystem(key: key, directory: "/disk\(key)", code: .noSpace)
        return .retry(failure)
    }

    @Test("transfers wait without using up retries, few are tried, and all follow when there is room")
    func wait() {
        var stage = MachineStage(limit: 8)
        for _ in 0..<1000 { stage.add(patience: 300 * Self.second) }
        var (running, tried) = (Set(stage.starts()), 0)
        for time in 0..<20 {
            while let id = running.popFirst() {
                tried += 1
                guard case .held = stage.end(id, Self.full()) else { return #expect(Bool(false), "not held") }
            }
            running.formUnion(stage.starts())
            stage.reach(Int64(time + 1) * Self.second)
            running.formUnion(stage.starts())
        }
        #expect(stage.machine.holds(at: stage.now).map(\.reason) == [.fileSystem])
        // 8 at once, then about one more each second, and those that are tried again.
        #expect((20...60).contains(tried), "\(tried) attempts in 20 s")
        var finished = 0
        for time in 20..<60 {
            while let id = running.popFirst() {
                finished += 1
                #expect(stage.end(id, .finished(isSkipped: false), hasResponse: true) == .finished)
                running.formUnion(stage.starts())
            }
            stage.reach(Int64(time + 1) * Self.second)
            running.formUnion(stage.starts())
        }
        #expect(finished == 1000)
        #expect(stage.machine.holds(at: stage.now).isEmpty)
    }

    @Test("after several failures in a row, an attempt that ends otherwise lets the transfers start again")
    func otherEnd() {
        var stage = MachineStage(limit: 1)
        stage.add(retries: 5, patience: 300 * Self.second)
        for time in 1...6 {
            #expect(stage.starts() == [1])
            stage.end(1, Self.full())
            stage.reach(Int64(time) * 10 * Self.second)
        }
        #expect(stage.starts() == [1])
        // The file system has room again, and the host does not respond.
        let failure = EngineMachine.Failure(message: "reset", jitter: 0)
        guard case .retrying = stage.end(1, .retry(failure)) else { return #expect(Bool(false), "no retry") }
        stage.reach(stage.now + 100 * Self.second)
        #expect(stage.starts() == [1])
        guard case .retrying = stage.end(1, .retry(failure)) else { return #expect(Bool(false), "no second retry") }
        stage.reach(stage.now + 100 * Self.second)
        #expect(stage.starts() == [1])
        #expect(stage.machine.holds(at: stage.now).isEmpty)
    }

    @Test("a smaller file that fits still runs, and other file systems are not concerned")
    func smaller() {
        var stage = MachineStage(limit: 1)
        for _ in 0..<4 { stage.add(patience: 300 * Self.second) }
        stage.starts()
        stage.end(1, Self.full(1))
        #expect(stage.starts() == [2])
        stage.end(2, Self.full(2))
        #expect(stage.starts() == [3])
        #expect(stage.end(3, .finished(isSkipped: false), hasResponse: true) == .finished)
        #expect(stage.starts() == [4])
        let holds = stage.machine.holds(at: stage.now)
        #expect(Set(holds.compactMap(\.fileSystem?.directory)) == ["/disk1", "/disk2"])
    }

    @Test("all that waited longer than their timeout fail with the next attempt that fails")
    func timeout() {
        var stage = MachineStage(limit: 3)
        for _ in 0..<3 { stage.add(patience: 5 * Self.second) }
        stage.starts()
        for id in UInt64(1)...3 { stage.end(id, Self.full()) }
        stage.reach(6 * Self.second)
        let next = stage.starts()
        #expect(next == [1])
        #expect(stage.end(1, Self.full()) == .refused(.fileSystem))
        let steps = stage.steps()
        let expired = steps.filter { if case .expire = $0 { true } else { false } }
        #expect(expired.count == 2)
    }

    @Test("a hold ends with the last transfer that waits for it, however that ends")
    func cancelled() {
        var stage = MachineStage(limit: 1)
        for _ in 0..<2 { stage.add(patience: 300 * Self.second) }
        stage.starts()
        stage.end(1, Self.full())
        stage.starts()
        stage.end(2, Self.full())
        // The first one is chosen for the next attempt, and cancelled before it begins; the other one while it waits.
        stage.reach(Self.second)
        _ = stage.machine.cancel(TransferID(1), keeping: false)
        _ = stage.machine.cancel(TransferID(2), keeping: false)
        for second in Int64(2)...20 {
            stage.reach(second * Self.second)
            stage.steps()
        }
        #expect(stage.machine.holds(at: stage.now).isEmpty)
    }

    @Test("without a time for outages a full file system is a failure")
    func impatient() {
        var stage = MachineStage(limit: 1)
        stage.add()
        stage.starts()
        #expect(stage.end(1, Self.full()) == .refused(.fileSystem))
    }
}
