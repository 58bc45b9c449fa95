// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// One request of a download with its exchange.
///
/// `@unchecked Sendable`: the variables are used on the event loop of `lane` only. The run reaches them by
/// `DownloadRun.onEventLoop`, and the transport calls a receiver there.
final class DownloadExchange: ConnectionReceiver, @unchecked Sendable {
    let run: DownloadRun
    let plan: FetchPlan
    var number: Int { self.plan.number }
    var lane: Int { self.plan.lane }

    private var exchange: (any Exchange)?
    /// The held bytes of the overlap.
    var expected: [UInt8] = []
    /// Bytes after the overlap that arrived before the file was ready.
    var leftover: [UInt8] = []
    var small: (any SmallFile)?
    var file: (any PartialFile)?
    var extent: Int?
    /// The digests of the part in the response.
    var digests: (any DigestComputation)?
    private var quantum: Int?
    private var isInCallback = false
    private(set) var isClosed = false
    /// Whether the request has credentials.
    private(set) var hasCredentials = false
    /// Whether the request was permitted for a time that has come.
    var isPermitted = false

    init(_ run: DownloadRun, _ plan: FetchPlan) {
        self.run = run
        self.plan = plan
    }

    // MARK: Control, on the event loop

    func start(_ request: consuming ExchangeRequest, on transport: any Transport) {
        self.quantum = request.readQuantum
        self.hasCredentials = request.fields.contains("Authorization")
        self.exchange = transport.start(request, onLane: self.lane, receiver: self)
    }

    /// Ends the exchange, unless its response has ended, and closes its extent.
    ///
    /// During a callback, the callback's result closes the exchange.
    func close() {
        self.isClosed = true
        if let extent, let file { file.endExtent(extent) }
        self.extent = nil
        self.file = nil
        self.small = nil
        if self.isInCallback { return }
        let exchange = self.exchange
        self.exchange = nil
        exchange?.cancel()
    }

    /// Applies the machine's decision about reading, unless a callback is about to.
    func applyReading() {
        if self.isInCallback { return }
        switch self.run.reading(self) {
        case .read: self.exchange?.resumeReading()
        case .pause: break
        case .close: self.close()
        }
    }

    func setReadQuantum(_ quantum: Int?) {
        guard quantum != self.quantum else { return }
        self.quantum = quantum
        self.exchange?.setReadQuantum(quantum)
    }

    // MARK: Callbacks

    func exchangeUses(_ connection: ConnectionReport) { self.run.uses(connection, for: self) }

    func exchangeConnected() { self.run.connected(self) }

    func exchangeReceived(head: ResponseHead) -> ReadDecision {
        self.inCallback { self.run.received(head, on: self) }
    }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.inCallback { self.run.received(body, on: self) }
    }

    func exchangeEnded(trailers: HeaderFields, cleanly: Bool) {
        self.exchange = nil
        self.run.responseEnded(self, trailers: trailers, cleanly: cleanly)
    }

    func exchangeFailed(_ error: TransportError) {
        self.exchange = nil
        self.run.exchangeFailed(self, error)
    }

    /// Runs a callback that may close this exchange; its result is `close` then.
    private func inCallback(_ body: () -> ReadDecision) -> ReadDecision {
        self.isInCallback = true
        var decision = body()
        self.isInCallback = false
        if self.isClosed { decision = .close }
        // The exchange retains its receiver: this breaks the retain cycle at its end.
        if case .close = decision { self.exchange = nil }
        return decision
    }
}
