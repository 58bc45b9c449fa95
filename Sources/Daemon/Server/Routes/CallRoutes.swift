// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPServer
internal import TransferCore

/// JSON-RPC over POST, GET and WebSocket, and XML-RPC over POST.
struct CallRoutes: Sendable {
    let server: ServerParts

    /// Performs a call or a batch in the JSON of the content, of any content type.
    @Sendable
    func post(_ request: RoutedRequest) async -> Response {
        switch request.content {
        case .success(let bytes):
            // Only here, and not where a GET performs calls, the page's cookie is accepted.
            await self.response(
                RPCEnvelope(parsing: bytes),
                nil,
                request,
                isFromPage: self.server.hasCookie(request)
            )
        case .failure(let refusal): self.response(.json, refusal, request)
        }
    }

    /// Performs a call in the XML of the content, of any content type.
    @Sendable
    func postXML(_ request: RoutedRequest) async -> Response {
        let call: RPCCall
        do throws(SyntaxError) {
            switch request.content {
            case .success(let bytes): call = try RPCCall(xml: bytes)
            case .failure(let refusal): return self.response(.xml, refusal, request)
            }
        } catch {
            let failure = RPCFailure(code: -32_700, "Parse error: \(error)")
            return self.response(.xml, XMLRPCAnswer(.failure(failure)).bytes, 400)
        }
        var run = RPCRun(dialect: .xml, caller: self.server.caller(request), subscription: nil)
        let result = await self.server.dispatcher.result(.success(call), &run)
        let response = self.response(.xml, XMLRPCAnswer(result).bytes)
        guard run.hasFailedAuthentication else { return response }
        return response.delayed(by: self.server.failedAuthentication(request, isRefused: run.refusal != nil))
    }

    /// Performs a call in the query, or opens a WebSocket.
    @Sendable
    func get(_ request: RoutedRequest) async -> Response {
        if WebSocketHandshake.isValid(request.request) { return WebSocketRoute(server: self.server).open(request) }
        guard !request.fields.contains("Sec-WebSocket-Key") else {
            return .json(
                426,
                ["message": "this is no WebSocket handshake of version 13"],
                ["Upgrade": "websocket", "Sec-WebSocket-Version": "13"]
            )
        }
        let query = RPCQuery(QueryItems(target: request.target))
        return await self.response(query.envelope, query.callback, request)
    }

    /// Responds to a CORS preflight request of a browser, which does not contain a token.
    @Sendable
    func preflight(_ request: RoutedRequest) async -> Response {
        Response(
            204,
            [
                "Access-Control-Allow-Methods": "POST, GET, OPTIONS",
                "Access-Control-Allow-Headers": "Content-Type, Authorization, Last-Event-ID",
                "Access-Control-Max-Age": "1728000",
            ]
        )
    }

    private func response(
        _ envelope: RPCEnvelope,
        _ callback: String?,
        _ request: RoutedRequest,
        isFromPage: Bool = false
    ) async -> Response {
        var caller = self.server.caller(request)
        caller.isAuthenticated = caller.isAuthenticated || isFromPage
        let answer = await self.server.dispatcher.answer(envelope, from: caller)
        var response = self.response(.json, answer.bytes, answer.status)
        if let callback {
            response.content = .bytes(Array("\(callback)(".utf8) + answer.bytes + [0x29])
            response.fields["Content-Type"] = "text/javascript"
        }
        if let wait = answer.refusal {
            if response.status == 400 { response.status = 429 }
            response.fields.append("Retry-After", "\(wait.wholeSeconds)")
        }
        guard answer.hasFailedAuthentication else { return response }
        return response.delayed(by: self.server.failedAuthentication(request, isRefused: answer.refusal != nil))
    }

    private func response(_ dialect: RPCDialect, _ bytes: [UInt8], _ status: Int = 200) -> Response {
        var fields = HeaderFields()
        fields.reserve(bytes: 160, lines: 5)
        fields.append("Content-Type", dialect == .xml ? "text/xml" : "application/json-rpc")
        fields.append("Cache-Control", "no-cache")
        fields.append("X-Content-Type-Options", "nosniff")
        return Response(status, fields, .bytes(bytes))
    }

    /// Returns the response to refused content, after which the connection closes.
    private func response(
        _ dialect: RPCDialect,
        _ refusal: ContentCollector.Refusal,
        _ request: RoutedRequest
    ) -> Response {
        switch refusal {
        case .tooLarge(let limit):
            self.response(
                dialect,
                .tooMuch("The body has more than \(limit) bytes", remedy: "send less at once"),
                413
            )
        case .unauthenticated(let limit):
            self.response(
                dialect,
                .tooMuch(
                    "The token is not within the first \(limit) bytes of the body",
                    remedy: "send it as the first parameter and before long values, or as Authorization: Bearer"
                ),
                413
            )
            .delayed(by: self.server.failedAuthentication(request))
        case .busy:
            self.response(
                dialect,
                .tooMuch("Too much is being sent at once", remedy: "send it again later"),
                503
            )
        }
    }

    private func response(_ dialect: RPCDialect, _ failure: RPCFailure, _ status: Int) -> Response {
        switch dialect {
        case .json:
            var answer = RPCAnswer()
            answer.append(RPCItem(id: .null, call: .failure(failure)), .failure(failure))
            return self.response(.json, answer.bytes, status).closing()
        case .xml: return self.response(.xml, XMLRPCAnswer(.failure(failure)).bytes, status).closing()
        }
    }
}
