// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@Suite("The queue against a naive store and engine, with kills")
struct QueueMachineWalkTests {
    @Test(
        "Whatever happens, each transfer ends once, in its turn, and only what is asked touches a running one",
        arguments: 1...16
    )
    func walk(seed: Int) {
        var world = QueueWorld(seed: UInt64(seed))
        for step in 0..<3000 {
            self.step(&world)
            if world.pick(400) == 0 { world.kill() }
            if step % 250 == 249 {
                world.settle()
                self.checkRest(world)
            }
        }
        self.finish(&world)
    }

    private func step(_ world: inout QueueWorld) {
        world.now += Int64(world.pick(20_000_000))
        switch world.pick(20) {
        case 0: self.add(&world)
        case 1: self.change(&world, .paused)
        case 2: self.change(&world, .waiting)
        case 3 where world.pick(3) == 0: self.change(&world, .removed)
        case 4:
            guard let id = world.line.randomElement(using: &world.random)?.id else { return }
            switch world.pick(3) {
            case 0: world.requests.append(.move(id, world.pick(world.line.count)))
            case 1: world.requests.append(.prioritize(id, world.pick(3) - 1))
            default: world.requests.append(.change(id))
            }
        case 5 where world.pick(4) == 0: self.hold(&world)
        case 6:
            for reason in QueueMachine.Hold.allCases { world.machine.release(reason) }
            world.machine.release(.conditions, "s")
            world.pump()
        case 7:
            let lane = world.lanes[world.pick(2)]
            let waits = world.given.values.contains { $0.lane == lane && !$0.runs && !$0.retries }
            let runs = world.given.values.count { $0.lane == lane && $0.runs }
            world.machine.looked(lane, isIdle: waits && runs < world.limit)
            world.machine.woke()
            world.pump()
        case 8 where world.pick(3) == 0: self.holdHost(&world)
        case 9...11: world.work()
        case 12...14: world.hear()
        case 15...17: world.run()
        default: world.listen()
        }
    }

    private func add(_ world: inout QueueWorld) {
        guard world.line.count < 700 else { return }
        let lane = world.lanes[world.pick(2)]
        let known = UInt64(world.line.count + world.forgotten + world.requests.count * 1000 + world.pick(1 << 30))
        let host = world.hosts[world.pick(4)]
        let added = (0..<UInt64(1 + world.pick(30)))
            .map { number in
                QueueWorld.Stored(
                    id: known << 8 | number,
                    lane: lane,
                    host: world.pick(2) == 0 ? host : world.hosts[world.pick(4)],
                    priority: world.pick(8) == 0 ? world.pick(3) - 1 : 0
                )
            }
        let place = world.pick(3) == 0 ? world.pick(world.line.count + 1) : nil
        let claim = world.pick(2) == 0 ? world.machine.claimWhileAdding(lane) : nil
        world.requests.append(.add(added, at: place, claim))
    }

    private func change(_ world: inout QueueWorld, _ state: QueueWorld.State) {
        let lane = world.lanes[world.pick(2)]
        let ids = world.line.filter { $0.lane == lane && ($0.state == .waiting || $0.state == .paused) }
            .shuffled(using: &world.random).prefix(1 + world.pick(20)).map(\.id)
        guard !ids.isEmpty else { return }
        world.requests.append(.setState(ids, state))
    }

    private func hold(_ world: inout QueueWorld) {
        switch world.pick(3) {
        case 0: world.machine.hold(.databaseFull)
        case 1:
            world.touchable.formUnion(world.given.keys)
            world.machine.hold(.schedule)
        default:
            world.touchable.formUnion(world.given.filter { $0.value.lane == "s" }.keys)
            world.machine.hold(.conditions, "s")
        }
        world.pump()
    }

    private func holdHost(_ world: inout QueueWorld) {
        let host = world.hosts[world.pick(4)]
        if world.heldHosts.remove(host) != nil {
            for lane in world.lanes { world.machine.hostReleased(lane, host) }
            return world.pump()
        }
        world.heldHosts.insert(host)
        guard world.pick(2) == 0 else { return }
        for lane in world.lanes { world.machine.hostHeld(lane, host) }
        world.pump()
    }

    /// Nothing is under way: everything has its place.
    private func checkRest(_ world: QueueWorld) {
        for lane in world.lanes {
            #expect(world.machine.counts(of: lane) == world.counts(lane))
            guard let known = world.machine[lane: lane] else { continue }
            let isSame = Set(known.entries.keys) == Set(world.given.filter { $0.value.lane == lane }.keys)
            #expect(isSame, "the machine does not know what the engine has")
            #expect(known.activeCount == known.entries.values.count { $0.hasStarted })
            #expect(known.stagedCount == known.entries.values.count { $0.phase == .staged })
            #expect(known.stagedCount <= known.limit + 1024)
            let turns = world.turns(lane)
            #expect(known.unclaimed == turns.count - turns.count { known.entries[$0.id] != nil })
            guard world.machine.holds(of: lane).isEmpty else {
                #expect(known.stagedCount == 0)
                continue
            }
            // Nothing that may run and is not taken goes before something that is staged.
            let staged = turns.lastIndex { known.entries[$0.id]?.phase == .staged }
            let passed = turns.firstIndex { one in
                known.entries[one.id] == nil && known.limitOfHost(one.host) == nil
            }
            if let staged, let passed {
                let first = turns[passed]
                let last = turns[staged]
                #expect(staged < passed, "\(first) waits and \(last) is staged")
            }
            // Places are not left empty while something may run.
            if passed != nil { #expect(known.stagedCount + known.entries.count > 128) }
            // Of a held host some are staged, as long as any of it waits: they find out whether it is reachable.
            for one in turns where known.entries[one.id] == nil && known.limitOfHost(one.host) != nil {
                let isStaged = known.entries.values.contains { $0.host == one.host && $0.phase == .staged }
                #expect(isStaged, "\(one) waits, and nothing of its host is staged")
            }
        }
    }

    /// Without further events, everything ends.
    private func finish(_ world: inout QueueWorld) {
        world.heldHosts = []
        for lane in world.lanes { for host in world.hosts { world.machine.hostReleased(lane, host) } }
        for reason in QueueMachine.Hold.allCases { world.machine.release(reason) }
        world.machine.release(.conditions, "s")
        let paused = world.line.filter { $0.state == .paused }.map(\.id)
        for id in paused { world.requests.append(.setState([id], .waiting)) }
        world.pump()
        for round in 0..<60_000 {
            world.run()
            world.listen()
            world.work()
            world.hear()
            if round % 100 == 0 {
                world.now += 1_000_000_000
                world.machine.woke()
                for lane in world.lanes { world.machine.looked(lane, isIdle: false) }
                world.pump()
                if world.line.allSatisfy({ $0.state == .finished || $0.state == .removed }), world.requests.isEmpty,
                    world.answers.isEmpty, world.given.isEmpty, world.events.isEmpty
                {
                    break
                }
            }
        }
        #expect(world.line.allSatisfy { $0.state == .finished || $0.state == .removed }, "something waits for ever")
        #expect(world.endings.values.allSatisfy { $0 == 1 })
        for lane in world.lanes {
            #expect(world.machine[lane: lane]?.entries.isEmpty == true)
            #expect(world.machine.counts(of: lane) == world.counts(lane))
        }
        #expect(world.machine.activeCount == 0)
    }
}
