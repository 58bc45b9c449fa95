// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import TransferCore

/// The handshake of a WebSocket.
///
/// - Source: RFC 6455 §4.2.
package enum WebSocketHandshake {
    /// Whether a request is a valid handshake of version 13.
    ///
    /// Only the first request of a connection may be one.
    package static func isValid(_ request: Request) -> Bool {
        let fields = request.head.fields
        return request.isFirst && request.head.method == "GET" && request.head.minorVersion == 1
            && request.head.framing == .none
            && fields.values("Upgrade").map { $0.lowercased() } == ["websocket"]
            && Self.hasUpgradeOption(fields.values("Connection"))
            && fields.values("Sec-WebSocket-Version") == ["13"]
            && fields.values("Sec-WebSocket-Key").count == 1
    }

    static func fields(accepting key: String) -> HeaderFields {
        let digest = Insecure.SHA1.hash(data: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": Base64.encode(digest)]
    }

    /// Whether the connection options include `upgrade`, which is required (RFC 9110 §7.8).
    private static func hasUpgradeOption(_ values: [String]) -> Bool {
        values.contains { value in
            value.lowercased().split(separator: ",").contains { $0.filter { $0 != " " && $0 != "\t" } == "upgrade" }
        }
    }
}

extension Response {
    /// Accepts a valid WebSocket handshake; the connection is used for the WebSocket alone from then on.
    ///
    /// - Parameters:
    ///   - request: The request, for which ``WebSocketHandshake/isValid(_:)`` is true.
    ///   - upgrade: The WebSocket's limits and its handler.
    /// - Returns: The response.
    package static func webSocket(_ request: Request, _ upgrade: WebSocketUpgrade) -> Response {
        Response(
            101,
            WebSocketHandshake.fields(accepting: request.head.fields["Sec-WebSocket-Key"] ?? ""),
            .webSocket(upgrade)
        )
    }
}
