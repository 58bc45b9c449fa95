// SPDX-License-Identifier: Apache-2.0
internal import NIOCore

/// Writes the content of a response from a task.
package struct ContentWriter: Sendable {
    /// Content of unknown length that a task writes.
    package final class Body: Sendable {
        /// Bytes that are written at every interval.
        let heartbeat: [UInt8]
        /// The interval of the heartbeat, or `nil` for none.
        let interval: TimeAmount?
        let run: @Sendable (ContentWriter) async -> Void

        /// Creates content.
        ///
        /// - Parameters:
        ///   - heartbeat: Bytes that are written at every interval.
        ///   - interval: The interval of the heartbeat, or `nil` for none.
        ///   - run: Writes the content. It is cancelled when the client disconnects or the server stops.
        package init(
            heartbeat: [UInt8] = [],
            interval: Duration? = nil,
            _ run: @escaping @Sendable (ContentWriter) async -> Void
        ) {
            self.heartbeat = heartbeat
            self.interval = interval.map { TimeAmount($0) }
            self.run = run
        }
    }

    private let pump: NIOLoopBound<WriterPump>

    init(_ pump: WriterPump, on eventLoop: any EventLoop) {
        self.pump = NIOLoopBound(pump, eventLoop: eventLoop)
    }

    /// Writes bytes, and waits until the connection can take more.
    ///
    /// - Throws: `CancellationError` if the connection was closed.
    package func write(_ bytes: [UInt8]) async throws(CancellationError) {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            self.pump.eventLoop.execute { self.pump.value.write(bytes, continuation) }
        }
        guard result else { throw CancellationError() }
    }
}
