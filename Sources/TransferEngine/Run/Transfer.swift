internal import Synchronization
internal import TransferCore

/// One transfer from its addition to its end: its request, and what its runs learned about the resource.
///
/// A waiting transfer is cheap; the state of a running one is in its ``TransferRun``, and its place in the queue in the
/// ``EngineMachine``.
final class Transfer: Sendable {
    /// The request of a transfer.
    enum Work: Sendable {
        case download(DownloadRequest)
        case upload(UploadRequest)
    }

    let id: TransferID
    let work: Work
    /// The options common to downloads and uploads.
    let options: DownloadOptions
    let policy: (any TransferPolicy)?
    let userInfo: (any Sendable)?
    /// The initial URL.
    let source: HTTPURL
    /// The directory and the name taken when the transfer was added, before any response could propose a name.
    let reserved: FileTarget
    /// The name without a number.
    let baseName: String
    /// Whether the user chose the name.
    let isNamedByUser: Bool
    /// The origin in whose queue the transfer waits.
    let origin: Origin
    let memory: Mutex<Memory>
    /// The limit of this transfer's rate.
    let limiter: Mutex<RateLimiter>

    /// What runs have learned, kept from one to the next.
    struct Memory: Sendable {
        /// How often the file was restarted because a response did not continue the held bytes.
        var restarts = 0
        /// Whether the server has ever sent a 206 that continued at the requested offset.
        var rangesProven = false
        /// Whether the server ignored a range; no more are requested.
        var rangesRefused = false
        /// Whether the server responds to `If-Range` as if the file had changed although it has not.
        var omitsIfRange = false
        /// Whether a response lacked the validators of the previous one: ranges begin with an overlap.
        var wantsOverlap = false
        /// How often a 206 had no usable `Content-Range`.
        var malformedRanges = 0
        /// Whether the server sends this file in ranges only.
        var sendsRangesOnly = false
        /// Whether the file must be fetched in one response, because several responses gave a wrong digest.
        var takesSingleResponse = false
        /// Sources that failed or have another file.
        var badSources: Set<Int> = []
        /// Sources whose responses were shown to be of the same version as the first one's.
        var provenSources: Set<Int> = []
        /// Mirrors not shown to have the same version: they continue the file only when no other source can.
        var fallbackSources: Set<Int> = []
        /// Fresh URLs of sources whose link had expired.
        var freshLinks: [Int: HTTPURL] = [:]
        /// How often a fresh URL was requested.
        var refreshes = 0
        /// The target of the file, once a response or the user has determined it.
        var target: FileTarget?
        /// The file that replaces memory as the destination, once the policy has decided so.
        var diversion: Diversion?
        /// Whether the policy has decided about the response.
        var isResponseDecided = false
        /// The position of a stream.
        var stream = StreamPosition()
        /// The position of an upload.
        var upload = UploadPosition()
    }

    /// The partial file that a cancellation deletes, if there may be one.
    var deletable: FileTarget? { self.memory.withLock { $0.target } }

    /// Cancels an upload's stream, from which nothing more is read; idempotent.
    func letGoOfSource() {
        if case .upload(let request) = self.work, case .stream(let stream) = request.content { stream.cancel() }
    }

    /// The progress of a stream, whose bytes cannot be taken back.
    struct StreamPosition: Sendable {
        var count: Int64 = 0
        /// The last bytes, for comparing an overlap.
        var tail = StreamTail(capacity: Int(VersionJudge.overlap))
        var facts: ResourceFacts?
        /// The digests of the whole that the server declared.
        var serverDigests: [ExpectedDigest] = []
        /// The digests of the bytes so far, if any are expected or requested.
        var digests: (any DigestComputation)?
    }

    /// The progress of an upload.
    struct UploadPosition: Sendable {
        /// The identities of its files when it began.
        var files: [FileIdentity]?
        /// The record of its upload resource, once there is one.
        var record: UploadRecord?
        /// The record of an upload resource that the server no longer has.
        var lost: UploadRecord?
        /// Whether the journal has been read.
        var hasReadJournal = false
        /// Whether bytes of a stream were read, which cannot be read again.
        var isStreamTaken = false
        /// Whether the server does not respond to a request for its capabilities.
        var ignoresQuestion = false
        /// Whether the server refuses `Expect` (417).
        var refusesExpect = false
        /// The maximum number of bytes that the server has acknowledged.
        var acknowledged: Int64 = 0
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
        self.memory = Mutex(Memory())
        self.limiter = Mutex(RateLimiter(rate: request.options.rateLimit))
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
        var memory = Memory()
        // The response to a method with effects is not a representation whose parts can be requested separately.
        memory.rangesRefused = !self.asksForWhole
        self.memory = Mutex(memory)
        self.limiter = Mutex(RateLimiter(rate: request.options.rateLimit))
    }

    /// Whether the transfer fetches a whole representation, so that parts of it may be requested and compared.
    ///
    /// False for the response to a POST, and for a request with the caller's own `Range`.
    let asksForWhole: Bool

    private static func asksForWhole(_ request: DownloadRequest) -> Bool {
        Self.isSafe(request.method)
            && !request.fields.contains { $0.0.utf8.count == 5 && $0.0.lowercased() == "range" }
    }

    /// Whether a method only reads, so that parts may be requested and existing files compared.
    static func isSafe(_ method: String) -> Bool { method == "GET" || method == "HEAD" }

    /// Whether repeating a request has the same effect as sending it once (RFC 9110 §9.2.2).
    static func isIdempotent(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE": true
        default: false
        }
    }

    func event(_ kind: TransferEvent.Kind) -> TransferEvent {
        TransferEvent(id: self.id, source: self.source, userInfo: self.userInfo, kind: kind)
    }
}
