internal import Control
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// JSON-RPC over POST and GET, and XML-RPC over POST.
struct CallRoutes: Sendable {
    let server: ServerParts

    typealias Context = DaemonRequestContext

    /// Performs a call or a batch in the JSON of the body, of any content type.
    @Sendable
    func post(_ request: Request, _ context: Context) async throws -> Response {
        try await self.withBody(of: request, context, .json) { bytes in
            await self.answer(RPCEnvelope(parsing: bytes), nil, request, context)
        }
    }

    /// Performs a call in the XML of the body, of any content type.
    @Sendable
    func postXML(_ request: Request, _ context: Context) async throws -> Response {
        try await self.withBody(of: request, context, .xml) { bytes in
            let call: RPCCall
            do throws(XMLProblem) {
                call = try RPCCall(xml: bytes)
            } catch {
                let failure = RPCFailure(code: -32_700, "Parse error: \(error)")
                return self.response(.xml, XMLRPCAnswer(.failure(failure)).bytes, .badRequest)
            }
            var run = RPCRun(dialect: .xml, caller: self.caller(request, context), subscription: nil)
            let result = await self.server.dispatcher.result(.success(call), &run)
            if run.hasFailedAuthentication { await self.server.failedAuthentication(from: context.address) }
            return self.response(.xml, XMLRPCAnswer(result).bytes)
        }
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

    /// Reads a body within the limits, and counts it among those in memory while `perform` runs.
    private func withBody(
        of request: Request,
        _ context: Context,
        _ dialect: RPCDialect,
        _ perform: ([UInt8]) async -> Response
    ) async throws -> Response {
        let limits = self.server.configuration.limits
        let limit = context.isLocal ? limits.localBody : limits.body
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
            return self.tooLarge(limit, dialect)
        }
        var bytes: [UInt8] = []
        var taken = 0
        defer { self.server.bodies.give(taken) }
        for try await part in request.body {
            guard bytes.count + part.readableBytes <= limit else { return self.tooLarge(limit, dialect) }
            guard self.server.bodies.take(part.readableBytes) else { return self.busy(dialect) }
            taken += part.readableBytes
            bytes.append(contentsOf: part.readableBytesView)
        }
        return await perform(bytes)
    }

    private func caller(_ request: Request, _ context: Context) -> Caller {
        let isAuthenticated = context.isLocal || self.server.hasCredential(request)
        return Caller(isLocal: context.isLocal, isAuthenticated: isAuthenticated)
    }

    private func answer(
        _ envelope: RPCEnvelope,
        _ callback: String?,
        _ request: Request,
        _ context: Context
    ) async -> Response {
        let answer = await self.server.dispatcher.answer(envelope, from: self.caller(request, context))
        if answer.hasFailedAuthentication { await self.server.failedAuthentication(from: context.address) }
        let status = HTTPResponse.Status(code: answer.status)
        guard let callback else { return self.response(.json, answer.bytes, status) }
        var response = self.response(.json, Array("\(callback)(".utf8) + answer.bytes + [0x29], status)
        response.headers[.contentType] = "text/javascript"
        return response
    }

    private func response(
        _ dialect: RPCDialect,
        _ bytes: [UInt8],
        _ status: HTTPResponse.Status = .ok
    ) -> Response {
        Response(
            status: status,
            headers: [
                .contentType: dialect == .xml ? "text/xml" : "application/json-rpc", .cacheControl: "no-cache",
                .xContentTypeOptions: "nosniff",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }

    private func tooLarge(_ limit: Int, _ dialect: RPCDialect) -> Response {
        self.closing(
            .contentTooLarge,
            .tooMuch("The body has more than \(limit) bytes", remedy: "send less at once"),
            dialect
        )
    }

    private func busy(_ dialect: RPCDialect) -> Response {
        self.closing(
            .serviceUnavailable,
            .tooMuch("Too much is being sent at once", remedy: "send it again later"),
            dialect
        )
    }

    /// Returns a response that does not wait for the rest of the request's body.
    private func closing(_ status: HTTPResponse.Status, _ failure: RPCFailure, _ dialect: RPCDialect) -> Response {
        let bytes: [UInt8]
        switch dialect {
        case .json:
            var answer = RPCAnswer()
            answer.append(RPCItem(id: .null, call: .failure(failure)), .failure(failure))
            bytes = answer.bytes
        case .xml: bytes = XMLRPCAnswer(.failure(failure)).bytes
        }
        var response = self.response(dialect, bytes, status)
        response.headers[.connection] = "close"
        return response
    }
}
