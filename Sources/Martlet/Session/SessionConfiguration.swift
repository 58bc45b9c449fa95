public import CoreMetrics
public import Logging

/// How a session works: a value, copied when the session is made.
public struct SessionConfiguration: Sendable {
    /// For most programs: cookies shared with the other sessions of this process, proxies from the environment.
    public static var `default`: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.cookies = .shared
        return configuration
    }

    /// Leaves nothing on disk but the files asked for: cookies and credentials are in memory, and the session's own.
    public static var ephemeral: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.cookies = CookieStorage()
        return configuration
    }

    // MARK: Requests

    /// Header fields for every request, unless it has its own of the same name.
    ///
    /// Without a `User-Agent` here Martlet names itself.
    public var headers = HTTPFields()

    /// The cookies that go with requests and where those of responses are kept; `nil` for none at all.
    public var cookies: CookieStorage?

    /// Which cookies of responses are kept.
    public var cookieAcceptance = CookieAcceptance.always

    /// Credentials for servers that ask for them.
    public var credentials = Credentials()

    // MARK: Limits

    /// The tasks that run at once, at least 1; what waits does not time out.
    public var concurrentTransfers = 6

    /// The connections to one host (scheme, host and port); `nil` for as many as tasks run at once, at least 4.
    public var connectionsPerHost: Int?

    /// The connections that one download may get where the server sends parts and more of them prove to help.
    ///
    /// 1 fetches every file over one connection.
    public var connectionsPerDownload = 4

    /// Bytes a second over all tasks, or `nil`.
    public var rateLimit: Int64?

    // MARK: Time

    /// Name resolution, connecting and the handshakes together; zero is none.
    public var connectTimeout = Duration.seconds(30)

    /// No bytes for this long end an attempt; also the time for a complete response head.
    ///
    /// Zero is none. Time that a task waits for its turn never counts.
    public var requestTimeout = Duration.seconds(60)

    /// The whole transfer from its first start: its attempts and the time between them.
    ///
    /// Zero is none. Time that a task waits for its turn, or is suspended, never counts.
    public var resourceTimeout = Duration.zero

    /// Which failures are worth another attempt, and how many.
    public var retries = RetryPolicy()

    // MARK: The network

    /// How servers are trusted, and how this side shows who it is.
    public var tls = TLSOptions()

    /// The proxies.
    public var proxy = ProxyChoice.environment

    /// The most redirects that are followed.
    public var maximumRedirects = 20

    /// Whether https may redirect to http.
    public var allowsDowngrade = false

    /// Whether tasks may run while the network is an expensive one; otherwise they wait.
    public var allowsExpensiveNetwork = true

    /// When tasks start, where it need not be at once; `nil` is at once.
    public var discretion: Discretion?

    /// Tells whether the machine runs on battery and whether the network is expensive.
    public var conditions: any SystemConditions = LocalConditions()

    // MARK: In the background

    /// A command to be run by the daemon when a background session's events are ready and no program has it open.
    ///
    /// The first word is the program's absolute path; the session's identifier is in `MARTLET_SESSION`.
    public var wakeCommand: [String] = []

    /// When the events of a background session count as handled.
    public var acknowledgesEvents = AcknowledgementMode.automatically

    /// The path of `martletd`, for background sessions; `nil` looks for it beside the program and where programs are.
    public var daemonPath: String?

    /// Where the session lives, for one in the background.
    var background: BackgroundPlace?

    // MARK: This process

    /// The directory for the files of downloads without a destination, and for what is there of them.
    ///
    /// It is made, for its owner alone, when it is first needed. By default `$TMPDIR/martlet-UID`, or the same below `/tmp`;
    /// a program that keeps resume data over restarts of the machine names one of its own.
    public var directory = SessionConfiguration.defaultDirectory

    /// Whether a downloaded file is synced to disk before its task ends, whatever its size.
    public var isDurable = false

    /// Where completion handlers are called.
    public var callbackContext = CallbackContext.anyThread

    /// Takes messages about attempts and ends; never a secret, a query or a cookie.
    public var logger: Logger?

    /// Makes the session's metrics: `martlet.tasks` (by outcome), `martlet.bytes.received`, `martlet.attempts.failed`.
    public var metrics: (any MetricsFactory)?

    /// The directory for downloads without a destination where nothing else is said.
    public static var defaultDirectory: String { TemporaryPlace.default }

    init() {}
}

/// Which cookies of responses are kept.
public enum CookieAcceptance: Sendable, Hashable {
    /// All that RFC 6265bis allows.
    case always
    /// Those of the host that the task asked first, not those of hosts it was redirected to.
    case onlyFromFirstHost
    /// None; those that are there already are still sent.
    case never
}

/// Which failures are worth another attempt, and how many.
public struct RetryPolicy: Sendable, Hashable {
    /// The attempts beyond the first that bring nothing new; every byte that is kept and gone on from refills them.
    public var attempts = 3
    /// The statuses that are worth another attempt.
    public var statuses: Set<Int> = [408, 429, 500, 502, 503, 504]

    /// No second attempt.
    public static let none = RetryPolicy(attempts: 0)

    /// Creates a policy.
    ///
    /// - Parameter attempts: The attempts beyond the first.
    public init(attempts: Int = 3) { self.attempts = max(0, attempts) }
}

/// Where the proxies are known from.
public enum ProxyChoice: Sendable, Hashable {
    /// The variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read when the session is made.
    case environment
    /// No proxy.
    case none
    /// These.
    case custom(ProxySettings)

    /// One proxy for everything but some hosts.
    ///
    /// - Parameters:
    ///   - url: The proxy, as `http://user:password@host:port`.
    ///   - hosts: The hosts to ask without it, with commas between, as in `no_proxy`.
    /// - Returns: The choice.
    /// - Throws: ``TransferError`` with `badConfiguration` where that is no proxy Martlet can use.
    public static func server(_ url: String, except hosts: String = "") throws(TransferError) -> ProxyChoice {
        do {
            return .custom(ProxySettings(try ProxyServer(url), exceptions: ProxyExceptions(hosts)))
        } catch {
            throw TransferError(.badConfiguration, error.message)
        }
    }
}
