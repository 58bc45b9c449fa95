internal import Synchronization
internal import TransferCore

/// One request for a file or a part of it, with the connection slot that it occupies at its origin.
///
/// All mutable state is accessed under the run's lock only, hence `@unchecked`.
final class Attempt: AskedAttempt, @unchecked Sendable {
    enum Purpose {
        /// Fetch length and validators, to compare them with an existing file; by GET if the server refuses HEAD.
        case examine(byGET: Bool)
        /// Fetch bytes of the file.
        case fetch
    }

    /// The step that follows once the rest of an unwanted response was read, so that its connection can be kept.
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
    /// The number of credential refusals before this request.
    var refusals = 0
    /// The connection slot at its origin, until it is released.
    var slot: Origin?
    /// Whether the run had received bytes when the request was made: then its failure is not a failure of the file.
    var isAdditional = false
    /// Whether the request goes directly to the target of an earlier redirect.
    var isPinned = false

    // MARK: Request

    /// The range requested, beginning with the overlap; `nil` for the whole file.
    var range: ByteRange?
    /// The number of held bytes at the beginning of the range.
    var overlap: Int64 = 0
    /// The held bytes of the overlap.
    var expected: [UInt8] = []
    /// Whether the request carried `If-Range`.
    var sentIfRange = false
    /// Whether the request checks if the file ends at the end of the held bytes.
    var isEndProbe = false
    /// Whether the request carried the caller's conditions, so that 304 is a valid response.
    var isConditional = false

    // MARK: Response

    var exchange: (any Exchange)?
    /// Whether its bytes are accepted, or being compared with held ones.
    var isTaken = false
    /// The evidence that its bytes are of the held version; `nil` if only the comparison can provide it.
    var basis: Consistency?
    /// The facts of the response, adopted once its overlap matches.
    var facts: ResourceFacts?
    /// The number of overlap bytes compared so far.
    var compared: Int64 = 0
    var isComparing = false
    /// Bytes after the overlap that arrived before the file was ready.
    var leftover: [UInt8] = []
    /// Bytes of a whole response still to skip, because they are held already.
    var repeated: Int64 = 0
    /// The end of the response's range, or `nil` while unknown.
    var responseEnd: Int64?
    /// Whether the response is a part (206), whose end is not necessarily the end of the file.
    var isPart = false
    /// The digests that the server declares for the part.
    var partExpected: [ExpectedDigest] = []
    /// The part's declared length.
    var partLength: Int64 = 0
    /// The digests of the part's bytes received so far.
    ///
    /// Set under the lock with the head and never replaced later: the data path, which is serial, reads it without the
    /// lock.
    var partDigests: (any DigestComputation)?
    var extent: Int?
    var isConnected = false
    var hasHead = false
    /// The time from the request to the response head, in nanoseconds.
    var headTime: Int64?
    var isOver = false
    /// Whether reading is paused, for the disk or the rate limit; the stall timeout is suspended meanwhile.
    var isHeld = false
    var afterDrain: Next?
    var drained = 0
    /// The maximum number of bytes of an unwanted body worth reading.
    var drainLimit = DownloadRun.drainable
    /// The head of a failed response; set, with `prefix`, only if there is a policy that may inspect them.
    var failedHead: ResponseHead?
    var prefix: [UInt8] = []
    var lastActivity: Int64
    /// The number of bytes received after the overlap.
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

    /// Breaks the reference cycle between the attempt and its exchange, which retains its receiver, once it is over.
    @discardableResult
    private func letGo(after decision: ReadDecision) -> ReadDecision {
        if case .close = decision { self.run.state.withLock { _ in self.exchange = nil } }
        return decision
    }
}
