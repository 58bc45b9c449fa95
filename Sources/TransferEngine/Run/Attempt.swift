internal import Synchronization
internal import TransferCore

/// One request for (a part of) a file, with the connection that it holds at its host.
///
/// Everything mutable is touched under the run's lock only, hence `@unchecked`.
final class Attempt: AskedAttempt, @unchecked Sendable {
    enum Purpose {
        /// Learn length and validators, to compare with a file that is there.
        case examine
        /// Read bytes that are there already, and compare.
        case probe(Probe)
        /// Fetch bytes of the file.
        case fetch
    }

    struct Probe {
        enum Then {
            /// The existing final file becomes our partial file.
            case adopt
            /// Fetching goes on where the partial file ends.
            case goOn
        }

        var range: ByteRange
        var expected: [UInt8]
        var compared = 0
        var then: Then
    }

    /// What to do once the rest of a response that nobody wants was read, so that its connection can be kept.
    enum Next: AfterResponse {
        case fail(TransferFailure)
        case redirect(HTTPURL)
        case `repeat`
        case notModified
        case skip
        case examined(agrees: Bool)
    }

    let run: DownloadRun
    let number: Int
    let lane: Int
    let source: Int
    let startedAt: Int64

    let url: HTTPURL
    let origin: Origin
    var purpose: Purpose
    let hops: Int
    /// Whether a redirect turned the request into a GET without content (RFC 9110 §15.4).
    var isRewritten = false
    /// How often credentials were refused on the way here.
    var refusals = 0
    /// The connection that it holds at its origin, until it gives it back.
    var slot: Origin?
    var range: ByteRange?
    var exchange: (any Exchange)?
    /// What a probe's response told, for the facts of a file that is adopted.
    var validators = Validators()
    /// The digests that the server gives of the part.
    var partExpected: [ExpectedDigest] = []
    /// The part's declared length.
    var partLength: Int64 = 0
    /// The digests of what arrived of it.
    ///
    /// Set under the lock with the head, never changed after: those who take the bytes, one at a time, read it without.
    var partDigests: (any DigestComputation)?
    /// Bytes of the whole that a stream was given before and that now come again.
    var repeated: Int64 = 0
    var extent: Int?
    var isConnected = false
    var hasHead = false
    var isOver = false
    /// Reading waits for the disk or for the rate limit; the stall clock stands still.
    var isHeld = false
    var afterDrain: Next?
    var drained = 0
    /// The most bytes of a body nobody wants that are worth reading.
    var drainLimit = DownloadRun.drainable
    /// Whether the request carried the caller's conditions, so that a 304 may answer it.
    var isConditional = false
    /// The head of a response that failed, and the first bytes of its body, where the policy may want them.
    var failedHead: ResponseHead?
    var prefix: [UInt8] = []
    var lastActivity: Int64
    var bytes: Int64 = 0
    var window = RateWindow(span: 5_000_000_000)
    var bodySince: Int64?
    var quantum: Int?

    init(
        run: DownloadRun,
        number: Int,
        lane: Int,
        source: Int,
        url: HTTPURL,
        purpose: Purpose,
        slot: Origin,
        hops: Int,
        now: Int64
    ) {
        self.run = run
        self.number = number
        self.lane = lane
        self.source = source
        self.url = url
        self.purpose = purpose
        self.origin = slot
        self.slot = slot
        self.hops = hops
        self.startedAt = now
        self.lastActivity = now
    }

    func exchangeConnected() { self.run.connected(self) }

    func exchangeReceived(head: ResponseHead) -> ReadDecision { self.letGo(after: self.run.received(head, on: self)) }

    func exchangeReceived(body: UnsafeRawBufferPointer) -> ReadDecision {
        self.letGo(after: self.run.received(body, on: self))
    }

    func exchangeEnded(trailers: HTTPFields, cleanly: Bool) {
        if !trailers.isEmpty { self.run.takeDigests(trailers: trailers, self) }
        self.run.responseEnded(self, cleanly: cleanly)
        self.letGo(after: .close)
    }

    func exchangeFailed(_ error: TransportError) {
        self.run.exchangeFailed(self, error)
        self.letGo(after: .close)
    }

    /// The exchange holds its receiver: once it is over, the two must not keep each other alive.
    @discardableResult
    private func letGo(after decision: ReadDecision) -> ReadDecision {
        if case .close = decision { self.run.state.withLock { _ in self.exchange = nil } }
        return decision
    }
}
