internal import Control
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import Synchronization
internal import TransferCore

/// The state that all connections share.
final class ServerParts: Sendable {
    let configuration: ServerConfiguration
    let service: any TransferService
    let policy: RequestPolicy
    let access: TokenCheck?
    let metrics = ServerMetrics()
    let dispatcher: RPCDispatcher
    let bodies: BodyBudget
    let health: @Sendable () -> String?
    let logger: Logger
    private let throttle = Mutex(FailureThrottle())

    init(
        configuration: ServerConfiguration,
        service: any TransferService,
        health: @escaping @Sendable () -> String?,
        logger: Logger
    ) {
        self.configuration = configuration
        self.service = service
        self.policy = RequestPolicy(
            listenHost: configuration.listen?.host ?? "127.0.0.1",
            allowedHosts: configuration.allowedHosts,
            allowedOrigins: configuration.allowedOrigins,
            optionPrefix: "--rpc-allow",
            hearsExtensions: true
        )
        self.access = configuration.token.map { TokenCheck($0) }
        self.dispatcher = RPCDispatcher(
            service: service,
            configuration: configuration,
            access: self.access,
            metrics: self.metrics
        )
        self.bodies = BodyBudget(limit: configuration.limits.bodies)
        self.health = health
        self.logger = logger
    }

    /// Returns the caller, the permissions and the address of a WebSocket handshake.
    func opening(_ head: HTTPRequestHead, isLocal: Bool, address: SocketAddress?) -> WebSocketOpening {
        let isRight = RequestCredential.isRight(
            authorization: head.headers.first(name: "Authorization"),
            query: QueryItems(target: head.uri),
            access: self.access
        )
        let isAuthenticated = isLocal || isRight == true
        return WebSocketOpening(
            caller: Caller(isLocal: isLocal, isAuthenticated: isAuthenticated),
            hearsNotifications: isAuthenticated
                || self.configuration.allowsOpenNotifications && address?.isLoopback == true,
            address: address?.ipAddress ?? "the Unix socket"
        )
    }

    /// Logs a message without a valid token, and delays its response if there were many.
    func failedAuthentication(from address: String) async {
        self.metrics.failedAuthentication()
        let action = self.throttle.withLock { $0.failed(at: .now) }
        if let count = action.logged {
            self.logger.warning(
                "calls without the right token",
                metadata: ["count": .stringConvertible(count), "address": .string(address)]
            )
        }
        if action.delay > .zero { try? await Task.sleep(for: action.delay) }
    }
}

extension SocketAddress {
    /// Whether it is a loopback address.
    var isLoopback: Bool {
        guard let text = self.ipAddress else { return false }
        return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
    }
}
