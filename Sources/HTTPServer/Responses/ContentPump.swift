// SPDX-License-Identifier: Apache-2.0
/// Sends content that takes more than one write.
protocol ContentPump: AnyObject {
    /// Whether the pump waits for its source: a connection without progress is not the client's fault.
    var isWaitingForSource: Bool { get }
    /// The connection was closed.
    func lost()
    /// Sends the next chunk if the connection is writable.
    func goOn()
    /// The server is stopping: ends content that has no natural end.
    func stop()
}

extension ContentPump {
    var isWaitingForSource: Bool { false }
    func stop() {}
}
