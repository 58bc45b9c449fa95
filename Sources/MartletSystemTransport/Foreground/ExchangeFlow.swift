// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Decides what happens to one exchange that a task of `URLSession` performs.
///
/// Pure value: what the task reports goes in, what its receiver gets and what the task has to do come out. A task
/// reports without waiting for the receiver, so that what a paused receiver does not take is kept here, up to a limit.
///
/// - Invariant: The deliveries are in the port's order: connected, interim heads, the head, the body, one end.
/// - Invariant: Each delivered byte is the next one of the response whose head was delivered.
struct ExchangeFlow<Chunk: Sendable>: Sendable {
    /// A call of the receiver.
    enum Delivery: Sendable {
        case connected
        case interim(Int, HeaderFields)
        case head(ResponseHead)
        case body(Chunk)
        case ended(cleanly: Bool)
        case failed(TransportError)
    }

    /// A command for the task.
    enum Command: Sendable, Equatable {
        case suspend, resume, cancel
    }

    /// The reports of the task so far.
    private enum Reception {
        case waiting
        case receiving(ResponseHead)
        case over
    }

    private let limit: Int
    private let canSuspend: Bool
    private var reception = Reception.waiting
    private var waiting: ArraySlice<(delivery: Delivery, bytes: Int)> = []
    private(set) var bufferedBytes = 0
    private var received: Int64 = 0
    private var hasConnected = false
    private var isTaskSuspended = false
    private var hasTaskEnded = false
    private var hasDeclinedChallenge = false
    private var isPaused = false
    private var isDelivering = false
    private var wasResumed = false
    private var commands: [Command] = []
    /// Whether the receiver gets no more calls.
    private(set) var isOver = false

    /// Creates the flow of a task that was just started.
    ///
    /// - Parameters:
    ///   - limit: The number of bytes that are kept for a paused receiver.
    ///   - canSuspend: Whether a task that is suspended stops reading and continues where it was.
    init(limit: Int, canSuspend: Bool) {
        self.limit = limit
        self.canSuspend = canSuspend
    }

    /// Whether the server has shown that it is reached.
    var isConnected: Bool { self.hasConnected }

    /// Whether the head of the response has arrived.
    var hasHead: Bool {
        if case .waiting = self.reception { return false }
        return true
    }

    // MARK: The task's reports

    /// Bytes of the request were sent.
    mutating func connected() {
        guard !self.hasConnected, !self.isFinished else { return }
        self.hasConnected = true
        self.append(.connected)
    }

    /// An interim response arrived.
    mutating func interimReceived(_ status: Int, _ fields: HeaderFields) {
        guard case .waiting = self.reception, !self.isOver else { return }
        self.connected()
        self.append(.interim(status, fields))
    }

    /// The head of a response arrived, or one that cannot be used.
    mutating func headReceived(_ result: Result<ResponseHead, TransportError>) {
        switch (self.reception, result) {
        case _ where self.isOver: return
        case (.over, _): return
        case (.receiving, _):
            // A task that the system restarts begins with the first byte again, maybe of another version.
            self.fail(TransportError(.truncated, "the system started the request again in the middle of the response"))
        case (.waiting, .failure(let error)):
            self.connected()
            self.fail(error)
        case (.waiting, .success(let head)):
            self.connected()
            self.reception = .receiving(head)
            self.append(.head(head))
        }
    }

    /// Bytes of the body arrived.
    mutating func bodyReceived(_ chunk: Chunk, count: Int) {
        guard !self.isFinished, count > 0 else { return }
        guard case .receiving(let head) = self.reception else {
            return self.fail(TransportError(.malformed, "content arrived before the head of its response"))
        }
        self.received += Int64(count)
        if let length = head.declaredLength, self.received > length {
            return self.fail(TransportError(.malformed, "the response has more than the \(length) bytes it declares"))
        }
        self.append(.body(chunk), bytes: count)
        guard self.isPaused, self.bufferedBytes > self.limit else { return }
        // The receiver is slower than the network, and the task cannot wait: what is here is delivered, and the rest is
        // requested again.
        self.fail(TransportError(.truncated, "the content arrived faster than it is read, and the system cannot wait"))
    }

    /// The program has declined to answer a challenge, so that the response itself is the result.
    mutating func challengeDeclined() { self.hasDeclinedChallenge = true }

    /// The task has ended.
    ///
    /// - Parameter error: Its error, or `nil`.
    mutating func completed(_ error: TransportError?) {
        self.hasTaskEnded = true
        guard !self.isFinished else { return }
        guard case .receiving(let head) = self.reception else {
            return self.fail(error ?? TransportError(.malformed, "the system reported no response"))
        }
        let length = head.declaredLength
        // FoundationNetworking cancels a task whose challenge was declined, after the response's last byte.
        let isComplete = length.map { self.received == $0 } ?? (error?.code == .cancelled && self.hasDeclinedChallenge)
        if let error, !isComplete { return self.fail(error) }
        if let length, self.received < length {
            return self.fail(
                TransportError(.truncated, "the response ended after \(self.received) of \(length) bytes")
            )
        }
        self.reception = .over
        self.append(.ended(cleanly: length != nil))
    }

    /// The time for the response has passed.
    mutating func deadlinePassed(_ error: TransportError) {
        guard !self.hasConnected else { return }
        self.fail(error)
    }

    // MARK: The receiver's decisions

    /// The next call of the receiver; `nil` if there is none now.
    mutating func next() -> Delivery? {
        guard !self.isPaused, !self.isDelivering, !self.isOver else { return nil }
        guard let (delivery, bytes) = self.waiting.popFirst() else {
            if self.isTaskSuspended { self.command(.resume) }
            return nil
        }
        self.bufferedBytes -= bytes
        switch delivery {
        case .ended, .failed: self.isOver = true
        case .head, .body: (self.isDelivering, self.wasResumed) = (true, false)
        case .connected, .interim: break
        }
        return delivery
    }

    /// The receiver was called with a head or with bytes, and has decided.
    mutating func delivered(_ decision: ReadDecision) {
        self.isDelivering = false
        guard !self.isOver else { return }
        switch decision {
        case .read: break
        case .pause:
            guard !self.wasResumed else { return }
            self.isPaused = true
            if self.canSuspend { self.command(.suspend) }
        case .close: self.cancelled()
        }
    }

    /// The receiver wants to read again.
    mutating func resumed() {
        self.wasResumed = true
        self.isPaused = false
    }

    mutating func cancelled() {
        guard !self.isOver else { return }
        self.isOver = true
        self.reception = .over
        self.drop()
        self.command(.cancel)
    }

    /// The transport ends every exchange.
    mutating func shutDown(_ error: TransportError) {
        guard !self.isOver else { return }
        self.drop()
        self.isPaused = false
        self.reception = .over
        self.append(.failed(error))
        self.command(.cancel)
    }

    /// The commands for the task since the last call, in order.
    mutating func takeCommands() -> [Command] {
        defer { self.commands = [] }
        return self.commands
    }

    // MARK: Parts

    /// Whether nothing more is expected of the task.
    private var isFinished: Bool {
        if case .over = self.reception { return true }
        return self.isOver
    }

    private mutating func fail(_ error: TransportError) {
        guard !self.isFinished else { return }
        self.reception = .over
        self.append(.failed(error))
        self.command(.cancel)
    }

    private mutating func append(_ delivery: Delivery, bytes: Int = 0) {
        self.waiting.append((delivery, bytes))
        self.bufferedBytes += bytes
    }

    private mutating func drop() {
        self.waiting = []
        self.bufferedBytes = 0
    }

    private mutating func command(_ command: Command) {
        guard !self.hasTaskEnded else { return }
        switch command {
        case .suspend:
            guard !self.isTaskSuspended, !self.isFinished else { return }
            self.isTaskSuspended = true
        case .resume: self.isTaskSuspended = false
        case .cancel: self.hasTaskEnded = true
        }
        self.commands.append(command)
    }
}

extension ResponseHead {
    /// The number of bytes of the body that the head declares, or `nil` if the end of the body is not known.
    var declaredLength: Int64? {
        switch self.framing {
        case .none: 0
        case .length(let length): length
        case .chunked, .untilClose: nil
        }
    }
}
