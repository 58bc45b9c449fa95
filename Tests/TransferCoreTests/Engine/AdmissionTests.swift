// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@Suite("Admission")
struct AdmissionTests {
    @Test("first in, first out inside one priority and host")
    func order() {
        var stage = MachineStage()
        for _ in 1...5 { stage.add() }
        let order = stage.starts()
        #expect(order == [1, 2, 3, 4, 5])
    }

    @Test("nothing starts before start(), nor after stop()")
    func life() {
        var stage = MachineStage(limit: 1, starts: false)
        stage.add()
        stage.add()
        let before = stage.starts()
        stage.machine.start()
        let first = stage.starts()
        stage.machine.stop()
        stage.end(1)
        let after = stage.starts()
        #expect(before.isEmpty && first == [1] && after.isEmpty)
    }

    @Test("a host's own limit holds in place of the one for all, whatever its port")
    func hostLimits() {
        var stage = MachineStage(perHost: 2)
        stage.machine.hostLimits = ["a": 1, "b": 3]
        for _ in 1...4 { stage.add("a") }
        for _ in 1...4 { stage.add("b") }
        let limited = stage.starts()
        #expect(Set(limited) == [1, 5, 6, 7])
        stage.machine.hostLimits = [:]
        let next = stage.starts()
        #expect(next == [2])
    }

    @Test("a more urgent priority starts first")
    func priorities() {
        var stage = MachineStage()
        for priority in [Priority.low, .normal, .high, .foreground] { stage.add(priority: priority) }
        let order = stage.starts()
        #expect(order == [4, 3, 2, 1])
    }

    @Test("hosts take turns, so that a long line for one does not hold up another")
    func roundRobin() {
        var stage = MachineStage()
        for _ in 1...4 { stage.add("a") }
        stage.add("b")
        let order = stage.starts()
        #expect(order == [1, 5, 2, 3, 4])
    }

    @Test("the limit per host holds over all transfers, and the next host has its turn")
    func perHost() {
        var stage = MachineStage(perHost: 2)
        for _ in 1...3 { stage.add("a") }
        stage.add("b")
        let order = stage.starts()
        #expect(order == [1, 4, 2])
        let further = stage.acquire(for: 1)
        #expect(further == 0)
        stage.end(2)
        let next = stage.starts()
        #expect(next == [3])
    }

    @Test("the limit can change while it runs; those beyond a lower one run on")
    func limit() {
        var stage = MachineStage(limit: 1)
        for _ in 1...3 { stage.add() }
        var starts = [stage.starts()]
        stage.machine.limit = 2
        starts.append(stage.starts())
        stage.machine.limit = 1
        stage.end(1)
        starts.append(stage.starts())
        stage.end(2)
        starts.append(stage.starts())
        #expect(starts == [[1], [2], [], [3]])
    }

    @Test("under a constant supply of urgent ones a low one starts within the stated bound")
    func ageing() {
        var stage = MachineStage(limit: 1)
        for priority in [Priority.low, .normal, .high] { stage.add(priority: priority) }
        var started: Set<UInt64> = []
        for _ in 1...EngineMachine.ageingPeriod + 3 {
            stage.add(priority: .foreground)
            for id in stage.starts() {
                started.insert(id)
                stage.end(id)
            }
        }
        #expect(started.isSuperset(of: [1, 2, 3]))
    }

    @Test("a host that is held starts nothing until its time; others start")
    func held() {
        var stage = MachineStage()
        for _ in 1...2 { stage.add("a", retries: 1) }
        stage.starts()
        for id in 1...2 as ClosedRange<UInt64> { stage.end(id, MachineStage.throttled(1)) }
        stage.add("a")
        stage.add("b")
        stage.now = 999_999_999
        let before = stage.starts()
        stage.reach(1_000_000_000)
        // Those that failed are first in line again, the last of them before the first.
        let after = stage.starts()
        #expect(before == [4] && after == [2, 1, 3])
    }

    @Test("what is removed never starts; what changes its priority starts once")
    func removal() {
        var stage = MachineStage()
        for _ in 1...3 { stage.add() }
        let verdicts = (0...1).map { _ in stage.machine.cancel(TransferID(1), keeping: true) }
        #expect(verdicts == [.cancelled(keeping: true), .unchanged])
        stage.machine.setPriority(.high, of: TransferID(3))
        let order = stage.starts()
        #expect(order == [3, 2])
        #expect(stage.machine.waitingCount == 0)
    }

    @Test("a transfer starts on the caller's event loop, unless another has fewer")
    func lanes() {
        var stage = MachineStage(lanes: 3)
        for _ in 1...5 { stage.add() }
        let lanes = stage.steps(lane: 1).compactMap { if case .start(_, let lane) = $0 { lane } else { nil } }
        #expect(lanes == [1, 0, 2, 1, 0])
        stage.end(3)
        stage.add()
        let next = stage.steps(lane: 0)
        #expect(next == [.start(TransferID(6), lane: 2)])
    }

    @Test("with hosts kept on event loops, the transfers of a host start on one and the hosts on all")
    func hostsOnLanes() {
        var stage = MachineStage(limit: 100, lanes: 3)
        stage.machine.keepsHostsOnLanes = true
        var hosts: [UInt64: String] = [:]
        for number in 0..<30 {
            let host = "h\(number % 6)"
            hosts[stage.add(host).rawValue] = host
        }
        var lanes: [String: Set<Int>] = [:]
        for case .start(let id, let lane) in stage.steps(lane: 1) {
            lanes[hosts[id.rawValue] ?? "", default: []].insert(lane)
        }
        #expect(lanes.count == 6 && lanes.values.allSatisfy { $0.count == 1 })
        #expect(Set(lanes.values.joined()) == [0, 1, 2])
    }

    @Test("transfers that leave their place in line again and again do not make it longer")
    func places() {
        var stage = MachineStage(limit: 1)
        stage.add()
        let other = stage.add()
        stage.add()
        stage.starts()
        for _ in 1...10_000 {
            _ = stage.machine.pause(other, now: stage.now)
            _ = stage.machine.resume(other)
            stage.machine.setPriority(.high, of: other)
            stage.machine.setPriority(.normal, of: other)
        }
        #expect(stage.machine.storage.places < 1000)
        stage.end(1)
        let next = stage.starts()
        stage.end(3)
        let last = stage.starts()
        #expect(next == [3] && last == [2])
    }

    @Test("a long queue that is empty takes no room, and takes transfers again")
    func emptied() {
        var stage = MachineStage(limit: 1)
        for _ in 1...10_000 { stage.add() }
        stage.starts()
        for id in 2...10_000 { _ = stage.machine.cancel(TransferID(UInt64(id)), keeping: false) }
        stage.end(1)
        #expect(stage.machine.storage.transfers == 0 && stage.machine.storage.places == 0)
        stage.add()
        let next = stage.starts()
        #expect(next == [10_001])
    }

    @Test("hosts and transfers that are gone take no room")
    func storage() {
        var stage = MachineStage(limit: 4)
        for number in 1...20_000 {
            stage.add("h\(number)", retries: 1, patience: number % 2 == 0 ? 1_000_000_000 : nil)
            for id in stage.starts() {
                let verdict = stage.end(id, host: "h\(number)", id % 3 == 0 ? MachineStage.refused : .failed)
                if !verdict.isEnd { _ = stage.machine.cancel(TransferID(id), keeping: false) }
            }
            stage.reach(Int64(number) * 1_000_000)
        }
        let storage = stage.machine.storage
        #expect(storage.transfers <= 4 && storage.hosts < 3000 && storage.due < 500 && storage.timers < 500)
        #expect(stage.machine.isIdle)
    }
}
