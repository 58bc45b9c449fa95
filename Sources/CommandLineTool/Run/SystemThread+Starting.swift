// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Platform

extension SystemThread {
    /// Runs `body` on a new thread.
    ///
    /// - Throws: ``SyntaxError`` if no thread can be created.
    static func run(_ body: @escaping @Sendable () -> Void) throws(SyntaxError) {
        let status = SystemThread.start(body)
        guard status == 0 else {
            throw SyntaxError("no thread could be started: \(String(cString: strerror(status)))")
        }
    }
}
