// SPDX-License-Identifier: Apache-2.0
public import HTTPTypes
public import Martlet

extension TransferRequest {
    /// Creates a request from one of swift-http-types.
    ///
    /// - Throws: ``TransferError`` with `badURL` if the scheme, the authority or the path is missing or invalid; with
    ///   `badRequest` for the method `CONNECT`, which opens a tunnel instead of making a request.
    public init(_ request: HTTPRequest) throws(TransferError) {
        guard request.method != .connect, request.extendedConnectProtocol == nil else {
            throw TransferError(
                .badRequest,
                "a CONNECT request cannot be sent: a session opens tunnels itself",
                remedy: "set a proxy in the configuration"
            )
        }
        let scheme = try Self.part(request.scheme, "scheme", "http or https")
        let authority = try Self.part(request.authority, "authority", "a host, such as example.org")
        let path = try Self.part(request.path, "path", "/ or a longer path")
        // Otherwise the end of one part would belong to another part of the URL.
        guard !authority.contains(where: { "/?#\\".contains($0) }) else {
            throw TransferError(
                .badURL,
                "'\(authority)' is not the authority of a URL",
                remedy: "set it to a host and, if needed, a port"
            )
        }
        guard path.hasPrefix("/"), !path.contains("#") else {
            throw TransferError(
                .badURL,
                "the path '\(path)' cannot be requested",
                remedy: "set it to a path that begins with / and has no fragment"
            )
        }
        try self.init("\(scheme)://\(authority)\(path)")
        self.method = request.method.rawValue
        self.headers = HeaderFields(request.headerFields)
    }

    private static func part(_ value: String?, _ name: String, _ example: String) throws(TransferError) -> String {
        guard let value, !value.isEmpty else {
            throw TransferError(.badURL, "the request has no \(name)", remedy: "set it to \(example)")
        }
        return value
    }
}

extension HTTPRequest {
    /// Creates a request of swift-http-types: the method, the URL and the header fields.
    ///
    /// The fields include those of ``TransferRequest/ifNoneMatch(_:)``, ``TransferRequest/ifModified(since:)-(Int64)`` and
    /// ``TransferRequest/referer``, but not those that the session adds. Everything else is lost: the body, mirrors,
    /// digests, timeouts, limits, and the user information of the URL.
    ///
    /// - Throws: ``TransferError`` with `badRequest` if the method is not a token.
    public init(_ request: TransferRequest) throws(TransferError) {
        guard let method = HTTPRequest.Method(request.method) else {
            throw TransferError(.badRequest, "'\(request.method)' is not a method; write one such as GET or POST")
        }
        var headers = request.headers
        for (name, value) in request.conditions { headers.append(name, value) }
        if let referer = request.referer, !headers.contains("Referer") {
            headers.append("Referer", referer.withoutUserInfo)
        }
        self.init(
            method: method,
            scheme: request.url.scheme.name,
            authority: request.url.hostField,
            path: request.url.requestTarget,
            headerFields: HTTPFields(headers)
        )
    }
}

extension HTTPRequest: RequestConvertible {
    /// The request with the options of the session's configuration.
    ///
    /// - Throws: ``TransferError`` with `badURL` or `badRequest` if it cannot be sent, as from the initializer of
    ///   ``TransferRequest``.
    public func transferRequest() throws(TransferError) -> TransferRequest { try TransferRequest(self) }
}
