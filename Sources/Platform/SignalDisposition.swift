// SPDX-License-Identifier: Apache-2.0
/// What the process does with signals (sigaction(2)).
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

    /// Whether a signal is ignored.
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
