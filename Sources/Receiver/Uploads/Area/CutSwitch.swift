internal import NIOCore
internal import Synchronization

/// Cuts a request off from any thread, once it is known which connection it is on.
final class CutSwitch: Sendable {
    private struct State {
        var cut: (@Sendable () -> Void)?
        var isCut = false
        var isOver = false
    }

    private let state = Mutex(State())

    init() {}

    /// The connection that is to be cut.
    func connect(_ connection: any ExchangeConnection) {
        let loop = connection.eventLoop
        let bound = NIOLoopBound(connection, eventLoop: loop)
        let cut: @Sendable () -> Void = { [weak self] in
            // On the loop the request may have ended by then, and its answer be on its way.
            loop.execute { [weak self] in if self?.isOver == false { bound.value.abort() } }
        }
        let isCut = self.state.withLock { state -> Bool in
            state.cut = cut
            return state.isCut
        }
        if isCut { cut() }
    }

    /// Cuts it, now or as soon as it is known.
    func cut() {
        let cut = self.state.withLock { state -> (@Sendable () -> Void)? in
            defer { state.isCut = true }
            return state.isCut ? nil : state.cut
        }
        cut?()
    }

    /// The request is over: what comes on its connection afterwards must not be cut.
    func disconnect() {
        self.state.withLock { state in
            state.cut = nil
            state.isCut = true
            state.isOver = true
        }
    }

    private var isOver: Bool { self.state.withLock { $0.isOver } }
}
