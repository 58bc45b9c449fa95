// SPDX-License-Identifier: Apache-2.0
/// One request of a download, with the connection slot that it occupies at its origin.
struct FetchRequest: Sendable {
    enum Purpose: Hashable, Sendable {
        /// Fetch length and validators, to compare them with an existing file; by GET if the server refuses HEAD.
        case examine(byGET: Bool)
        /// Fetch bytes of the file.
        case fetch
    }

    /// The state of a request; each case owns what only it needs.
    enum Stage: Sendable {
        /// Waiting for the connection, or for the response head.
        case waiting
        /// Waiting for the policy's decision; reading is paused.
        indirect case deciding(Question)
        /// Reading the rest of an unwanted response, so that its connection can be reused.
        indirect case draining(Draining<AfterResponse>)
        /// Not sent yet, or its response has ended; the successor waits for a slot of its host.
        indirect case following(Successor)
        /// The response has ended; the caller supplies a fresh URL.
        indirect case refreshing(TransferFailure)
        /// Comparing the overlap with the held bytes.
        case comparing
        /// Accepting the bytes; the first `repeated` of them are already held.
        case receiving
    }

    /// A decision requested from a policy.
    enum Question: Sendable {
        case request(RequestFlow.Question)
        case response(ResponseHead, ResponseJudge.Verdict)
    }

    /// The step that follows the end of an unwanted response.
    enum AfterResponse: Sendable {
        case fail(TransferFailure)
        /// Send the flow's next request.
        case next(RequestFlow)
        case repeatInRanges
        case notModified(Boxed<ResourceFacts>)
        case examineByGET
        case examined(VersionJudge.Freshness)
    }

    /// The request that replaces one.
    struct Successor: Sendable {
        var flow: RequestFlow
        var purpose: Purpose
    }

    let number: DownloadAction.RequestNumber
    let lane: Int
    /// The index of its source.
    let source: Int
    /// The redirects and refusals before it, and its URL.
    let flow: RequestFlow
    let origin: Origin
    let purpose: Purpose
    var holdsSlot = true
    /// Whether the run had received bytes when the request was made: then its failure is not a failure of the file.
    var isAdditional = false
    /// Whether the request goes directly to the target of an earlier redirect.
    var isPinned = false

    // MARK: Requested

    /// The requested range, starting with the overlap; `nil` for the whole file.
    var range: ByteRange?
    /// The number of held bytes at the beginning of the range.
    var overlap: Int64 = 0
    /// Whether the request carried `If-Range`.
    var sentIfRange = false
    /// Whether the request checks if the file ends at the end of the held bytes.
    var isEndProbe = false
    /// Whether the request carried the caller's conditions, so that 304 is a valid response.
    var isConditional = false
    /// Whether the request had credentials; known with its response.
    var hasCredentials = false

    // MARK: Time

    let startedAt: Int64
    var lastActivity: Int64
    var isConnected = false
    /// The time from the request to the response head, in nanoseconds.
    var headTime: Int64?
    /// Whether reading is paused, for a decision, the disk or the rate limit; this suspends the stall timeout.
    var isPaused = false
    var window = RateWindow(span: 5_000_000_000)
    var bodySince: Int64?

    // MARK: Response

    var stage = Stage.waiting
    /// The evidence that its bytes are of the held version; `nil` if only the comparison can provide it.
    var basis: Consistency?
    /// The facts of the response, adopted once its overlap matches.
    var facts: Boxed<ResourceFacts>?
    /// The number of overlap bytes compared so far.
    var compared: Int64 = 0
    /// Bytes of a whole response still to skip, because they are already held.
    var repeated: Int64 = 0
    /// The end of the response's range, or `nil` while unknown.
    var responseEnd: Int64?
    /// Whether the response is a part (206), whose end is not necessarily the end of the file.
    var isPart = false
    /// The digests that the server declares for the part; empty if none are computed.
    var partExpected: [ExpectedDigest] = []
    /// The part's declared length.
    var partLength: Int64 = 0
    /// Whether its bytes are written at an extent of the journal.
    var hasExtent = false
    /// The number of bytes received after the overlap.
    var bytes: Int64 = 0

    init(
        number: DownloadAction.RequestNumber,
        lane: Int,
        source: Int,
        flow: RequestFlow,
        purpose: Purpose,
        now: Int64
    ) {
        self.number = number
        self.lane = lane
        self.source = source
        self.flow = flow
        self.origin = flow.url.origin
        self.purpose = purpose
        self.startedAt = now
        self.lastActivity = now
    }

    var url: HTTPURL { self.flow.url }

    /// Waits for a slot of the successor's host; the stall timeout does not apply meanwhile.
    mutating func wait(for successor: Successor) {
        self.isPaused = true
        self.holdsSlot = false
        self.stage = .following(successor)
    }

    var isFetch: Bool { self.purpose == .fetch }

    /// Whether the response head has arrived.
    var hasHead: Bool { self.headTime != nil }

    /// Whether its bytes are accepted, or being compared with held ones.
    var isTaken: Bool {
        switch self.stage {
        case .comparing, .receiving: true
        case .waiting, .deciding, .draining, .following, .refreshing: false
        }
    }

    var isComparing: Bool { if case .comparing = self.stage { true } else { false } }

    /// Whether its response has ended, so that nothing of it is read.
    var isResponseOver: Bool {
        switch self.stage {
        case .following, .refreshing: true
        case .waiting, .deciding, .draining, .comparing, .receiving: false
        }
    }

    /// Whether the server, or the network, refused the connection rather than the file.
    static func isRefused(_ failure: TransferFailure) -> Bool {
        if let status = failure.status { return [403, 408, 429, 500, 502, 503, 504, 509].contains(status) }
        return failure.isRetryable
    }
}
