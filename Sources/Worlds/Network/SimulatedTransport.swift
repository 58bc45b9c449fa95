// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
package import TransferEngine

/// The connections of one process: exchanges with the servers of the world.
///
/// Lanes are event loops: what is executed on a lane is done in order, immediately if the caller is on it.
///
/// `@unchecked Sendable`: a world runs on one thread.
package final class SimulatedTransport: Transport, @unchecked Sendable {
    let network: SimulatedNetwork
    let process: SimulatedProcess
    package let laneCount: Int

    /// The number of exchanges that have begun and not ended.
    var openExchanges = 0

    private var currentLane: Int?
    private var laneDue: [Int64]
    /// The idle connections, by lane and origin.
    private var idle: [Place: [Int]] = [:]

    private struct Place: Hashable {
        var lane: Int
        var origin: Origin
    }

    private var scheduler: Scheduler { self.network.scheduler }

    package init(_ network: SimulatedNetwork, _ process: SimulatedProcess, lanes: Int) {
        self.network = network
        self.process = process
        self.laneCount = lanes
        self.laneDue = Array(repeating: 0, count: lanes)
    }

    package func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        if self.currentLane == lane { return work() }
        if self.process.isDisposing { return self.run(onLane: lane, work) }
        // An event loop that is busy with other connections comes to the work later.
        let delay = Int64.random(in: 0...100_000, using: &self.scheduler.random)
        self.laneDue[lane] = max(self.laneDue[lane], self.scheduler.now + delay)
        self.scheduler.schedule(after: self.laneDue[lane] - self.scheduler.now, in: self.process) {
            self.run(onLane: lane, work)
        }
    }

    /// Schedules work on a lane, which may be overtaken by work that is executed there.
    func schedule(after delay: Int64, onLane lane: Int, _ work: @escaping () -> Void) {
        self.scheduler.schedule(after: delay, in: self.process) { self.run(onLane: lane, work) }
    }

    private func run(onLane lane: Int, _ work: () -> Void) {
        let outer = self.currentLane
        self.currentLane = lane
        work()
        self.currentLane = outer
    }

    /// Runs work that is on no lane, such as a user's call, a timer or that of a pool.
    package func offLane<Result>(_ work: () throws -> Result) rethrows -> Result {
        let outer = self.currentLane
        self.currentLane = nil
        defer { self.currentLane = outer }
        return try work()
    }

    func isOn(_ lane: Int) -> Bool { self.currentLane == lane }

    package func start(
        _ request: ExchangeRequest,
        onLane lane: Int,
        receiver: any ExchangeReceiver
    ) -> any Exchange {
        let place = Place(lane: lane, origin: request.url.origin)
        let reused = self.idle[place]?.popLast()
        let exchange = SimulatedExchange(self, request, lane, receiver, connection: reused)
        if !self.process.isDisposing { exchange.begin() }
        return exchange
    }

    func keep(_ connection: Int, _ lane: Int, _ origin: Origin) {
        self.idle[Place(lane: lane, origin: origin), default: []].append(connection)
    }

    package func shutdown() async {}
}
