internal import Synchronization
internal import TransferCore

/// One request of an upload, with the connection that it holds at its host.
///
/// What changes is written under the run's lock, on its lane once the request was made; it is read under the lock or on
/// that lane, hence `@unchecked`.
final class UploadAttempt: AskedAttempt, @unchecked Sendable {
    /// What to do once the response is over.
    enum Next: AfterResponse {
        case fail(TransferFailure)
        case redirect(HTTPURL, isRewritten: Bool)
        /// Ask the same again: with credentials, or without `Expect`.
        case `repeat`
        case act(UploadAction)
        /// Its body is the answer.
        case take
        /// See whether what is there already is this; otherwise fail so.
        case compare(TransferFailure)
        /// What is there has this digest; fail so, where the content has another.
        case match(ExpectedDigest, otherwise: TransferFailure)
    }

    let run: UploadRun
    let step: UploadStep
    let url: HTTPURL
    let lane: Int
    let hops: Int
    /// Whether a redirect turned the request into a GET without content (RFC 9110 §15.4).
    let isRewritten: Bool
    /// How often credentials were refused on the way here.
    var refusals = 0
    /// Whether it was sent again already because a pooled connection broke.
    var isSecond = false
    var digest: String?
    /// Of a question about what is there already: how the upload fails where that is something else.
    var refusal: TransferFailure?
    var slot: Origin?
    var exchange: (any Exchange)?
    var stretch: UploadStretch?
    var head: ResponseHead?
    var after: Next?
    var prefix: [UInt8] = []
    var drained = 0
    var isConnected = false
    var isOver = false
    /// Whether a decision is waited for; the stall clock stands still.
    var isHeld = false
    /// Whether the content waits for the rate limit or for its source; the stall clock stands still.
    var isSourceHeld = false
    var lastActivity: Int64

    init(
        _ run: UploadRun,
        _ step: UploadStep,
        url: HTTPURL,
        lane: Int,
        slot: Origin,
        hops: Int = 0,
        isRewritten: Bool = false,
        now: Int64
    ) {
        self.run = run
        self.step = step
        self.url = url
        self.lane = lane
        self.slot = slot
        self.hops = hops
        self.isRewritten = isRewritten
        self.lastActivity = now
    }

    /// The method as it is sent.
    var method: String { self.isRewritten ? "GET" : self.step.method }

    func exchangeConnected() { self.run.connected(self) }

    func exchangeReceived(interim status: Int, fields: HTTPFields) {
        self.run.received(interim: status, fields: fields, on: self)
    }

    func exchangeReceived(head: ResponseHead) -> ReadDecision { self.letGo(after: self.run.received(head, on: self)) }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.letGo(after: self.run.received(body, on: self))
    }

    func exchangeEnded(trailers: HTTPFields, cleanly: Bool) {
        self.run.responseEnded(self)
        self.letGo(after: .close)
    }

    func exchangeFailed(_ error: TransportError) {
        self.run.exchangeFailed(self, error)
        self.letGo(after: .close)
    }

    /// The exchange holds its receiver: once it is over, the two must not keep each other alive.
    @discardableResult
    private func letGo(after decision: ReadDecision) -> ReadDecision {
        if case .close = decision {
            self.run.state.withLock { _ in
                self.exchange = nil
                self.stretch = nil
            }
        }
        return decision
    }
}
