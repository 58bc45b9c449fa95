// SPDX-License-Identifier: Apache-2.0
import Synchronization
internal import TransferCore
public import TransferEngine

import Platform

/// A transport without a network: a test acts as the server of every exchange.
///
/// Lanes run on the calling thread: work for a lane runs before the outermost call into the transport returns, one
/// closure at a time, and immediately if the caller is on that lane.
public final class ScriptedTransport: Transport {
    private struct State {
        var exchanges: [ScriptedExchange] = []
        var queue: [(lane: Int, work: @Sendable () -> Void)] = []
        var isShutDown = false
        var onStart: (@Sendable (ScriptedExchange) -> Void)?
    }

    /// The running lane, and its thread.
    private struct Current: Equatable {
        var lane: Int
        var thread: UInt
    }

    /// The number of lanes.
    public let laneCount: Int

    private let state = Mutex(State())
    private let current = Mutex<Current?>(nil)

    /// Creates a transport.
    ///
    /// - Precondition: There is at least one lane.
    public init(laneCount: Int = 1) {
        precondition(laneCount >= 1, "a transport needs at least one lane")
        self.laneCount = laneCount
    }

    /// Every exchange that was started, in order.
    public var exchanges: [ScriptedExchange] { self.state.withLock { $0.exchanges } }

    /// The started exchanges that have not ended.
    public var openExchanges: [ScriptedExchange] { self.exchanges.filter { !$0.hasEnded } }

    /// Whether `shutdown()` was called.
    public var isShutDown: Bool { self.state.withLock { $0.isShutDown } }

    /// Calls `script` for every exchange soon after its start, on its lane.
    public func onStart(_ script: @escaping @Sendable (ScriptedExchange) -> Void) {
        self.state.withLock { $0.onStart = script }
    }

    /// Runs `work` on a lane: before this returns, or soon if called on another lane.
    public func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        precondition(lane >= 0 && lane < self.laneCount, "there is no lane \(lane)")
        if self.current.withLock({ $0 }) == Current(lane: lane, thread: Self.thread) { return work() }
        self.state.withLock { $0.queue.append((lane, work)) }
        self.drain()
    }

    /// Records an exchange, which the test or the script of ``onStart(_:)`` then drives.
    public func start(
        _ request: ExchangeRequest,
        onLane lane: Int,
        receiver: any ExchangeReceiver
    ) -> any Exchange {
        let exchange = ScriptedExchange(request: request, lane: lane, receiver: receiver) {
            [unowned self] lane, work in self.execute(onLane: lane, work)
        }
        precondition(
            self.current.withLock { $0 } == Current(lane: lane, thread: Self.thread),
            "start was called off its lane; call it inside execute(onLane:)"
        )
        self.state.withLock { state in
            state.exchanges.append(exchange)
            // The script runs after the closure that called this method.
            if let script = state.onStart { state.queue.append((lane, { script(exchange) })) }
        }
        return exchange
    }

    /// Fails the open exchanges as cancelled.
    public func shutdown() async {
        self.state.withLock { $0.isShutDown = true }
        for exchange in self.openExchanges { exchange.fail(TransportError(.cancelled, "the transport was shut down")) }
    }

    private func drain() {
        while true {
            let mayRun = self.current.withLock { current in
                guard current == nil else { return false }
                current = Current(lane: -1, thread: Self.thread)
                return true
            }
            guard mayRun else { return }
            while let (lane, work) = self.state.withLock({ $0.queue.isEmpty ? nil : $0.queue.removeFirst() }) {
                self.current.withLock { $0 = Current(lane: lane, thread: Self.thread) }
                work()
            }
            self.current.withLock { $0 = nil }
            // Another thread may have added work after the last check of the queue.
            if self.state.withLock({ $0.queue.isEmpty }) { return }
        }
    }

    private static var thread: UInt { UInt(bitPattern: pthread_self().hashValue) }
}
