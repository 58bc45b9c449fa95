// SPDX-License-Identifier: Apache-2.0
/// The process's dispositions of signals (sigaction(2)).
package enum SignalDisposition {
    /// Ignores a signal.
    ///
    /// - Returns: Whether the signal number is valid.
    @discardableResult
    package static func ignore(_ number: Int32) -> Bool {
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = SIG_IGN
        #else
        action.__sigaction_handler.sa_handler = SIG_IGN
        #endif
        return sigaction(number, &action, nil) == 0
    }

    /// Calls a function at the next delivery of a signal, and restores the signal's default effect.
    ///
    /// - Parameters:
    ///   - number: The signal.
    ///   - handler: Called on any thread; it may only call what is safe in a signal handler (signal-safety(7)).
    package static func handleOnce(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        #if canImport(Darwin)
        action.__sigaction_u.__sa_handler = handler
        #else
        action.__sigaction_handler.sa_handler = handler
        #endif
        // SA_NODEFER, so that the handler can raise the signal again.
        action.sa_flags = Int32(truncatingIfNeeded: Int64(SA_RESETHAND) | Int64(SA_NODEFER))
        sigaction(number, &action, nil)
    }

    /// Stops the process as Ctrl-Z does, although the thread blocks that signal (`SIGTSTP`).
    ///
    /// Returns when the process is continued; at once if it would not be, because it has no shell (its process group is
    /// orphaned), or if the signal is ignored.
    package static func stop() {
        var set = sigset_t()
        var before = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTSTP)
        pthread_kill(pthread_self(), SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &set, &before)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    package static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
        let handler = action.__sigaction_u.__sa_handler
        #else
        let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
