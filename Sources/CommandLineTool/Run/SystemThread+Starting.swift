// SPDX-License-Identifier: Apache-2.0
import Platform

extension SystemThread {
    /// Runs `body` on a new thread.
    ///
    /// - Throws: ``BadValue`` if no thread can be created.
    static func run(_ body: @escaping @Sendable () -> Void) throws(BadValue) {
        let status = SystemThread.start(body)
        guard status == 0 else {
            throw BadValue("no thread could be started: \(String(cString: strerror(status)))")
        }
    }
}
