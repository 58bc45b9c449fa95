internal import NIOCore
internal import Synchronization
internal import TransferCore

/// A stream of events between the event loop, which fills it, and the one task that reads it.
///
/// Unchecked because what is not in the lock is touched on the client's loop only.
final class EventSource: ControlExchange, @unchecked Sendable {
    let request: ControlRequest
    let patience: TimeAmount?

    private let loop: any EventLoop
    private let buffer: Mutex<EventBuffer>
    private weak var connection: ControlConnection?
    private var opened: ((Result<Void, ControlError>) -> Void)?
    private var parser = ServerSentEventParser()
    private var isCancelled = false
    /// The status of a response that is an error, and its body, which says more.
    private var refusal: Int?
    private var refusalBody: [UInt8] = []

    init(_ request: ControlRequest, on loop: any EventLoop, _ configuration: ControlClient.Configuration) {
        self.request = request
        self.patience = configuration.eventTimeout
        self.loop = loop
        self.buffer = Mutex(EventBuffer(capacity: configuration.eventCapacity))
    }

    // MARK: For the reader

    /// Sets who is told whether the daemon gives the events.
    func waitForHead(_ opened: @escaping (Result<Void, ControlError>) -> Void) {
        self.opened = opened
        if self.isCancelled { self.tellOpened(.failure(Self.cancelledError)) }
    }

    /// The next event.
    func next() async throws(ControlError) -> ServerSentEvent? {
        let result: EventBuffer.Outcome = await withTaskCancellationHandler {
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

    /// How the stream ended, once it has.
    var end: ServerEvents.End? { self.buffer.withLock { $0.end } }

    /// Ends the stream from this side; the connection is closed.
    func cancel() {
        // One that has ended has no connection, and its loop may be gone.
        guard self.finish(.cancelled) else { return }
        self.loop.execute {
            self.isCancelled = true
            self.connection?.close()
            self.tellOpened(.failure(Self.cancelledError))
        }
    }

    // MARK: For the connection

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
            self.fail(ControlAnswer(status: refusal, body: self.refusalBody).error(of: self.request.subject))
        } else {
            self.finish(.closedByDaemon)
        }
    }

    func failed(_ error: ControlError) { self.fail(error) }

    private func fail(_ error: ControlError) {
        self.finish(.failed(error))
        self.tellOpened(.failure(error))
    }

    /// Whether it had not ended before.
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
