// SPDX-License-Identifier: Apache-2.0
import NIOCore
import NIOPosix
import Synchronization
import TransferCore
import TransferEngine

/// A transport that passes each exchange to a closure; its lane is an event loop, without connections.
final class ClosureTransport: Transport {
    private struct Open {
        weak var exchange: ScriptedExchange?
    }

    let laneCount = 1

    private let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private let serve: @Sendable (ScriptedExchange) -> Void
    private let open = Mutex<[Open]>([])

    init(_ serve: @escaping @Sendable (ScriptedExchange) -> Void) {
        self.serve = serve
    }

    func execute(onLane lane: Int, _ work: @escaping @Sendable () -> Void) {
        if self.loop.inEventLoop { work() } else { self.loop.execute(work) }
    }

    func start(_ request: ExchangeRequest, onLane lane: Int, receiver: any ExchangeReceiver) -> any Exchange {
        let exchange = ScriptedExchange(request: request, lane: lane, receiver: receiver) { [loop] _, work in
            if loop.inEventLoop { work() } else { loop.execute(work) }
        }
        self.open.withLock { open in
            open.removeAll { $0.exchange?.hasEnded ?? true }
            open.append(Open(exchange: exchange))
        }
        // The receiver is not called before this method has returned.
        self.loop.execute { [serve] in serve(exchange) }
        return exchange
    }

    func shutdown() async {
        let open = self.open.withLock { $0 }
        for entry in open { entry.exchange?.fail(TransportError(.cancelled, "the transport was shut down")) }
    }
}
