// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import NIOCore

/// A serialized request to the daemon.
struct ControlRequest: Sendable {
    /// The bytes, head and body.
    let bytes: ByteBuffer
    /// The name of the request in messages.
    let subject: String
    /// Whether the request is idempotent, so that it may be repeated if no response arrived.
    let isRepeatable: Bool

    /// A call of a method over JSON-RPC 2.0.
    static func call(_ method: String, _ params: JSON) -> ControlRequest {
        let body: JSON = ["jsonrpc": "2.0", "id": 1, "method": .string(method), "params": params]
        let content = body.bytes
        var bytes = ByteBuffer()
        bytes.reserveCapacity(content.count + 128)
        bytes.writeString(
            "POST /jsonrpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(content.count)\r\n\r\n"
        )
        bytes.writeBytes(content)
        return ControlRequest(bytes: bytes, subject: method, isRepeatable: Self.readers.contains(method))
    }

    /// A request for a stream of events.
    ///
    /// - Throws: ``ControlError`` with `badParameter` if the path cannot be part of a request line.
    static func events(_ path: String) throws(ControlError) -> ControlRequest {
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ControlError(.badParameter, "'\(path)' is not a path of the daemon", remedy: "encode it with %XX")
        }
        let head = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        return ControlRequest(bytes: ByteBuffer(string: head), subject: path, isRepeatable: true)
    }

    private static let readers: Set<String> = [
        "martlet.show", "martlet.list", "martlet.openList", "martlet.counts", "martlet.limits", "martlet.sessions",
        "martlet.daemon",
        "martlet.acknowledge", "martlet.openSession",
    ]
}
