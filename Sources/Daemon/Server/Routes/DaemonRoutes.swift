internal import Control
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The routes of the daemon's server.
struct DaemonRoutes: Sendable {
    let server: ServerParts

    typealias Context = DaemonRequestContext

    /// Returns a router with all routes.
    func router() -> Router<DaemonRequestContext> {
        let router = Router(context: DaemonRequestContext.self)
        let calls = CallRoutes(server: self.server)
        router.post("/jsonrpc", use: calls.post)
        router.get("/jsonrpc", use: calls.get)
        router.on("/jsonrpc", method: .options, use: calls.preflight)
        router.post("/rpc", use: calls.postXML)
        router.on("/rpc", method: .options, use: calls.preflight)
        let events = EventRoutes(server: self.server)
        router.get("/events", use: events.events)
        router.on("/events", method: .options, use: calls.preflight)
        router.get("/sessions/:name/events", use: events.sessionEvents)
        router.get("/metrics", use: self.metrics)
        router.get("/health", use: self.health)
        router.add(middleware: NotFoundMiddleware())
        return router
    }

    @Sendable
    private func metrics(_ request: Request, _ context: Context) async throws -> Response {
        guard await self.server.isAuthenticated(request, context) else { return .unauthorized }
        let query = ListQuery(states: [.active], limit: self.server.configuration.limits.page)
        let active = (try? await self.server.service.list(query)) ?? []
        let text = MetricsPage.text(
            counts: self.server.service.counts,
            active: active,
            received: self.server.service.receivedBytes,
            server: self.server.metrics.counts,
            process: ProcessFacts(),
            started: self.server.configuration.started
        )
        return Response(
            status: .ok,
            headers: [.contentType: MetricsPage.contentType],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    @Sendable
    private func health(_ request: Request, _ context: Context) async throws -> Response {
        if let reason = self.server.health() {
            return .json(.serviceUnavailable, ["status": "failing", "reason": .string(reason)])
        }
        return .json(.ok, ["status": "ok", "protocol": .integer(OwnDaemon.protocolVersion)])
    }
}

/// Responds to requests without a route.
private struct NotFoundMiddleware: RouterMiddleware {
    typealias Context = DaemonRequestContext

    func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return .json(.notFound, ["reason": "notFound", "message": "there is nothing at this path"])
        }
    }
}

extension ServerParts {
    /// Returns whether a request is permitted: always over the Unix socket, otherwise with the token in its head.
    func isAuthenticated(_ request: Request, _ context: DaemonRequestContext) async -> Bool {
        if context.isLocal || self.hasCredential(request) { return true }
        await self.failedAuthentication(from: context.address)
        return false
    }

    /// Returns whether a request has a valid token in its head.
    func hasCredential(_ request: Request) -> Bool {
        RequestCredential.isRight(
            authorization: request.headers[.authorization],
            query: QueryItems(target: request.uri.string),
            access: self.access
        ) == true
    }
}

extension Response {
    /// Returns a response with a JSON body.
    static func json(_ status: HTTPResponse.Status, _ json: JSON) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes))
        )
    }

    /// The response to a request without a valid token.
    static var unauthorized: Response {
        var response = Response.json(
            .unauthorized,
            [
                "reason": "unauthorized", "message": "Unauthorized",
                "remedy": "send the token as Authorization: Bearer, or as the query item token",
            ]
        )
        response.headers[.wwwAuthenticate] = "Bearer, Basic realm=\"martlet\""
        return response
    }
}
