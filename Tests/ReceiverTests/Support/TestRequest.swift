// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import HTTPServer

/// Requests that were built, not received.
enum TestRequest {
    /// A GET of `/` with some fields.
    static func make(_ fields: HeaderFields, from peer: String = "192.0.2.1") throws -> Request {
        Request(
            head: RequestHead(method: "GET", target: "/", fields: fields),
            target: try #require(RequestTarget("/")),
            peer: peer,
            localAddress: nil,
            isLocal: false,
            isSecure: false,
            isFirst: true
        )
    }
}
