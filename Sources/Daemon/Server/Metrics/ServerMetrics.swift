// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The counters of the server.
final class ServerMetrics: Sendable {
    /// The values of all counters.
    struct Counts: Sendable {
        /// Successful and failed calls by method; unknown methods count as `other`.
        var calls: [String: (done: Int64, failed: Int64)] = [:]
        var connections = 0
        var webSockets = 0
        var eventStreams = 0
        var failedAuthentications: Int64 = 0
        var refused: Int64 = 0
        var malformed: Int64 = 0
    }

    private let state = Mutex(Counts())

    /// The current values.
    var counts: Counts { self.state.withLock { $0 } }

    /// Counts a call; `nil` is an unknown method.
    func called(_ method: String?, isError: Bool) {
        self.state.withLock { counts in
            if isError {
                counts.calls[method ?? "other", default: (0, 0)].failed += 1
            } else {
                counts.calls[method ?? "other", default: (0, 0)].done += 1
            }
        }
    }

    func connected(_ change: Int) { self.state.withLock { $0.connections += change } }
    func webSocketOpened(_ change: Int) { self.state.withLock { $0.webSockets += change } }
    func eventStreamOpened(_ change: Int) { self.state.withLock { $0.eventStreams += change } }
    func failedAuthentication() { self.state.withLock { $0.failedAuthentications += 1 } }
    func refused() { self.state.withLock { $0.refused += 1 } }
    func malformed() { self.state.withLock { $0.malformed += 1 } }
}
