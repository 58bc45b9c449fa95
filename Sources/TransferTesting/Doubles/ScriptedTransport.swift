import Synchronization
internal import TransferCore
public import TransferEngine

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A transport without a network: a test plays the server's part of every exchange.
///
/// Lanes run on the thread that uses them: work for a lane runs before the outermost call into the transport returns,
/// one piece at a time; at once where the caller is on that lane already.
public final class ScriptedTransport: Transport {
    private struct State {
        var exchanges: [ScriptedExchange] = []
        var queue: [(lane: Int, work: @Sendable () -> Void)] = []
        var isShutDown = false
        var onStart: (@Sendable (ScriptedExchange) -> Void)?
    }

    /// Which lane runs, and on which thread.
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

    /// The exchanges that were started and have not ended in any way.
    public var openExchanges: [ScriptedExchange] { self.exchanges.filter { !$0.hasEnded } }

    /// Whether `shutdown()` was called.
    public var isShutDown: Bool { self.state.withLock { $0.isShutDown } }

    /// Calls `script` for every exchange soon after its start, on its lane.
    public func onStart(_ script: @escaping @Sendable (ScriptedExchange) -> Void) {
        self.state.withLock { $0.onStart = script }
    }

    /// Runs `work` on a lane, before it returns or, from within another lane, soon.
    public func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        precondition(lane >= 0 && lane < self.laneCount, "there is no lane \(lane)")
        if self.current.withLock({ $0 }) == Current(lane: lane, thread: Self.thread) { return work() }
        self.state.withLock { $0.queue.append((lane, work)) }
        self.drain()
    }

    /// Records an exchange; nothing happens to it until the test, or the script of ``onStart(_:)``, says so.
    public func start(
        _ request: ExchangeRequest,
        onLane lane: Int,
        receiver: any ExchangeReceiver
    ) -> any Exchange {
        let exchange = ScriptedExchange(request: request, lane: lane, receiver: receiver, transport: self)
        precondition(
            self.current.withLock { $0 } == Current(lane: lane, thread: Self.thread),
            "start was called off its lane; call it inside execute(onLane:)"
        )
        self.state.withLock { state in
            state.exchanges.append(exchange)
            // It runs when the piece of work that called this has returned.
            if let script = state.onStart { state.queue.append((lane, { script(exchange) })) }
        }
        return exchange
    }

    /// Fails what still runs, as cancelled.
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
            // Another thread may have added work after the queue was seen empty.
            if self.state.withLock({ $0.queue.isEmpty }) { return }
        }
    }

    private static var thread: UInt { UInt(bitPattern: pthread_self().hashValue) }
}
