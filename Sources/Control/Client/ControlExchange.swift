internal import NIOCore
internal import TransferCore

/// What a connection to the daemon does with the response to one request.
///
/// Called on the client's event loop only.
protocol ControlExchange: AnyObject {
    /// What is asked.
    var request: ControlRequest { get }

    /// Whether nobody waits for it any more.
    var isAbandoned: Bool { get }

    /// The longest time without any byte of the response; `nil` for no limit.
    var patience: TimeAmount? { get }

    /// The connection that it runs on from now on.
    func began(on connection: ControlConnection)

    /// The head of the response came.
    func received(_ head: ResponseHead)

    /// A part of the body came.
    ///
    /// - Throws: An error that ends the connection, and is told by ``failed(_:)``.
    func received(_ body: UnsafeRawBufferPointer) throws(ControlError)

    /// The response is complete.
    func ended()

    /// No response comes, or no more of it. Called once at most, and not after ``ended()``.
    func failed(_ error: ControlError)
}

/// A call that waits for its whole answer.
///
/// Unchecked because its variables are touched on the client's loop only.
final class ControlCall: ControlExchange, @unchecked Sendable {
    /// The most bytes of an answer.
    static let limit = 256 << 20

    let request: ControlRequest
    let patience: TimeAmount?
    private(set) var isAbandoned = false
    private var done: ((Result<ControlAnswer, ControlError>) -> Void)?
    private weak var connection: ControlConnection?
    private var status = 0
    private var body: [UInt8] = []

    /// Creates a call; ``wait(_:)`` comes before anything else.
    init(_ request: ControlRequest, patience: TimeAmount?) {
        self.request = request
        self.patience = patience
    }

    /// Sets who is told the answer, once.
    func wait(_ done: @escaping (Result<ControlAnswer, ControlError>) -> Void) {
        self.done = done
        if self.isAbandoned { self.finish(.failure(Self.cancelled)) }
    }

    /// Gives up waiting.
    func cancel() {
        guard !self.isAbandoned else { return }
        self.isAbandoned = true
        // What the daemon answers to a request of which nobody knows must not be taken for the next one's.
        self.connection?.close()
        self.finish(.failure(Self.cancelled))
    }

    func began(on connection: ControlConnection) {
        self.connection = connection
        self.status = 0
        self.body = []
    }

    func received(_ head: ResponseHead) {
        self.status = head.status
        if case .length(let length) = head.framing { self.body.reserveCapacity(Int(min(length, 1 << 20))) }
    }

    func received(_ body: UnsafeRawBufferPointer) throws(ControlError) {
        guard self.body.count + body.count <= Self.limit else {
            throw ControlError(
                .tooMuch,
                "the daemon's answer to \(self.request.subject) is longer than \(Self.limit >> 20) MiB",
                remedy: "ask for less at once"
            )
        }
        self.body.append(contentsOf: body)
    }

    func ended() { self.finish(.success(ControlAnswer(status: self.status, body: self.body))) }

    func failed(_ error: ControlError) { self.finish(.failure(error)) }

    private func finish(_ result: Result<ControlAnswer, ControlError>) {
        guard let done = self.done else { return }
        self.done = nil
        self.connection = nil
        self.body = []
        done(result)
    }

    private static let cancelled = ControlError(.unreachable, "the call was cancelled before its answer came")
}
