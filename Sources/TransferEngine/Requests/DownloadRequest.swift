// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
public import TransferCore

/// A download: the URLs, the destination and the options.
package struct DownloadRequest: Sendable {
    /// The file's URLs, at least one; more are mirrors of the same file.
    package var sources: [HTTPURL]

    /// The file name chosen by the caller, or `nil` to derive it from the response or the URL.
    package var name: String?

    /// The directory for the file, or `nil` for that of ``options``.
    package var directory: String?

    /// Digests that the finished file must have.
    package var expected: [ExpectedDigest]

    /// Header fields of this request, in addition to those of ``options``.
    package var fields: [(String, String)]

    /// Whether the given name must not be numbered: adding fails while another transfer uses it.
    package var nameIsExact = false

    /// Whether a file without a given or proposed name is named by the last URL after redirects, as by aria2.
    ///
    /// A URL without a last segment then yields `index.html`. Otherwise the first URL names the file.
    package var namesByFinalURL = false

    /// A unique text stored with the finished file; it identifies the file as this transfer's.
    ///
    /// A caller that records finished transfers repeats one that ended just before a crash; with its mark, the repeated
    /// transfer ends immediately with the existing file.
    package var mark: String?

    /// The method, a token; default `GET`.
    ///
    /// A request with any method other than `GET` and `HEAD` is for the whole representation, and is repeated only if
    /// the method is idempotent (RFC 9110 §9.2.2) or nothing has been sent.
    package var method = "GET"

    /// The content to send, or `nil` for none.
    package var body: [UInt8]?

    /// Fields that make the request conditional (RFC 9110 §13.1), such as `If-None-Match`.
    ///
    /// Sent only with requests for the whole representation; the transfer then finishes on 304.
    package var conditions: [(String, String)] = []

    /// How a cache in front of the network is used; `nil` does not use it.
    package var cachePolicy: CachePolicy?

    /// Called on a `BlockingPool` before a request that must not be repeated; see ``UploadRequest/noteUnrepeatable``.
    package var noteUnrepeatable: (@Sendable () throws(StorageError) -> Void)?
    /// Called on a `BlockingPool` when that request was not sent; removes the note.
    package var withdrawNote: (@Sendable () -> Void)?

    /// The policy hooks for requests and responses, or `nil`.
    package var policy: (any TransferPolicy)?

    /// The options, which many requests can share; a change affects this request only.
    package var options: DownloadOptions {
        _read { yield self.shared.options }
        set { self.shared = SharedOptions(newValue) }
    }

    /// The options as they are shared.
    var shared: SharedOptions

    /// A value of the caller, attached to every event.
    package var userInfo: (any Sendable)?

    /// Creates a request.
    ///
    /// - Precondition: `sources` is not empty.
    package init(
        _ sources: [HTTPURL],
        name: String? = nil,
        directory: String? = nil,
        expected: [ExpectedDigest] = [],
        fields: [(String, String)] = [],
        options: SharedOptions,
        userInfo: (any Sendable)? = nil
    ) {
        precondition(!sources.isEmpty, "a download requires at least one URL")
        self.sources = sources
        self.name = name
        self.directory = directory
        self.expected = expected
        self.fields = fields
        self.shared = options
        self.userInfo = userInfo
    }

    /// Creates a request with unshared options.
    ///
    /// - Precondition: `sources` is not empty.
    package init(
        _ sources: [HTTPURL],
        name: String? = nil,
        directory: String? = nil,
        expected: [ExpectedDigest] = [],
        fields: [(String, String)] = [],
        options: DownloadOptions = DownloadOptions(),
        userInfo: (any Sendable)? = nil
    ) {
        self.init(
            sources,
            name: name,
            directory: directory,
            expected: expected,
            fields: fields,
            options: SharedOptions(options),
            userInfo: userInfo
        )
    }
}

/// The options of many requests, in one place, with what follows from them.
package final class SharedOptions: Sendable {
    package let options: DownloadOptions
    private let terms = Mutex<DownloadTerms?>(nil)
    private let plainFields = Mutex<HeaderFields?>(nil)

    /// Creates options to be shared.
    package init(_ options: DownloadOptions) { self.options = options }

    /// The terms of a run that follow from the options, without sources; made once.
    func runTerms() -> DownloadTerms {
        self.terms.withLock { made in
            if let made { return made }
            let terms = DownloadTerms(self.options)
            made = terms
            return terms
        }
    }

    /// The header fields of a request for a whole file at its own origin, to which nothing is added; made once.
    func plainRequestFields() -> HeaderFields {
        self.plainFields.withLock { made in
            if let made { return made }
            var fields = HeaderFields(self.options.fields)
            DownloadRequest.complete(&fields, range: nil, ifRange: nil)
            made = fields
            return fields
        }
    }
}

/// Options of transfers, shared by requests.
package struct DownloadOptions: Sendable {
    /// The directory for files.
    package var directory: String = "."
    /// The rule for a name that is taken.
    package var ifExists: IfExists = .auto
    /// The rule for a file that another process is downloading; `nil` if it follows from ``ifExists``.
    package var ifRunning: IfRunningRule?
    /// The destination of the bytes.
    package var destination: Destination = .file
    /// Header fields for every request, `User-Agent` included; those private to the origin are not sent to another one.
    package var fields: [(String, String)] = []
    /// Whether requests may be repeated although their method is not idempotent (RFC 9110 §9.2.2).
    package var mayBeRepeated = false

    /// Whether a response of any status is the result, for uploads and for bodies that do not become a file.
    package var acceptsAnyStatus = false
    /// The priority: transfers of a higher one start first.
    package var priority: Priority = .normal
    /// The rate limit in bytes per second, or `nil`.
    package var rateLimit: Int64?
    /// The number of connections for one file; see ``ConnectionPolicy``.
    package var connections: ConnectionPolicy = .adaptive(most: 4)
    /// The size of the smallest piece for which a further connection is opened, in bytes.
    package var minimumSplit: Int64 = 1 << 20
    /// The maximum number of retries without progress.
    package var retries: Int = 5
    /// The minimum time between two attempts; a delay requested by the server, and the backoff, may be longer.
    package var retryWait: Duration = .zero
    /// The maximum duration of an outage, during which the transfer waits; `nil` treats it like any other failure.
    ///
    /// In an outage connections cannot be made or break, no name server responds, or the host responds to different
    /// transfers with errors only. Transfers that wait for its end
    /// use up no retries, and one attempt at a time is made for all transfers of a host.
    package var outageTimeout: Duration?
    /// The longest delay requested by a server that the transfer waits for; with a longer one it fails.
    ///
    /// `nil` shortens longer delays to 300 seconds.
    package var maximumRetryAfter: Duration?
    /// Whether attempts that fail in an outage use up retries, although the transfer waits for its end.
    package var retriesIncludeOutages = false
    /// The time since which the transfer has been waiting outside the engine, in seconds since 1970, or `nil`.
    ///
    /// A failed attempt at its host after this time counts as one of this transfer.
    package var waitsSince: Int64?
    /// The statuses on which a request is retried.
    package var retryStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    /// The maximum number of redirects to follow.
    package var maximumRedirects: Int = 20
    /// Whether redirects from https to http are followed.
    package var allowsDowngrade: Bool = false
    /// The timeout of name resolution, connecting and the handshake together.
    package var connectTimeout: Duration = .seconds(30)
    /// The maximum time without received or sent bytes; also that until a response head is complete.
    ///
    /// Zero disables the timeout.
    package var stallTimeout: Duration = .seconds(60)
    /// The maximum active time of a transfer: runs and the time between attempts, but not the time in the queue.
    ///
    /// Zero disables the timeout.
    package var totalTimeout: Duration = .zero
    /// The lowest rate; a slower transfer fails if what it received is kept and the server would continue it.
    ///
    /// Time in which a rate limit, the disk or a receiver holds the transfer back does not count.
    package var speedFloor: SpeedFloor?
    /// The addresses to which no request is sent; `nil` if they may be sent to all.
    package var addresses: AddressRule?
    /// Whether every file is synced to disk before it is reported as finished.
    package var durable: Bool = false
    /// The algorithm of the digest that is reported with each finished file.
    package var reportDigest: DigestAlgorithm?
    /// Whether a file that fails its digest is kept as `NAME.martlet-bad`.
    package var keepBad: Bool = true
    /// The cookies of all transfers that share these options, or `nil`; a policy may have other ones.
    package var cookies: (any CookieKeeper)?
    /// The credentials of all transfers that share these options, or `nil`; a policy may have other ones.
    package var authorizer: (any Authorizer)?
    /// Supplies a fresh URL when a link has expired, or `nil`.
    package var refresher: (any LinkRefresher)?

    /// Creates the defaults.
    package init() {}

    /// The rule for a name that is taken.
    package typealias IfExists = IfExistsRule
    /// The number of connections for one file.
    package typealias ConnectionPolicy = TransferCore.ConnectionPolicy

    /// The destination of the bytes.
    package enum Destination: Sendable {
        /// A file in the directory.
        case file
        /// A sink that accepts the bytes once and in order, and may block.
        case stream(any ByteSink)
        /// A receiver that accepts the bytes once, in order and without blocking, such as memory.
        case memory(any BodyReceiver)
    }
}

/// Receives the bytes of a body once and in order, on the lane, without blocking.
public protocol BodyReceiver: AnyObject, Sendable {
    /// Receives the next bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; valid only during the call.
    ///   - resume: Called by the receiver when it accepts more bytes, after it returned false; not during this call.
    /// - Returns: Whether more bytes can follow immediately.
    /// - Throws: The failure that ends the transfer.
    func receive(_ bytes: UnsafeRawBufferPointer, resume: @escaping @Sendable () -> Void) throws(TransferFailure)
        -> Bool

    /// Whether the received bytes are kept, so that repeated bytes can be compared with them.
    var keepsBytes: Bool { get }

    /// Whether the bytes received at an offset equal these; called only if ``keepsBytes``.
    ///
    /// - Throws: The failure that ends the transfer, if the kept bytes cannot be read: they do not differ because of it.
    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(TransferFailure) -> Bool
}

/// A destination that accepts a file's bytes once and in order, such as standard output.
public protocol ByteSink: AnyObject, Sendable {
    /// Writes all the bytes; may block. Called on a `BlockingPool` thread, one call at a time.
    func write(_ bytes: [UInt8]) throws(StorageError)

    /// Writes the first of the bytes, as many as are accepted without blocking; called on the event loop, never during
    /// ``write(_:)``.
    ///
    /// - Returns: The number of bytes written; the others are passed to ``write(_:)``. By default none.
    func writeAvailable(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> Int
}

extension ByteSink {
    /// Writes nothing.
    public func writeAvailable(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> Int { 0 }
}
