public import TransferCore

/// One download: what to fetch and where to put it.
public struct DownloadRequest: Sendable {
    /// The file's URLs, at least one; more are mirrors of the same file.
    public var sources: [HTTPURL]

    /// The user's own name for the file, or `nil` to take it from the response or the URL.
    public var name: String?

    /// The directory for the file; `nil` takes the options'.
    public var directory: String?

    /// Digests that the finished file must have.
    public var expected: [ExpectedDigest]

    /// Fields of this request alone, beside the options'.
    public var fields: [(String, String)]

    /// Whether the file must have the name given and no numbered one, as long as another transfer has that.
    public var nameIsExact = false

    /// A text that nobody else has, stored with the finished file; a file that carries it is this transfer's.
    ///
    /// Whoever keeps a record of finished transfers starts one again that ended just before a crash, and it ends at once,
    /// with the file that it has brought already.
    public var mark: String?

    /// The method, a token; other than `GET` and `HEAD` it is asked once and whole, and repeated only where RFC 9110
    /// §9.2.2 calls it idempotent, or where nothing was sent yet.
    public var method = "GET"

    /// The content to send, or `nil` for none.
    public var body: [UInt8]?

    /// Fields that make the request conditional (RFC 9110 §13.1), such as `If-None-Match`.
    ///
    /// They go with requests for the whole only; a 304 then ends the transfer well.
    public var conditions: [(String, String)] = []

    /// What decides about requests and responses, or `nil`.
    public var policy: (any TransferPolicy)?

    /// Everything that many requests share.
    public var options: DownloadOptions

    /// The caller's own information; it travels with every event.
    public var userInfo: (any Sendable)?

    /// Creates a request.
    ///
    /// - Precondition: `sources` is not empty.
    public init(
        _ sources: [HTTPURL],
        name: String? = nil,
        directory: String? = nil,
        expected: [ExpectedDigest] = [],
        fields: [(String, String)] = [],
        options: DownloadOptions = DownloadOptions(),
        userInfo: (any Sendable)? = nil
    ) {
        precondition(!sources.isEmpty, "a download needs at least one URL")
        self.sources = sources
        self.name = name
        self.directory = directory
        self.expected = expected
        self.fields = fields
        self.options = options
        self.userInfo = userInfo
    }
}

/// How downloads are made: what the requests of one purpose have in common.
public struct DownloadOptions: Sendable {
    /// The directory for files.
    public var directory: String = "."
    /// What to do where the name is taken.
    public var ifExists: IfExists = .auto
    /// Where the bytes go.
    public var destination: Destination = .file
    /// Fields for every request (`User-Agent` included); those of the user's own are dropped at another origin.
    public var fields: [(String, String)] = []
    /// The order in which transfers start.
    public var priority: Priority = .normal
    /// The most bytes a second, or `nil`.
    public var rateLimit: Int64?
    /// The connections for one file; see ``ConnectionPolicy``.
    public var connections: ConnectionPolicy = .adaptive(most: 4)
    /// The smallest piece that is worth a connection of its own, in bytes.
    public var minimumSplit: Int64 = 1 << 20
    /// Attempts beyond the first that bring nothing new.
    public var retries: Int = 5
    /// The least time between two attempts; what the server asks for, and the growing delay of its own, may be longer.
    public var retryWait: Duration = .zero
    /// How long an outage is waited out, from the time when the host became unreachable; `nil` if it is a failure like any
    /// other.
    ///
    /// An outage is that connections cannot be made or break, or that no name server responds. Transfers that wait for
    /// its end use up no retries, and one attempt at a time is made for all transfers of a host.
    public var outageTimeout: Duration?
    /// Whether attempts that fail in an outage use up retries, although it is waited out.
    public var retriesIncludeOutages = false
    /// The time since which the transfer has waited outside the engine, in seconds since 1970, or `nil`: an attempt at its
    /// host that failed later was made for it too.
    package var waitsSince: Int64?
    /// The statuses that are worth another attempt.
    public var retryStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// The most redirects to follow.
    public var maximumRedirects: Int = 20
    /// Whether https may redirect to http.
    public var allowsDowngrade: Bool = false
    /// Name resolution, connecting and the handshake together.
    public var connectTimeout: Duration = .seconds(30)
    /// No bytes for this long; also the time for a complete response head.
    ///
    /// Zero: none.
    public var stallTimeout: Duration = .seconds(60)
    /// The whole transfer from its first start, never its queueing.
    ///
    /// Zero: none.
    public var totalTimeout: Duration = .zero
    /// Whether every file is synced to disk before it is reported.
    public var durable: Bool = false
    /// The algorithm whose digest is reported with each finished file.
    public var reportDigest: DigestAlgorithm?
    /// Whether a file that fails its digest is kept as `NAME.martlet-bad`.
    public var keepBad: Bool = true
    /// Supplies a fresh URL where a link has expired, or `nil`.
    public var refresher: (any LinkRefresher)?

    /// Creates the defaults.
    public init() {}

    /// What to do if the name is taken.
    public typealias IfExists = IfExistsRule
    /// The number of connections for one file.
    public typealias ConnectionPolicy = TransferCore.ConnectionPolicy

    /// Where the bytes go.
    public enum Destination: Sendable {
        /// A file in the directory.
        case file
        /// A sink that takes the bytes once and in order, and may block.
        case stream(any ByteSink)
        /// A receiver that takes the bytes once and in order, at once, such as memory.
        case memory(any BodyReceiver)
    }
}

/// Takes a body's bytes once and in order, on the lane, without blocking.
public protocol BodyReceiver: AnyObject, Sendable {
    /// Takes bytes, which are valid only during the call.
    ///
    /// - Parameters:
    ///   - bytes: What follows what was given before.
    ///   - resume: To be called once more may come, where the answer was false; not from within this call.
    /// - Returns: Whether more may come at once.
    /// - Throws: What ends the transfer.
    func receive(_ bytes: UnsafeRawBufferPointer, resume: @escaping @Sendable () -> Void) throws(TransferFailure)
        -> Bool

    /// Whether it still has what it was given, so that it can compare.
    var keepsBytes: Bool { get }

    /// Whether bytes are those that it was given at an offset; asked only where ``keepsBytes``.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool
}

/// Takes a file's bytes once and in order, such as standard output.
public protocol ByteSink: AnyObject, Sendable {
    /// Writes all the bytes; may block. Called on a `BlockingPool` thread, one call at a time.
    func write(_ bytes: [UInt8]) throws(StorageError)
}
