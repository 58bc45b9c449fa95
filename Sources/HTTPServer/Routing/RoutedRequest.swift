// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A request with the parameters of its route and its content.
package struct RoutedRequest: Sendable {
    /// The request's head and origin.
    package let request: Request
    let parameters: [(name: Substring, value: Substring)]
    /// The content; empty if the route takes none.
    package internal(set) var content: Result<[UInt8], ContentCollector.Refusal> = .success([])

    package var fields: HeaderFields { self.request.head.fields }
    /// The request target as the client sent it.
    package var target: String { self.request.head.target }
    /// The address of the client; `-` over a Unix socket.
    package var peer: String { self.request.peer }
    /// Whether the connection is over a Unix socket.
    package var isLocal: Bool { self.request.isLocal }

    /// The value of a parameter in the route's path, before percent-decoding; empty if the path has no such parameter.
    package subscript(name: String) -> String {
        self.parameters.first { $0.name == name }.map { String($0.value) } ?? ""
    }
}
