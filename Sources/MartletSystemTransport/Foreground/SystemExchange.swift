// SPDX-License-Identifier: Apache-2.0
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import TransferCore
internal import TransferEngine

/// One request and its response, as a task of a `URLSession`.
///
/// `@unchecked Sendable`: the variables are used on the lane only. The delegate of the session calls there, the spool
/// and the deadline, too, and the engine's commands are passed to it.
final class SystemExchange: Exchange, @unchecked Sendable {
    private let lane: SystemLane
    private let request: ExchangeRequest
    private var receiver: (any ExchangeReceiver)?
    private var flow: ExchangeFlow<Data>
    private var task: URLSessionTask?
    private var spool: ContentSpool?
    private var sent: Int64 = 0
    private var quantum: Int
    /// Called once, when the exchange is over.
    private var onEnd: ((SystemExchange) -> Void)?

    private static let defaultQuantum = 512 << 10

    init(
        _ request: ExchangeRequest,
        on lane: SystemLane,
        receiver: any ExchangeReceiver,
        limit: Int,
        onEnd: @escaping (SystemExchange) -> Void
    ) {
        self.lane = lane
        self.request = request
        self.receiver = receiver
        self.flow = ExchangeFlow(limit: limit, canSuspend: Self.canSuspend)
        self.quantum = max(1, request.readQuantum ?? Self.defaultQuantum)
        self.onEnd = onEnd
    }

    /// Whether a suspended data task continues where it was: FoundationNetworking sends the request again.
    private static var canSuspend: Bool {
        #if canImport(FoundationNetworking)
        false
        #else
        true
        #endif
    }

    /// The task's number in its session; `nil` before it is made.
    var taskNumber: Int? { self.task?.taskIdentifier }

    // MARK: Starting

    /// Starts the request.
    ///
    /// - Parameters:
    ///   - timeout: The time for the response's head, or for the first byte that is sent.
    ///   - make: Makes the task; `nil` if the session has ended.
    func start(
        timeout: Duration,
        _ make: @escaping @Sendable (SystemExchange, URLRequest, ContentSpool.Result?) -> URLSessionTask?
    ) {
        let system: URLRequest
        do {
            system = try URLRequest(self.request)
        } catch {
            return self.lane.later { self.perform { $0.completed(error) } }
        }
        if let content = self.request.content {
            let spool = ContentSpool(content, on: self.lane) { [weak self] result in
                guard let self, !self.flow.isOver else { return }
                if case .failed(let error) = result { return self.perform { $0.completed(error) } }
                self.begin(make(self, system, result), timeout)
            }
            self.spool = spool
            return spool.begin()
        }
        self.begin(make(self, system, self.request.body.map { .data(Data($0)) }), timeout)
    }

    private func begin(_ task: URLSessionTask?, _ timeout: Duration) {
        guard let task else { return self.shutDown() }
        self.task = task
        task.resume()
        let origin = self.request.url.origin
        self.lane.schedule(after: timeout) { [weak self] in
            let error = TransportError(
                .connectTimeout,
                "\(origin.host):\(origin.port) did not respond within \(timeout)",
                setting: .connectTimeout
            )
            self?.perform { $0.deadlinePassed(error) }
        }
    }

    // MARK: The session's events

    func sent(total: Int64) {
        guard total > self.sent else { return }
        let count = Int(total - self.sent)
        self.sent = total
        self.perform { $0.connected() }
        if !self.flow.isOver { self.request.content?.sent(count) }
    }

    /// A head arrived.
    ///
    /// - Returns: Whether the task continues.
    func received(_ head: ReportedHead) -> Bool {
        let (method, acceptsCoding) = (self.request.method, self.request.acceptsCoding)
        self.perform { flow in
            if (100...199).contains(head.status), head.status != 101 {
                flow.interimReceived(head.status, ResponseTranslation.fields(head.fields) ?? [:])
            } else {
                flow.headReceived(ResponseTranslation.head(head, method: method, acceptsCoding: acceptsCoding))
            }
        }
        return !self.flow.isOver
    }

    func received(_ data: Data) {
        for region in data.regions {
            var offset = region.startIndex
            while offset < region.endIndex {
                let end = min(offset + self.quantum, region.endIndex)
                let piece = region[offset..<end]
                self.perform { $0.bodyReceived(piece, count: piece.count) }
                offset = end
            }
        }
    }

    func challengeDeclined() { self.flow.challengeDeclined() }

    func completed(_ error: (any Error)?) {
        let (origin, hasHead) = (self.request.url.origin, self.flow.hasHead)
        self.perform { $0.completed(error.map { TransportError($0, from: origin, hasHead: hasHead) }) }
    }

    /// Fails the exchange, because the transport ends.
    func shutDown() {
        let origin = self.request.url.origin
        self.perform { $0.shutDown(TransportError(.cancelled, "the transport to \(origin.host) was shut down")) }
    }

    // MARK: Exchange

    func resumeReading() { self.lane.execute { self.perform { $0.resumed() } } }

    func cancel() { self.lane.execute { self.perform { $0.cancelled() } } }

    func setReadQuantum(_ bytes: Int?) {
        self.lane.execute { self.quantum = max(1, bytes ?? Self.defaultQuantum) }
    }

    // MARK: Performing

    private func perform(_ event: (inout ExchangeFlow<Data>) -> Void) {
        event(&self.flow)
        while let delivery = self.flow.next() { self.deliver(delivery) }
        for command in self.flow.takeCommands() {
            switch command {
            case .suspend: self.task?.suspend()
            case .resume: self.task?.resume()
            case .cancel: self.task?.cancel()
            }
        }
        if self.flow.isOver { self.end() }
    }

    private func deliver(_ delivery: ExchangeFlow<Data>.Delivery) {
        guard let receiver = self.receiver else { return }
        switch delivery {
        case .connected: receiver.exchangeConnected()
        case .interim(let status, let fields): receiver.exchangeReceived(interim: status, fields: fields)
        case .head(let head): self.flow.delivered(receiver.exchangeReceived(head: head))
        case .body(let data):
            let decision = data.withUnsafeBytes { receiver.exchangeReceived(body: $0) }
            self.flow.delivered(decision)
        case .ended(let cleanly):
            self.end()
            receiver.exchangeEnded(trailers: [:], cleanly: cleanly)
        case .failed(var error):
            error.peer = error.peer ?? self.request.url.origin
            self.end()
            receiver.exchangeFailed(error)
        }
    }

    private func end() {
        self.receiver = nil
        self.spool?.stop()
        self.spool = nil
        let onEnd = self.onEnd
        self.onEnd = nil
        onEnd?(self)
    }
}
