internal import Synchronization
internal import TransferCore

/// One transfer from being added to its end: what it is, and what is remembered from one run to the next.
///
/// A transfer that waits costs little; what a running one needs lies in its ``TransferRun``.
final class Transfer: Sendable {
    /// What is to be done.
    enum Work: Sendable {
        case download(DownloadRequest)
        case upload(UploadRequest)
    }

    let id: TransferID
    let work: Work
    /// What both kinds have in common.
    let options: DownloadOptions
    let policy: (any TransferPolicy)?
    let userInfo: (any Sendable)?
    /// The URL that it began with.
    let source: HTTPURL
    /// The directory and the name taken when it was added, before any response could tell a better one.
    let reserved: FileTarget
    /// The name before any number was put to it.
    let baseName: String
    /// Whether the user chose the name.
    let isNamedByUser: Bool
    /// The origin that the transfer's place in the line belongs to.
    let origin: Origin
    let memory: Mutex<Memory>

    /// What one run leaves for the next.
    struct Memory: Sendable {
        var state: TransferState = .waiting
        var budget: RetryBudget
        var rateLimit: Int64?
        var limiter: RateLimiter
        var priority: Priority
        /// The attempts begun so far.
        var attempts = 0
        /// How often the file was restarted because a response did not continue what was held.
        var restarts = 0
        /// Whether a 206 ever continued where it was to.
        var rangesProven = false
        /// Whether the server ignored a range; no more are requested.
        var rangesRefused = false
        /// Whether the server responds to `If-Range` as if the file had changed though it has not.
        var omitsIfRange = false
        /// Whether a response lacked the validators that the one before it had: ranges begin with an overlap.
        var wantsOverlap = false
        /// How often a 206 had no usable `Content-Range`.
        var malformedRanges = 0
        /// Whether the server sends this file in ranges only.
        var sendsRangesOnly = false
        /// Whether the whole is to be of one response, because a file of several did not have its digest.
        var takesSingleResponse = false
        /// Sources that failed or have another file.
        var badSources: Set<Int> = []
        /// Sources whose responses were shown to be of the same version as the first one's.
        var provenSources: Set<Int> = []
        /// Mirrors that nothing shows to have the same version: they continue the file only when no other source can.
        var fallbackSources: Set<Int> = []
        /// Fresh URLs of sources whose link had expired.
        var freshLinks: [Int: HTTPURL] = [:]
        /// How often a fresh URL was requested.
        var refreshes = 0
        /// Time spent running, in nanoseconds; queueing is not in it.
        var activeTime: Int64 = 0
        /// Bytes of body received.
        var received: Int64 = 0
        /// Where the file will be, once a response or the user has told.
        var target: FileTarget?
        /// Where the body goes instead of to memory, once the policy has said so.
        var diversion: Diversion?
        /// Whether the policy has decided about the response.
        var isResponseDecided = false
        /// What a stream has been given already.
        var stream = StreamPosition()
        /// What an upload has come to.
        var upload = UploadPosition()
        var wakeUp: (any Timer)?
    }

    /// The partial file that a cancellation deletes, if there may be one.
    var deletable: FileTarget? { self.memory.withLock { $0.target } }

    /// Lets an upload's stream know that nothing more is taken from it; more than once does no harm.
    func letGoOfSource() {
        if case .upload(let request) = self.work, case .stream(let stream) = request.content { stream.cancel() }
    }

    /// How far a stream has come; its bytes cannot be taken back.
    struct StreamPosition: Sendable {
        var count: Int64 = 0
        /// The last bytes, for comparing an overlap.
        var tail = StreamTail(capacity: Int(VersionJudge.overlap))
        var facts: ResourceFacts?
        /// What the server said of the whole.
        var serverDigests: [ExpectedDigest] = []
        /// The digests of the bytes so far, where some are expected or asked for.
        var digests: (any DigestComputation)?
    }

    /// How far an upload has come.
    struct UploadPosition: Sendable {
        /// Its files as they were when it began.
        var files: [FileIdentity]?
        /// Where its own resource is, once there is one.
        var record: UploadRecord?
        /// Where it was, if the server says it has it no more.
        var lost: UploadRecord?
        /// Whether the journal has been read.
        var hasReadJournal = false
        /// Whether a stream's bytes were taken, which cannot come again.
        var isStreamTaken = false
        /// Whether the server says nothing to the question what it can.
        var ignoresQuestion = false
        /// Whether the server takes no `Expect` (417).
        var refusesExpect = false
        /// Bytes of content sent.
        var sent: Int64 = 0
    }

    init(id: TransferID, upload request: UploadRequest) {
        self.id = id
        self.work = .upload(request)
        self.options = request.options
        self.policy = request.policy
        self.userInfo = request.userInfo
        self.source = request.url
        self.reserved = FileTarget(directory: "", name: "")
        self.baseName = ""
        self.isNamedByUser = false
        self.origin = request.url.origin
        self.asksForWhole = false
        self.memory = Mutex(
            Memory(
                budget: RetryBudget(retries: request.options.retries),
                rateLimit: request.options.rateLimit,
                limiter: RateLimiter(rate: request.options.rateLimit),
                priority: request.options.priority
            )
        )
    }

    init(id: TransferID, request: DownloadRequest, reserved: FileTarget, baseName: String, isNamedByUser: Bool) {
        self.id = id
        self.work = .download(request)
        self.options = request.options
        self.policy = request.policy
        self.userInfo = request.userInfo
        self.source = request.sources[0]
        self.asksForWhole = Self.asksForWhole(request)
        self.reserved = reserved
        self.baseName = baseName
        self.isNamedByUser = isNamedByUser
        self.origin = request.sources[0].origin
        var memory = Memory(
            budget: RetryBudget(retries: request.options.retries),
            rateLimit: request.options.rateLimit,
            limiter: RateLimiter(rate: request.options.rateLimit),
            priority: request.options.priority
        )
        // What a method with effects answers is no representation whose parts could be asked for one by one.
        memory.rangesRefused = !self.asksForWhole
        self.memory = Mutex(memory)
    }

    /// Whether the transfer is of a representation as a whole, so that parts of it may be asked for and compared.
    ///
    /// Neither the answer to a POST is, nor the part that the caller asked for by a `Range` of its own.
    let asksForWhole: Bool

    private static func asksForWhole(_ request: DownloadRequest) -> Bool {
        Self.isSafe(request.method)
            && !request.fields.contains { $0.0.utf8.count == 5 && $0.0.lowercased() == "range" }
    }

    /// Whether a method only reads, so that parts may be asked for and what is there compared.
    static func isSafe(_ method: String) -> Bool { method == "GET" || method == "HEAD" }

    /// Whether doing it twice is the same as doing it once (RFC 9110 §9.2.2).
    static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default: false
        }
    }

    /// Takes an edge between two states.
    ///
    /// - Precondition: `TransferState.allows` has it.
    func move(to next: TransferState) {
        self.memory.withLock { memory in
            precondition(memory.state.allows(next), "transfer \(self.id) cannot go from \(memory.state) to \(next)")
            memory.state = next
        }
    }

    var state: TransferState { self.memory.withLock { $0.state } }

    func event(_ kind: TransferEvent.Kind) -> TransferEvent {
        TransferEvent(id: self.id, source: self.source, userInfo: self.userInfo, kind: kind)
    }
}
