internal import Control
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// JSON-RPC over POST and GET.
struct CallRoutes: Sendable {
    let server: ServerParts

    typealias Context = DaemonRequestContext

    private static let contentType = "application/json-rpc"
    private static let scriptType = "text/javascript"

    /// Performs a call or a batch in the body, of any content type.
    @Sendable
    func post(_ request: Request, _ context: Context) async throws -> Response {
        let limits = self.server.configuration.limits
        let limit = context.isLocal ? limits.localBody : limits.body
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
            return Self.tooLarge(limit)
        }
        var bytes: [UInt8] = []
        var taken = 0
        defer { self.server.bodies.give(taken) }
        for try await part in request.body {
            guard bytes.count + part.readableBytes <= limit else { return Self.tooLarge(limit) }
            guard self.server.bodies.take(part.readableBytes) else { return Self.busy }
            taken += part.readableBytes
            bytes.append(contentsOf: part.readableBytesView)
        }
        return await self.answer(RPCEnvelope(parsing: bytes), nil, request, context)
    }

    /// Performs a call in the query.
    @Sendable
    func get(_ request: Request, _ context: Context) async throws -> Response {
        if request.headers.contains(.secWebSocketKey) {
            var response = Response.json(.upgradeRequired, ["message": "this is no WebSocket handshake of version 13"])
            response.headers[.upgrade] = "websocket"
            response.headers[.secWebSocketVersion] = "13"
            return response
        }
        let query = RPCQuery(QueryItems(target: request.uri.string))
        return await self.answer(query.envelope, query.callback, request, context)
    }

    /// Responds to a CORS preflight request of a browser, which does not contain a token.
    @Sendable
    func preflight(_ request: Request, _ context: Context) async throws -> Response {
        let headers: HTTPFields = [
            .accessControlAllowMethods: "POST, GET, OPTIONS",
            .accessControlAllowHeaders: "Content-Type, Authorization, Last-Event-ID",
            .accessControlMaxAge: "1728000",
        ]
        return Response(status: .noContent, headers: headers)
    }

    private func answer(
        _ envelope: RPCEnvelope,
        _ callback: String?,
        _ request: Request,
        _ context: Context
    ) async -> Response {
        let isAuthenticated = context.isLocal || self.server.hasCredential(request)
        let caller = Caller(isLocal: context.isLocal, isAuthenticated: isAuthenticated)
        let answer = await self.server.dispatcher.answer(envelope, from: caller)
        if answer.hasFailedAuthentication { await self.server.failedAuthentication(from: context.address) }
        var body: ByteBuffer
        if let callback {
            body = ByteBuffer(string: "\(callback)(")
            body.writeBytes(answer.bytes)
            body.writeString(")")
        } else {
            body = ByteBuffer(bytes: answer.bytes)
        }
        return Response(
            status: HTTPResponse.Status(code: answer.status),
            headers: [
                .contentType: callback == nil ? Self.contentType : Self.scriptType, .cacheControl: "no-cache",
                .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: body)
        )
    }

    private static func tooLarge(_ limit: Int) -> Response {
        self.closing(.contentTooLarge, .tooMuch("The body has more than \(limit) bytes", remedy: "send less at once"))
    }

    private static var busy: Response {
        self.closing(.serviceUnavailable, .tooMuch("Too much is being sent at once", remedy: "send it again later"))
    }

    /// Returns a response that does not wait for the rest of the request's body.
    private static func closing(_ status: HTTPResponse.Status, _ failure: RPCFailure) -> Response {
        var answer = RPCAnswer()
        answer.append(RPCItem(id: .null, call: .failure(failure)), .failure(failure))
        return Response(
            status: status,
            headers: [.contentType: self.contentType, .connection: "close"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: answer.bytes))
        )
    }
}
