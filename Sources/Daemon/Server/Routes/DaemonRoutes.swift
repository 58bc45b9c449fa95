// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import TransferCore

/// The routes of the daemon's server: every path it serves is listed in ``router(isLocal:)``.
///
/// A new page or interface is one more line there, with a method that returns its response:
///
///     router.get("/about", self.about)
///
///     @Sendable
///     private func about(_ request: RoutedRequest) async -> Response {
///         if let refusal = self.server.refusal(of: request) { return refusal }
///         return .page("<!DOCTYPE html><title>About</title><p>Martlet \(MartletVersion.text)</p>")
///     }
///
/// `Response.page` takes HTML, `Response.json` a JSON value, `Response.message` a line of text, and `Response.events`
/// streams server-sent events. `Host` and `Origin` were checked before a route is selected; the token was not, because
/// some routes are open, such as `/health`. A group of routes with state is a struct next to this file, such as
/// ``CallRoutes``. The tests are in `Tests/DaemonTests/Server`.
struct DaemonRoutes: Sendable {
    let server: ServerParts

    static let xmlPath = "/rpc"

    /// Returns the routes of a listener.
    func router(isLocal: Bool) -> Router {
        let limits = self.server.configuration.limits
        var router = Router(
            contentLimit: isLocal ? limits.localBody : limits.body,
            budget: self.server.bodies,
            notFound: .json(404, ["reason": "notFound", "message": "there is nothing at this path"])
        )
        let server = self.server
        router.screening = { request in
            server.screening(
                request,
                isAuthenticated: isLocal || server.credential(of: request) == .right || server.hasCookie(request)
            )
        }
        let calls = CallRoutes(server: server)
        router.post("/jsonrpc", calls.post)
        router.get("/jsonrpc", calls.get)
        router.on("OPTIONS", "/jsonrpc", calls.preflight)
        router.post(Self.xmlPath, calls.postXML)
        router.on("OPTIONS", Self.xmlPath, calls.preflight)
        let events = EventRoutes(server: self.server)
        router.get("/events", events.events)
        router.on("OPTIONS", "/events", calls.preflight)
        router.get("/sessions/:name/events", events.sessionEvents)
        router.get("/metrics", self.metrics)
        router.get("/health", self.health)
        if !isLocal, let access = self.server.page { PageRoutes(server: self.server, access: access).add(to: &router) }
        return router
    }

    @Sendable
    private func metrics(_ request: RoutedRequest) async -> Response {
        if let refusal = self.server.refusal(of: request) { return refusal }
        let query = ListQuery(states: TransferRecord.State.started, limit: self.server.configuration.limits.page)
        let active = (try? await self.server.service.list(query)) ?? []
        let text = MetricsPage.text(
            counts: self.server.service.counts,
            active: active,
            received: self.server.service.receivedBytes,
            server: self.server.metrics.counts,
            process: ProcessFacts(),
            started: self.server.configuration.started
        )
        return Response(200, ["Content-Type": MetricsPage.contentType], .bytes(Array(text.utf8)))
    }

    @Sendable
    private func health(_ request: RoutedRequest) async -> Response {
        let version = JSON.integer(OwnDaemon.protocolVersion)
        switch self.server.health() {
        case .ok: return .json(200, ["status": "ok", "protocol": version])
        case .degraded(let reason):
            return .json(200, ["status": "degraded", "reason": .string(reason), "protocol": version])
        case .failing(let reason): return .json(503, ["status": "failing", "reason": .string(reason)])
        }
    }
}

extension Response {
    /// Returns a response with a JSON value.
    static func json(_ status: Int, _ json: JSON, _ fields: HeaderFields = [:]) -> Response {
        var fields = fields
        fields.append("Content-Type", "application/json")
        return Response(status, fields, .bytes(json.bytes))
    }

    /// The response to a request without a valid token.
    static var unauthorized: Response {
        .json(
            401,
            [
                "reason": "unauthorized", "message": "Unauthorized",
                "remedy": "send the token as Authorization: Bearer, or as the query item token",
            ],
            ["WWW-Authenticate": "Bearer, Basic realm=\"martlet\""]
        )
    }
}
