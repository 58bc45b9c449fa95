// SPDX-License-Identifier: Apache-2.0
public import CoreMetrics
public import Logging
package import TransferCore
public import TransferEngine

/// The configuration of a session; a value, copied when the session is created.
public struct SessionConfiguration: Sendable {
    /// The default: cookies shared with the other sessions of this process, proxies from the environment.
    public static var `default`: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.cookies = .shared
        return configuration
    }

    /// Stores nothing on disk but the requested files; cookies and credentials stay in memory, for this session only.
    public static var ephemeral: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.cookies = CookieStorage()
        return configuration
    }

    // MARK: Requests

    /// Header fields of every request; a request's own field of the same name replaces one.
    ///
    /// Without a `User-Agent` field, Martlet's is sent.
    public var headers = HeaderFields()

    /// The cookie storage for requests and responses; `nil` disables cookies.
    public var cookies: CookieStorage?

    /// Keeps the cookies instead of ``cookies``.
    package var foreignCookies: (any ForeignCookies)?

    /// Called with the connection of each request of a task, on a thread that must not be blocked.
    package var onConnection: (@Sendable (ConnectionReport, TransferTask) -> Void)?

    /// The cookies of responses that are stored.
    public var cookieAcceptance = SessionConfiguration.CookieAcceptance.always

    /// The credentials for servers that require authentication.
    public var credentials = Credentials()

    /// The cache of responses to data tasks; `nil`, the default, stores no response and answers none from a cache.
    ///
    /// Several sessions can share a cache; a response is used only for the same cookies, credentials and TLS options.
    /// Background sessions do not accept one.
    public var cache: ResponseCache?

    /// How the cache is used for requests without a policy of their own.
    public var cachePolicy = CachePolicy.useProtocolCachePolicy

    /// Adds header fields to each request before it is sent; `nil`, the default, sends requests as they are.
    ///
    /// Background sessions do not accept one.
    public var adapter: (any RequestAdapter)?

    // MARK: Limits

    /// The maximum number of tasks that run at once, at least 1; a waiting task does not time out.
    ///
    /// Beyond 1, tasks whose host has not responded for 5 seconds are not counted, so that tasks of other hosts start.
    public var concurrentTransfers = 6

    /// The maximum number of connections per host (scheme, host and port); `nil` for ``concurrentTransfers``, at least
    /// 4.
    public var connectionsPerHost: Int?

    /// The maximum number of connections of one download, used if the server supports ranges and more connections help.
    ///
    /// 1 fetches every file over one connection.
    public var connectionsPerDownload = 4

    /// The rate limit of all tasks together in bytes per second, or `nil`.
    public var rateLimit: Int64?

    // MARK: Timeouts

    /// The timeout for name resolution, connecting and handshakes together; zero for none.
    public var connectTimeout = Duration.seconds(30)

    /// The timeout for an attempt that receives no bytes; also the time for a complete response head.
    ///
    /// Zero for none. The time that a task waits for a slot does not count.
    public var requestTimeout = Duration.seconds(60)

    /// The timeout for the whole transfer from its first start: its attempts and the time between them.
    ///
    /// Zero for none. After the first attempt, the time that a task waits for its host counts, too. The time that it waits
    /// for a slot or is suspended does not count.
    public var resourceTimeout = Duration.zero

    /// The time for which tasks wait while their host or the network is unreachable, or the host responds with errors only.
    ///
    /// Such a wait uses up no retries, and one task at a time makes an attempt for all. With zero, an outage is a failure
    /// like any other. `nil`, the default, is the daemon's setting for background sessions (one day, unless it was started
    /// with another `--outage-timeout`), and zero for other sessions.
    public var outageTimeout: Duration?

    /// The failures that are retried, and the number of retries.
    public var retries = SessionConfiguration.RetryPolicy()

    /// Decides whether and when the next attempt follows; `nil`, the default, follows ``retries``.
    ///
    /// Background sessions do not accept one.
    public var retrier: (any RequestRetrier)?

    // MARK: Network

    /// How servers are verified, and the client's certificate.
    public var tls = TLSOptions()

    /// The proxies.
    public var proxy = SessionConfiguration.ProxyChoice.environment

    /// The maximum number of redirects that are followed.
    public var maximumRedirects = 20

    /// Whether https may redirect to http.
    public var allowsDowngrade = false

    /// Whether tasks may run on an expensive network; otherwise they wait.
    public var allowsExpensiveNetwork = true

    /// The start time of tasks without urgency; `nil` to start at once.
    public var discretion: Discretion?

    /// Reports whether the machine runs on battery and whether the network is expensive.
    public var conditions: any SystemConditions = LocalConditions()

    /// The replacement for Martlet's own connections; `nil` for these.
    ///
    /// `ScriptedResponses` of the product `TransferTesting` makes one for the tests of a program, and
    /// `MartletSystemTransport` one that uses the system's `URLSession`, with which ``tls`` and ``proxy`` must have their
    /// defaults. Connection timeouts then have no effect. Background sessions do not accept it.
    public var transport: TransportOverride?

    // MARK: Background sessions

    /// A command that the daemon runs when a background session's events are ready and no program has it open.
    ///
    /// The first word is the absolute path of the program; the session's identifier is in `MARTLET_SESSION`, the state
    /// directory in `MARTLET_STATE_DIR`. The command is started once for a batch of events, and never a second time
    /// while it runs; see <doc:BackgroundSessions>.
    public var wakeCommand: [String] = []

    /// The events of a background session of which the daemon notifies the user on the desktop.
    ///
    /// The daemon calls `org.freedesktop.Notifications` on the D-Bus session bus of its environment. Without a session
    /// bus, or without a notification service on it, nothing is shown, without an error. The same holds on macOS.
    public var notifications: Set<TransferNotification> = []

    /// When the events of a background session count as handled.
    public var acknowledgesEvents = SessionConfiguration.AcknowledgementMode.automatically

    /// The path of the executable `martlet`, which contains the daemon of background sessions.
    ///
    /// `nil` uses the path in the variable `MARTLET_DAEMON`, else `martlet` or `martletd` next to the program, else that
    /// in `PATH`. A file with another name than `martlet` is started without the subcommand `daemon`.
    public var daemonPath: String?

    /// The identity and directory of a background session, or `nil`.
    var background: BackgroundPlace?

    // MARK: Process

    /// The directory for downloads without a destination, including partial ones.
    ///
    /// It is created when first needed, accessible to its owner only. The default is `$TMPDIR/martlet-UID`, or
    /// `/tmp/martlet-UID`. A program that keeps resume data across restarts of the machine sets a different one.
    public var directory = SessionConfiguration.defaultDirectory

    /// Whether a downloaded file is synced to disk before its task ends, regardless of its size.
    public var isDurable = false

    /// The context in which completion handlers are called.
    public var callbackContext = CallbackContext.anyThread

    /// The logger for attempts and ends; messages never contain a secret, a query or a cookie.
    public var logger: Logger?

    /// The factory for the session's metrics: `martlet.tasks` (by outcome), `martlet.bytes.received`,
    /// `martlet.attempts.failed`.
    public var metrics: (any MetricsFactory)?

    /// The default directory for downloads without a destination.
    public static var defaultDirectory: String { TemporaryPlace.default }

    init() {}
}

extension SessionConfiguration {
    /// The cookies of responses that are stored.
    public enum CookieAcceptance: Sendable, Hashable {
        /// All that RFC 6265bis allows.
        case always
        /// Cookies of the host that the task requested first, not of hosts that it was redirected to.
        case onlyFromFirstHost
        /// None; stored cookies are still sent.
        case never
    }
}

extension SessionConfiguration {
    /// The failures that are retried, and the number of retries.
    public struct RetryPolicy: Sendable, Hashable {
        /// The maximum number of consecutive retries without progress; bytes that are kept and resumed from reset the
        /// count.
        public var attempts = 3
        /// The statuses that are retried.
        public var statuses: Set<Int> = [408, 429, 500, 502, 503, 504]

        /// No retries.
        public static let none = SessionConfiguration.RetryPolicy(attempts: 0)

        /// Creates a policy.
        ///
        /// - Parameter attempts: The number of retries.
        public init(attempts: Int = 3) { self.attempts = max(0, attempts) }
    }
}

extension SessionConfiguration {
    /// The source of the proxy settings.
    public enum ProxyChoice: Sendable, Hashable {
        /// The variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read when the session is created.
        case environment
        /// No proxy.
        case none
        /// Explicit settings.
        case custom(ProxySettings)

        /// One proxy for all hosts except some.
        ///
        /// - Parameters:
        ///   - url: The proxy, as `http://user:password@host:port`.
        ///   - hosts: The hosts that are connected to directly, separated by commas as in `no_proxy`.
        /// - Returns: The choice.
        /// - Throws: ``TransferError`` with `badConfiguration` if the URL does not name a proxy that Martlet supports.
        public static func server(_ url: String, except hosts: String = "") throws(TransferError)
            -> SessionConfiguration.ProxyChoice
        {
            do {
                return .custom(ProxySettings(try ProxyServer(url), exceptions: ProxyExceptions(hosts)))
            } catch {
                throw TransferError(.badConfiguration, error.message)
            }
        }
    }
}
