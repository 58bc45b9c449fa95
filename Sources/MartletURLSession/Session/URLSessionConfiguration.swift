// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif
public import Martlet

// `@unchecked Sendable`: as Foundation's, it is set up by one thread and copied by the session.
/// The configuration of a session; a session copies it, so that later changes have no effect.
///
/// Properties that do not exist here are not supported: their use does not compile.
public final class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    /// Cookies, credentials and responses are stored where `HTTPCookieStorage.shared`, `URLCredentialStorage.shared` and
    /// `URLCache.shared` store them.
    public class var `default`: URLSessionConfiguration {
        let configuration = URLSessionConfiguration()
        configuration.httpCookieStorage = .shared
        configuration.urlCredentialStorage = .shared
        configuration.urlCache = .shared
        return configuration
    }

    /// Cookies, credentials and responses stay in memory, for the sessions of this configuration only.
    public class var ephemeral: URLSessionConfiguration {
        let configuration = URLSessionConfiguration()
        // Foundation has no public initializer for a storage in memory.
        configuration.httpCookieStorage = FoundationConfiguration.ephemeral.httpCookieStorage
        configuration.urlCredentialStorage = URLCredentialStorage()
        configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)
        return configuration
    }

    /// A configuration for downloads, and uploads of files, that continue when the program has ended.
    ///
    /// A daemon runs them; a session created with the same identifier, by this or a later run of the program, finds them
    /// again. Data tasks run in the program, and end with it.
    ///
    /// - Parameter identifier: 1 to 128 letters, digits, dots, hyphens and underscores.
    /// - Returns: The configuration.
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.urlCache = nil
        configuration.identifier = identifier
        return configuration
    }

    /// The identifier of a background session, otherwise `nil`.
    public internal(set) var identifier: String?

    /// The policy for the cache, for requests with the default policy.
    public var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy

    /// The timeout for a request that receives no bytes, in seconds; a request's own other than 60 takes precedence.
    public var timeoutIntervalForRequest: TimeInterval = 60

    /// The timeout for a whole task, in seconds; the time that it waits for a connection does not count.
    public var timeoutIntervalForResource: TimeInterval = 604_800

    /// Whether tasks wait for their host while it cannot be reached, until the timeout for the whole task.
    public var waitsForConnectivity = false

    /// Whether tasks may use an expensive network; otherwise they wait for another one.
    public var allowsExpensiveNetworkAccess = true

    /// Whether tasks may use a cellular network, which counts as expensive; otherwise they wait for another one.
    public var allowsCellularAccess = true

    /// Whether tasks wait while the machine runs on battery.
    public var isDiscretionary = false

    /// The maximum number of connections to one host.
    public var httpMaximumConnectionsPerHost = 6

    /// Header fields of every request; a request's own field of the same name takes precedence.
    public var httpAdditionalHeaders: [AnyHashable: Any]?

    /// The cookies that are stored.
    public var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain

    /// Whether requests carry the cookies of the storage, and the cookies of responses are stored.
    public var httpShouldSetCookies = true

    /// The cookies; `nil` uses none.
    public var httpCookieStorage: HTTPCookieStorage?

    /// The credentials for challenges that no delegate answers; `nil` uses none.
    public var urlCredentialStorage: URLCredentialStorage?

    /// The cache of the responses to data tasks; `nil` stores none.
    public var urlCache: URLCache?

    /// A program's own protocols, for example for its tests: Foundation's session makes the requests that they take.
    ///
    /// Classes of `URLProtocol.registerClass(_:)` are asked only if they are in this list, too.
    public var protocolClasses: [AnyClass]? = []

    /// The proxies, by the values of CFNetwork's keys; `nil` uses those of the environment, an empty dictionary none.
    ///
    /// `HTTPEnable`, `HTTPProxy` and `HTTPPort` are for `http` URLs, `HTTPSEnable`, `HTTPSProxy` and `HTTPSPort` for `https` ones;
    /// `ExceptionsList` has the hosts without a proxy, `kCFProxyUsernameKey` and `kCFProxyPasswordKey` the credentials.
    /// Tasks fail with the reason if it has an unknown key, or asks for SOCKS or for a script.
    public var connectionProxyDictionary: [AnyHashable: Any]?

    /// The kind of traffic; without effect on Linux.
    public var networkServiceType = URLRequest.NetworkServiceType.default

    /// Changes the configuration of Martlet that the session is made with.
    ///
    /// It gives access to what Foundation has no property for, or what Foundation's has no effect for on Linux: authorities,
    /// pins and client certificates, proxies, rates, logs, metrics, the daemon, several connections for one download.
    public var adjust: (@Sendable (inout SessionConfiguration) throws -> Void)?

    /// Creates the default configuration without storages.
    override init() {}

    /// A copy.
    public override func copy() -> Any { self.copy(with: nil) }

    /// A copy.
    public func copy(with zone: NSZone?) -> Any { self.duplicate() }

    func duplicate() -> URLSessionConfiguration {
        let other = URLSessionConfiguration()
        other.identifier = self.identifier
        other.requestCachePolicy = self.requestCachePolicy
        other.timeoutIntervalForRequest = self.timeoutIntervalForRequest
        other.timeoutIntervalForResource = self.timeoutIntervalForResource
        other.waitsForConnectivity = self.waitsForConnectivity
        other.allowsExpensiveNetworkAccess = self.allowsExpensiveNetworkAccess
        other.isDiscretionary = self.isDiscretionary
        other.allowsCellularAccess = self.allowsCellularAccess
        other.httpMaximumConnectionsPerHost = self.httpMaximumConnectionsPerHost
        other.httpAdditionalHeaders = self.httpAdditionalHeaders
        other.httpCookieAcceptPolicy = self.httpCookieAcceptPolicy
        other.httpShouldSetCookies = self.httpShouldSetCookies
        other.httpCookieStorage = self.httpCookieStorage
        other.urlCredentialStorage = self.urlCredentialStorage
        other.urlCache = self.urlCache
        other.protocolClasses = self.protocolClasses
        other.connectionProxyDictionary = self.connectionProxyDictionary
        other.networkServiceType = self.networkServiceType
        other.adjust = self.adjust
        return other
    }

    /// Martlet's configuration.
    ///
    /// - Parameters:
    ///   - identifier: The background session's identifier; `nil` for transfers in the program.
    ///   - allowsExpensive: Whether requests may use an expensive network if this configuration permits it.
    /// - Returns: The configuration.
    /// - Throws: `TransferError` with `badConfiguration`, or what ``adjust`` throws.
    func transferConfiguration(_ identifier: String?, _ allowsExpensive: Bool) throws -> SessionConfiguration {
        var made = identifier.map { SessionConfiguration.background(identifier: $0) } ?? .ephemeral
        made.headers = self.additionalFields
        made.requestTimeout = Self.duration(self.timeoutIntervalForRequest)
        made.resourceTimeout = Self.duration(self.timeoutIntervalForResource)
        made.connectTimeout = made.requestTimeout
        made.connectionsPerHost = max(1, self.httpMaximumConnectionsPerHost)
        // Only hosts are limited.
        made.concurrentTransfers = 512
        // As many requests as the program makes.
        made.connectionsPerDownload = 1
        made.retries = identifier == nil ? .none : made.retries
        made.onConnection = { connection, transfer in
            (transfer.userInfo as? TaskReference)?.task?.uses(connection, for: transfer)
        }
        if self.waitsForConnectivity { made.outageTimeout = made.resourceTimeout }
        made.allowsExpensiveNetwork = allowsExpensive && self.allowsExpensive
        if self.isDiscretionary { made.discretion = Discretion() }
        let storage = self.httpShouldSetCookies ? self.httpCookieStorage : nil
        made.foreignCookies = storage.map { FoundationCookies($0, accepts: self.httpCookieAcceptPolicy) }
        // The daemon keeps what responses set, for the redirects of a transfer, and reports it; each request takes what the
        // storage has when it begins.
        made.cookies = identifier == nil || storage == nil ? nil : CookieStorage()
        if self.httpCookieAcceptPolicy == .never { made.cookieAcceptance = .never }
        if let proxies = self.connectionProxyDictionary {
            made.proxy = .custom(try ProxyDictionary(proxies).settings())
        }
        try self.adjust?(&made)
        // The rule of a request, which the program cannot change for all.
        if !allowsExpensive { made.allowsExpensiveNetwork = false }
        return made
    }

    /// Whether tasks may use an expensive network.
    var allowsExpensive: Bool { self.allowsExpensiveNetworkAccess && self.allowsCellularAccess }

    /// The fields of every request.
    var additionalFields: HeaderFields {
        let pairs = (self.httpAdditionalHeaders ?? [:])
            .compactMap { name, value in (name.base as? String).map { ($0, "\(value)") } }
        return HeaderFields(pairs.sorted { $0.0 < $1.0 })
    }

    /// Seconds as a duration; what is not a positive time is none.
    static func duration(_ seconds: TimeInterval) -> Duration {
        guard seconds > 0, seconds < 1e9 else { return .zero }
        return .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }
}

/// Foundation's own configuration, whose name is this module's.
#if canImport(FoundationNetworking)
typealias FoundationConfiguration = FoundationNetworking.URLSessionConfiguration
#else
typealias FoundationConfiguration = Foundation.URLSessionConfiguration
#endif
