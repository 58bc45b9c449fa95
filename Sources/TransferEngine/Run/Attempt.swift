internal import Synchronization
internal import TransferCore

/// One request for (a part of) a file, with the connection that it holds at its host.
///
/// Everything mutable is touched under the run's lock only, hence `@unchecked`.
final class Attempt: AskedAttempt, @unchecked Sendable {
    enum Purpose {
        /// Learn length and validators, to compare with a file that exists; by GET if the server refuses HEAD.
        case examine(byGET: Bool)
        /// Fetch bytes of the file.
        case fetch
    }

    /// What to do once the rest of a response that nobody wants was read, so that its connection can be kept.
    enum Next: AfterResponse {
        case fail(TransferFailure)
        case redirect(HTTPURL)
        case `repeat`
        case notModified
        case examineByGET
        case examined(agrees: Bool)
    }

    let run: DownloadRun
    let number: Int
    let lane: Int
    let source: Int
    let startedAt: Int64

    let url: HTTPURL
    let origin: Origin
    let purpose: Purpose
    let hops: Int
    /// Whether a redirect turned the request into a GET without content (RFC 9110 §15.4).
    var isRewritten = false
    /// How often credentials were refused on the way here.
    var refusals = 0
    /// The connection that it holds at its origin, until it is released.
    var slot: Origin?
    /// Whether the run had received bytes when the request was made: its failure is never the file's.
    var isAdditional = false
    /// Whether it goes directly to where an earlier request was redirected.
    var isPinned = false

    // MARK: What is requested

    /// The range requested, beginning with the overlap; `nil` for the whole.
    var range: ByteRange?
    /// How many bytes that are held the range begins with.
    var overlap: Int64 = 0
    /// The held bytes of the overlap.
    var expected: [UInt8] = []
    /// Whether the request carried `If-Range`.
    var sentIfRange = false
    /// Whether it asks whether the file ends where the held bytes do.
    var isEndProbe = false
    /// Whether the request carried the caller's conditions, so that a 304 may answer it.
    var isConditional = false

    // MARK: What is received

    var exchange: (any Exchange)?
    /// Whether its bytes are being taken, or compared with held ones.
    var isTaken = false
    /// What vouches for its bytes, unless the comparison does.
    var basis: Consistency?
    /// The facts of the response, taken over once its overlap agrees.
    var facts: ResourceFacts?
    /// How many bytes of the overlap have been compared.
    var compared: Int64 = 0
    var isComparing = false
    /// The bytes behind the overlap that arrived before the file was ready.
    var leftover: [UInt8] = []
    /// Bytes of a whole response that are held already and passed over.
    var repeated: Int64 = 0
    /// The end of the response's range, as far as it is known.
    var responseEnd: Int64?
    /// Whether the response is a part (206), whose end does not tell the file's.
    var isPart = false
    /// The digests that the server gives of the part.
    var partExpected: [ExpectedDigest] = []
    /// The part's declared length.
    var partLength: Int64 = 0
    /// The digests of what arrived of it.
    ///
    /// Set under the lock with the head, never changed after: those who take the bytes, one at a time, read it without.
    var partDigests: (any DigestComputation)?
    var extent: Int?
    var isConnected = false
    var hasHead = false
    /// How long the head took, in nanoseconds.
    var headTime: Int64?
    var isOver = false
    /// Reading waits for the disk or for the rate limit; the stall clock stands still.
    var isHeld = false
    var afterDrain: Next?
    var drained = 0
    /// The most bytes of a body nobody wants that are worth reading.
    var drainLimit = DownloadRun.drainable
    /// The head of a response that failed, and the first bytes of its body, if the policy may want them.
    var failedHead: ResponseHead?
    var prefix: [UInt8] = []
    var lastActivity: Int64
    /// The bytes received behind the overlap.
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

    var isFetch: Bool { if case .fetch = self.purpose { true } else { false } }

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
