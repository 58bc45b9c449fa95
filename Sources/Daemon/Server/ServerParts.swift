// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import Logging
internal import Synchronization
internal import TransferCore

/// The state that all requests share.
final class ServerParts: Sendable {
    let configuration: ServerConfiguration
    let service: any TransferService
    let policy: RequestPolicy
    let access: TokenCheck?
    /// The access to the daemon's page; `nil` without a token, and therefore without TCP.
    let page: PageAccess?
    let metrics = ServerMetrics()
    let dispatcher: RPCDispatcher
    let bodies: ByteBudget
    let health: @Sendable () -> DaemonHealth
    let logger: Logger
    private let throttle = Mutex(FailureThrottle())

    init(
        configuration: ServerConfiguration,
        service: any TransferService,
        health: @escaping @Sendable () -> DaemonHealth,
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
        let state = configuration.stateDirectory
        self.page = configuration.token.map {
            PageAccess(token: $0, signOutStore: state.isEmpty ? nil : state + "/page.sign-outs")
        }
        self.dispatcher = RPCDispatcher(
            service: service,
            configuration: configuration,
            access: self.access,
            metrics: self.metrics,
            page: self.page
        )
        self.bodies = ByteBudget(limit: configuration.limits.bodies)
        self.health = health
        self.logger = logger
        do throws(StorageError) {
            try self.page?.open()
        } catch {
            logger.error("nobody can sign in to the page", metadata: ["error": .string(error.message)])
        }
    }

    /// Returns whether a request is permitted: always over the Unix socket, otherwise with the token in its head or the
    /// cookie of the page.
    func isAuthenticated(_ request: RoutedRequest) async -> Bool {
        if request.isLocal || self.hasCredential(request) || self.page?.accepts(request) == true { return true }
        await self.failedAuthentication(request)
        return false
    }

    /// Returns whether a request has a valid token in its head.
    func hasCredential(_ request: RoutedRequest) -> Bool {
        RequestCredential.isRight(
            authorization: request.fields["Authorization"],
            query: QueryItems(target: request.target),
            access: self.access
        ) == true
    }

    /// Logs a message without a valid token, and delays its response if there were many.
    func failedAuthentication(_ request: RoutedRequest) async {
        self.metrics.failedAuthentication()
        let action = self.throttle.withLock { $0.failed(at: .now) }
        if let count = action.logged {
            self.logger.warning(
                "calls without the right token",
                metadata: [
                    "count": .stringConvertible(count),
                    "address": .string(request.isLocal ? "the Unix socket" : request.peer),
                ]
            )
        }
        if action.delay > .zero { try? await Task.sleep(for: action.delay) }
    }
}
