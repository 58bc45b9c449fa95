// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import TransferCore

/// The timeouts of a connection, which ``ConnectionMachine`` decides about.
extension HTTPConnection {
    /// Schedules the timer for the machine's deadline; one that is due earlier is kept.
    func arm() {
        self.machine.isAuthenticated = self.standing.isAuthenticated
        let deadline = self.machine.deadline
        if self.timer != nil, self.timerDeadline <= deadline { return }
        self.timer?.cancel()
        self.timer = nil
        guard deadline < .distantFuture, self.context != nil else { return }
        self.timerDeadline = deadline
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.timerFired() }
    }

    private func timerFired() {
        self.timer = nil
        self.machine.isAuthenticated = self.standing.isAuthenticated
        switch self.machine.timerFired(now: .now()) {
        case .wait: self.arm()
        case .close: self.end()
        case .respondTimeout:
            guard self.machine.isBusy || self.parser.isInHead else {
                self.end()
                return
            }
            if self.machine.isBusy { self.giveUpSlowSender() } else { self.refuseLateHead() }
        case .lookAtProgress: self.lookAtProgress()
        }
    }

    private func giveUpSlowSender() {
        self.handler?.lost()
        self.handler = nil
        self.respondLate("the content came too slowly")
    }

    private func refuseLateHead() {
        self.isBroken = true
        self.machine.headEnded(keepsAlive: false, now: .now())
        self.request = nil
        self.form = ResponseForm()
        self.hasResponded = false
        self.bodyLeft = nil
        self.respondLate("the request's head came too slowly")
    }

    private func respondLate(_ text: String) {
        self.respond(.message(408, text).closing())
    }
}
