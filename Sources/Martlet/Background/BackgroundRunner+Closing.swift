// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Control
internal import Synchronization

/// Closing the session in the daemon.
extension BackgroundRunner {
    /// Whether the tasks of the session in the daemon are known.
    var knowsItsTasks: Bool {
        self.state.withLock { state in if case .opening = state.standing { false } else { true } }
    }

    /// Ends the session in the daemon: with its transfers, or once they have ended, or only for this program.
    func close(_ closing: Closing) {
        let isOver = self.state.withLock { state in
            switch state.standing {
            case .failed, .left: return true
            case .opening, .open: break
            }
            if case .cancelling = state.closing {
                // The last task may have ended before the daemon has responded.
                if case .finishing(let done) = closing { state.whenClosed = done }
                return false
            }
            // The last task may end while the program leaves; the callers of `close()` still wait.
            if case .leaving(let callers) = state.closing {
                if case .leaving(let more) = closing { state.closing = .leaving(callers + more) }
                return false
            }
            state.closing = closing
            return false
        }
        if isOver {
            switch closing {
            case .finishing(let done): return done()
            case .leaving(let callers):
                for caller in callers { caller() }
                return
            case .cancelling: break
            }
        }
        self.sending.send()
    }

    /// The daemon has responded to the closing.
    func closed() {
        let (tasks, ending) = self.state.withLock { state in
            state.standing = .left
            defer { (state.entries, state.spool) = ([:], nil) }
            state.spool?.remove()
            return (state.entries.values.map(\.task), Self.takeEnding(&state))
        }
        OpenSessions.left(self)
        // The transfers continue without this program.
        if case .leaving(let callers) = ending.closing {
            for caller in callers { caller() }
            return
        }
        for task in tasks { task.endInBackground(.cancelled) }
        if case .finishing(let done) = ending.closing { done() } else { self.session?.settle() }
        ending.whenClosed?()
    }
}
