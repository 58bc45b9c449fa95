// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Synchronization
internal import TransferCore

/// An event stream between the event loop, which fills it, and the task that reads it.
///
/// `@unchecked Sendable`: `buffer` has a lock; the other variables are used on the client's event loop only. The reader's
/// calls reach them by `execute`, and the connection calls there.
final class EventSource: ControlExchange, @unchecked Sendable {
    let request: ControlRequest
    let patience: TimeAmount?

    private let loop: any EventLoop
    private let buffer: Mutex<ServerEventBuffer>
    private weak var connection: ControlConnection?
    private var opened: ((Result<Void, ControlError>) -> Void)?
    private var parser = ServerSentEventParser()
    private var isCancelled = false
    /// The status of an error response, and its body with the details.
    private var refusal: Int?
    private var refusalBody: [UInt8] = []

    init(_ request: ControlRequest, on loop: any EventLoop, _ configuration: ControlClient.Configuration) {
        self.request = request
        self.patience = configuration.eventTimeout
        self.loop = loop
        self.buffer = Mutex(ServerEventBuffer(capacity: configuration.eventCapacity))
    }

    // MARK: Called by the reader

    /// Sets the closure that receives the daemon's acceptance or refusal of the stream.
    func waitForHead(_ opened: @escaping (Result<Void, ControlError>) -> Void) {
        self.opened = opened
        if self.isCancelled { self.tellOpened(.failure(Self.cancelledError)) }
    }

    /// Waits for the next event.
    func next() async throws(ControlError) -> ServerSentEvent? {
        let result: ServerEventBuffer.Outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let action = self.buffer.withLock { $0.asked(continuation) }
                if let answer = action.answer { continuation.resume(returning: answer) }
                if action.resumesReading { self.loop.execute { self.connection?.resumeReading() } }
            }
        } onCancel: {
            self.cancel()
        }
        return try result.get()
    }

    /// How the stream ended, or `nil`.
    var end: ServerEvents.End? { self.buffer.withLock { $0.end } }

    /// Cancels the stream and closes its connection.
    func cancel() {
        // A stream that has ended has no connection, and its event loop may have been shut down.
        guard self.finish(.cancelled) else { return }
        self.loop.execute {
            self.isCancelled = true
            self.connection?.close()
            self.tellOpened(.failure(Self.cancelledError))
        }
    }

    // MARK: Called by the connection

    var isAbandoned: Bool { self.isCancelled }

    func began(on connection: ControlConnection) { self.connection = connection }

    func received(_ head: ResponseHead) {
        guard head.status == 200 else {
            self.refusal = head.status
            return
        }
        self.tellOpened(.success(()))
    }

    func received(_ body: UnsafeRawBufferPointer) throws(ControlError) {
        if self.refusal != nil {
            guard self.refusalBody.count + body.count < 1 << 20 else { return }
            return self.refusalBody.append(contentsOf: body)
        }
        var events: [ServerSentEvent] = []
        let result = Result { () throws(ControlError) in try self.parser.take(body, into: &events) }
        let action = self.buffer.withLock { $0.received(events) }
        if action.pausesReading { self.connection?.pauseReading() }
        action.waiter?.resume(returning: action.answer)
        try result.get()
    }

    func ended() {
        if let refusal = self.refusal {
            self.fail(ControlResponse(status: refusal, body: self.refusalBody).error(of: self.request.subject))
        } else {
            self.finish(.closedByDaemon)
        }
    }

    func failed(_ error: ControlError) { self.fail(error) }

    private func fail(_ error: ControlError) {
        self.finish(.failed(error))
        self.tellOpened(.failure(error))
    }

    /// Ends the stream; returns false if it had ended before.
    @discardableResult
    private func finish(_ end: ServerEvents.End) -> Bool {
        let (isFirst, action) = self.buffer.withLock { ($0.end == nil, $0.ended(end)) }
        action.waiter?.resume(returning: action.answer)
        return isFirst
    }

    private func tellOpened(_ result: Result<Void, ControlError>) {
        guard let opened = self.opened else { return }
        self.opened = nil
        opened(result)
    }

    private static let cancelledError = ControlError(.unreachable, "the events were given up before they began")
}
