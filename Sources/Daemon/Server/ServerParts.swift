// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import Logging
internal import TransferCore

/// The state that all requests share.
final class ServerParts: Sendable {
    let configuration: ServerConfiguration
    let service: any TransferService
    let policy: RequestPolicy
    let access: TokenGate?
    /// The access to the daemon's page; `nil` without a token, and therefore without TCP.
    let page: PageAccess?
    let metrics = ServerMetrics()
    let dispatcher: RPCDispatcher
    let bodies: ByteBudget
    private let unauthenticatedBodies: UnauthenticatedContent
    let health: @Sendable () -> DaemonHealth
    let logger: Logger

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
            hearsExtensions: true,
            hearsAnyOrigin: configuration.allowedOrigins.contains("*")
        )
        self.access = configuration.token.map { TokenGate($0) }
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
        self.unauthenticatedBodies = UnauthenticatedContent(limit: configuration.limits.unauthenticatedBodies)
        self.health = health
        self.logger = logger
        do throws(StorageError) {
            try self.page?.open()
        } catch {
            logger.error("sign-in to the page is impossible", metadata: ["error": .string(error.message)])
        }
    }

    /// Returns the response to a forbidden request, or `nil` if the request is permitted.
    ///
    /// A request is permitted over the Unix socket, and with the token in its head or the cookie of the page.
    func refusal(of request: RoutedRequest) -> Response? {
        if request.isLocal { return nil }
        let verdict = self.credential(of: request)
        if verdict == .right || self.hasCookie(request) { return nil }
        return self.unauthorized(verdict, request)
    }

    /// Returns the response to a request whose token has a verdict, delayed if its client has failed often.
    func unauthorized(
        _ verdict: TokenGate.Verdict?,
        _ request: RoutedRequest,
        _ response: Response = .unauthorized
    ) -> Response {
        guard case .refused(let wait) = verdict else {
            return response.delayed(by: self.failedAuthentication(request))
        }
        _ = self.failedAuthentication(request, isRefused: true)
        return .json(
            429,
            [
                "reason": "tooMuch", "message": "Too many wrong tokens from this address",
                "remedy": .string("try again in \(wait.wholeSeconds) s"),
            ],
            ["Retry-After": "\(wait.wholeSeconds)"]
        )
    }

    /// Checks the token in a request's head; `nil` without a token.
    func credential(of request: RoutedRequest) -> TokenGate.Verdict? {
        guard let access, let token = RequestCredential.token(of: request) else { return nil }
        return access.verdict(token, from: TokenSender(request.request))
    }

    /// Whether a request has a valid cookie and is from the page itself.
    func hasCookie(_ request: RoutedRequest) -> Bool {
        guard self.page?.accepts(request) == true else { return false }
        request.request.connection.authenticated()
        return true
    }

    /// Returns the limits for the content of a request, or for the messages of a WebSocket, until it authenticates its
    /// client; `nil` if the head does.
    func screening(_ request: RoutedRequest, isAuthenticated: Bool) -> ContentScreening? {
        guard !isAuthenticated, let access = self.access else { return nil }
        let dialect = request.request.target.path == DaemonRoutes.xmlPath ? RPCDialect.xml : .json
        let sender = TokenSender(request.request)
        return ContentScreening(
            limit: self.configuration.limits.unauthenticatedBody,
            budget: self.unauthenticatedBodies
        ) {
            TokenScreen(dialect, access, sender)
        }
    }

    /// The sender of the calls in a request.
    func caller(_ request: RoutedRequest) -> Caller {
        Caller(
            isLocal: request.isLocal,
            isAuthenticated: request.isLocal || self.credential(of: request) == .right,
            sender: TokenSender(request.request)
        )
    }

    /// Logs a message without a valid token; returns the delay of its response.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isRefused: Whether a token was not checked: it can be the right one, so that its response is not delayed.
    /// - Returns: The delay.
    func failedAuthentication(_ request: RoutedRequest, isRefused: Bool = false) -> Duration {
        self.metrics.failedAuthentication()
        guard let reaction = self.access?.failed(ClientNetwork(request.peer)) else { return .zero }
        if let count = reaction.logged {
            self.logger.warning(
                "calls without the right token",
                metadata: ["count": .stringConvertible(count), "address": .string(request.peer)]
            )
        }
        return isRefused ? .zero : reaction.delay
    }
}
