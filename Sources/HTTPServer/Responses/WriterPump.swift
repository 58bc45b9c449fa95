// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix

/// Sends content that a task writes, in the chunked transfer coding if the client supports it.
final class WriterPump: ContentPump {
    private let context: ChannelHandlerContext
    private let body: ContentWriter.Body
    private var output: ChunkedOutput
    private var done: ((Int64?) -> Void)?
    private var task: Task<Void, Never>?
    private var heartbeat: Scheduled<Void>?
    /// The writer that waits until the connection is writable.
    private var waiting: CheckedContinuation<Bool, Never>?
    private var isAtEnd = false

    /// - Parameters:
    ///   - context: The connection.
    ///   - body: The content.
    ///   - isChunked: Whether the chunked transfer coding is used.
    ///   - done: Called once: with the number of bytes after the last write, or with `nil` if the connection failed.
    init(
        context: ChannelHandlerContext,
        body: ContentWriter.Body,
        isChunked: Bool,
        done: @escaping (Int64?) -> Void
    ) {
        self.context = context
        self.body = body
        self.output = ChunkedOutput(context, isChunked: isChunked)
        self.done = done
    }

    var isWaitingForSource: Bool { self.waiting == nil && !self.isAtEnd && self.context.channel.isWritable }

    /// Starts the task that writes.
    func start(_ core: ListenerCore) {
        let body = self.body
        let writer = ContentWriter(self, on: self.context.eventLoop)
        let bound = NIOLoopBound(self, eventLoop: self.context.eventLoop)
        self.context.flush()
        self.task = core.task {
            await body.run(writer)
            bound.eventLoop.execute { bound.value.finish() }
        }
        self.scheduleHeartbeat()
    }

    /// Writes bytes; resumes the writer with true when the connection can take more, or with false if it is closed.
    func write(_ bytes: [UInt8], _ continuation: CheckedContinuation<Bool, Never>) {
        guard self.done != nil, !self.isAtEnd, self.context.channel.isActive else {
            return continuation.resume(returning: false)
        }
        self.output.write(bytes)
        // One task writes; a second one waits no longer than the first.
        self.waiting?.resume(returning: true)
        self.waiting = continuation
        self.goOn()
    }

    func goOn() {
        guard let waiting = self.waiting, self.context.channel.isWritable else { return }
        self.waiting = nil
        waiting.resume(returning: true)
    }

    func stop() { self.finish() }

    func lost() { self.end(nil) }

    private func scheduleHeartbeat() {
        guard let interval = self.body.interval else { return }
        self.heartbeat = self.context.eventLoop.assumeIsolated()
            .scheduleTask(in: interval) {
                guard self.done != nil, !self.isAtEnd else { return }
                if self.context.channel.isWritable { self.output.write(self.body.heartbeat) }
                self.scheduleHeartbeat()
            }
    }

    /// Ends the content.
    private func finish() {
        guard self.done != nil, !self.isAtEnd else { return }
        self.isAtEnd = true
        self.cancel()
        self.output.finish { self.end($0) }
    }

    private func cancel() {
        self.task?.cancel()
        self.task = nil
        self.heartbeat?.cancel()
        self.waiting?.resume(returning: false)
        self.waiting = nil
    }

    private func end(_ bytes: Int64?) {
        self.cancel()
        let done = self.done
        self.done = nil
        done?(bytes)
    }
}
