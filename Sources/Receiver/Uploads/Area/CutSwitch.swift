// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import NIOCore
internal import Synchronization

/// Aborts a request from any thread, as soon as its connection is known.
final class CutSwitch: Sendable {
    private struct State {
        var cut: (@Sendable () -> Void)?
        var isCut = false
        var isOver = false
    }

    private let state = Mutex(State())

    init() {}

    /// Sets the connection of the request.
    func connect(_ connection: any RequestContext) {
        let loop = connection.eventLoop
        let bound = NIOLoopBound(connection, eventLoop: loop)
        let cut: @Sendable () -> Void = { [weak self] in
            // When this runs on the event loop, the request may have ended and its response may be on the way.
            loop.execute { [weak self] in if self?.isOver == false { bound.value.abort() } }
        }
        let isCut = self.state.withLock { state -> Bool in
            state.cut = cut
            return state.isCut
        }
        if isCut { cut() }
    }

    /// Aborts the request, now or once its connection is known.
    func cut() {
        let cut = self.state.withLock { state -> (@Sendable () -> Void)? in
            defer { state.isCut = true }
            return state.isCut ? nil : state.cut
        }
        cut?()
    }

    /// The request has ended: later requests on its connection must not be aborted.
    func disconnect() {
        self.state.withLock { state in
            state.cut = nil
            state.isCut = true
            state.isOver = true
        }
    }

    private var isOver: Bool { self.state.withLock { $0.isOver } }
}
