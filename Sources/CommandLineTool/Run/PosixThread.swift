// SPDX-License-Identifier: Apache-2.0
import Platform

/// Starts threads that may block, unlike those of Swift's concurrency pool.
enum PosixThread {
    /// Runs `body` on a new thread.
    ///
    /// - Throws: ``BadValue`` if no thread can be created.
    static func start(_ body: @escaping @Sendable () -> Void) throws(BadValue) {
        let status = SystemThread.start(body)
        guard status == 0 else {
            throw BadValue("no thread could be started: \(String(cString: strerror(status)))")
        }
    }
}
