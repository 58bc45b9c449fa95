// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import TransferCore

/// Handles the response to one request on a connection to the daemon.
///
/// Its methods are called on the client's event loop only.
protocol ControlExchange: AnyObject {
    var request: ControlRequest { get }

    /// Whether no caller waits for it any more.
    var isAbandoned: Bool { get }

    /// The time for the head of a response, and then without a byte of its body; `nil` for none.
    var patience: TimeAmount? { get }

    /// Reports the connection that it runs on from now on.
    func began(on connection: ControlConnection)

    /// Handles the head of the response.
    func received(_ head: ResponseHead)

    /// Handles a part of the body.
    ///
    /// - Throws: An error that ends the connection, and that ``failed(_:)`` reports.
    func received(_ body: UnsafeRawBufferPointer) throws(ControlError)

    /// Handles the end of the response.
    func ended()

    /// Handles a missing or incomplete response. Called at most once, and not after ``ended()``.
    func failed(_ error: ControlError)
}

/// A call that waits for its complete response.
///
/// `@unchecked Sendable`: the variables are used on the client's event loop only. `ControlClient` calls it there by
/// `execute`, and NIO calls the handlers of a channel on its event loop, which is the same one.
final class ControlCall: ControlExchange, @unchecked Sendable {
    /// The maximum size of a response in bytes.
    static let limit = 256 << 20

    let request: ControlRequest
    let patience: TimeAmount?
    private(set) var isAbandoned = false
    private var done: ((Result<ControlResponse, ControlError>) -> Void)?
    private weak var connection: ControlConnection?
    private var status = 0
    private var body: [UInt8] = []

    /// Creates a call; ``wait(_:)`` must be called first.
    init(_ request: ControlRequest, patience: TimeAmount?) {
        self.request = request
        self.patience = patience
    }

    /// Sets the completion handler, once.
    func wait(_ done: @escaping (Result<ControlResponse, ControlError>) -> Void) {
        self.done = done
        if self.isAbandoned { self.finish(.failure(Self.cancelled)) }
    }

    /// Cancels the call.
    func cancel() {
        guard !self.isAbandoned else { return }
        self.isAbandoned = true
        // The response to an abandoned request must not be taken for that of the next one.
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

    func ended() { self.finish(.success(ControlResponse(status: self.status, body: self.body))) }

    func failed(_ error: ControlError) { self.finish(.failure(error)) }

    private func finish(_ result: Result<ControlResponse, ControlError>) {
        guard let done = self.done else { return }
        self.done = nil
        self.connection = nil
        self.body = []
        done(result)
    }

    private static let cancelled = ControlError(.unreachable, "the call was cancelled before its answer came")
}
