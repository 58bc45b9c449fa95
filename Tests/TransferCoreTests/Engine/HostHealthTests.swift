import Testing
import TransferCore

@Suite("The health of a host")
struct HostHealthTests {
    private enum Event {
        case served
        /// A failure that is the host's fault, of a transfer with so many retries.
        case failed(retries: Int, at: Int64)
        /// A failure that is not.
        case failedOtherwise(retries: Int, at: Int64)
        case hold(until: Int64)
    }

    private func health(after events: [Event]) -> (health: HostHealth, isDown: Bool) {
        var health = HostHealth()
        var isDown = false
        for event in events {
            switch event {
            case .served: health.served()
            case .failed(let retries, let now): isDown = health.failed(isHostFault: true, retries: retries, now: now)
            case .failedOtherwise(let retries, let now):
                isDown = health.failed(isHostFault: false, retries: retries, now: now)
            case .hold(let until): health.hold(until: until)
            }
        }
        return (health, isDown)
    }

    @Test("events lead to states")
    func states() {
        let four = (1...4).map { Event.failed(retries: 0, at: Int64($0)) }
        let table: [(events: [Event], at: Int64, state: HostHealth.State)] = [
            ([], 0, .healthy),
            ([.served], 0, .healthy),
            ([.failed(retries: 0, at: 1)], 1, .healthy),
            ([.failed(retries: 0, at: 1), .hold(until: 10)], 1, .held(until: 10)),
            // A hold expires by itself.
            ([.hold(until: 10)], 9, .held(until: 10)),
            ([.hold(until: 10)], 10, .healthy),
            // The longer hold wins.
            ([.hold(until: 10), .hold(until: 5)], 0, .held(until: 10)),
            ([.hold(until: 5), .hold(until: 10)], 0, .held(until: 10)),
            // Data does not shorten a hold.
            ([.failed(retries: 0, at: 1), .hold(until: 10), .served], 2, .held(until: 10)),
            // It is unreachable since the first of the failures in a row, also after its hold.
            (four, 4, .unreachable(since: 1, heldUntil: 4)),
            (four + [.hold(until: 9)], 20, .unreachable(since: 1, heldUntil: 9)),
            (four + [.hold(until: 9), .served], 5, .held(until: 9)),
            (four + [.served, .failed(retries: 0, at: 7)], 7, .healthy),
            ([.hold(until: 3)] + four, 4, .unreachable(since: 1, heldUntil: 3)),
        ]
        for (index, row) in table.enumerated() {
            #expect(self.health(after: row.events).health.state(at: row.at) == row.state, "row \(index)")
        }
    }

    @Test("a host is down after more failures in a row than three times a transfer's attempts", arguments: 0...3)
    func down(retries: Int) {
        let tolerated = 3 * (retries + 1)
        let failures = (0...tolerated).map { Event.failed(retries: retries, at: Int64($0)) }
        #expect(!self.health(after: Array(failures.dropLast())).isDown)
        #expect(self.health(after: failures).isDown)
        // Another transfer that tolerates more continues.
        #expect(!self.health(after: failures + [.failed(retries: retries + 1, at: 100)]).isDown)
        // A failure of the one resource does not count, but ends a transfer while the host is down.
        #expect(!self.health(after: Array(repeating: .failedOtherwise(retries: 0, at: 1), count: 50)).isDown)
        #expect(self.health(after: failures + [.failedOtherwise(retries: retries, at: 100)]).isDown)
        #expect(!self.health(after: failures + [.served, .failed(retries: retries, at: 100)]).isDown)
    }

    @Test("a host is held before the end of its hold, not at it")
    func held() {
        var health = HostHealth()
        #expect(!health.isHeld(at: 0) && health.heldUntil == nil)
        health.hold(until: 10)
        #expect(health.isHeld(at: 9) && !health.isHeld(at: 10) && health.heldUntil == 10)
    }
}
