// SPDX-License-Identifier: Apache-2.0
internal import HTTPServer
internal import TransferCore

/// The daemon's side of one of its listeners.
final class DaemonApplication: HTTPApplication {
    private let parts: ServerParts
    private let router: Router
    /// The allowed hosts and origins; `nil` allows all.
    private let policy: RequestPolicy?

    /// - Parameters:
    ///   - parts: The state that all requests share.
    ///   - isLocal: Whether the listener is the Unix socket, whose clients are known by their user.
    init(_ parts: ServerParts, isLocal: Bool) {
        self.parts = parts
        self.router = DaemonRoutes(server: parts).router(isLocal: isLocal)
        self.policy = isLocal ? nil : parts.policy
    }

    func handler(for request: inout Request) -> any RequestHandler {
        if let policy {
            let verdict = policy.verdict(
                hosts: request.head.fields.values("Host"),
                origins: request.head.fields.values("Origin"),
                localAddress: request.localAddress,
                requiresHost: request.head.minorVersion > 0
            )
            switch verdict {
            case .heard(let origin): request.allowedOrigin = origin
            case .refused(let reason):
                self.parts.metrics.refused()
                return ImmediateHandler(.message(403, reason).closing())
            }
        }
        return self.router.handler(for: request)
    }

    func prepare(_ response: inout Response, to request: Request) {
        if let origin = request.allowedOrigin {
            response.fields.append("Access-Control-Allow-Origin", origin)
            response.fields.append("Vary", "Origin")
        }
        // After a refused upgrade, the client's next bytes can be in the other protocol.
        if response.status != 101, request.head.fields.contains("Upgrade") { response.closes = true }
    }

    func malformed(_ error: RequestError) { self.parts.metrics.malformed() }

    func connectionsChanged(by change: Int) { self.parts.metrics.connected(change) }
}
