// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// The program behind an HTTP server: selects the handler of each request, and observes the responses.
///
/// All methods are called on event loops and must not block.
package protocol HTTPApplication: AnyObject, Sendable {
    /// Returns the handler of a request, which it may change: its method, user and allowed origin.
    func handler(for request: inout Request) -> any RequestHandler

    /// Changes a response before it is sent; not called for one to a request that could not be parsed.
    ///
    /// - Parameters:
    ///   - response: The response, or the fields of an interim one.
    ///   - request: The request.
    func prepare(_ response: inout Response, to request: Request)

    /// A response has ended.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request, or `nil` if it could not be parsed.
    ///   - transmission: Its client, its size and the time.
    func responded(_ response: Response, to request: Request?, _ transmission: Transmission)

    /// A request could not be parsed; the server responds itself.
    func malformed(_ error: RequestError)

    /// The number of open connections has changed by 1 or -1.
    func connectionsChanged(by change: Int)
}

extension HTTPApplication {
    /// Changes nothing.
    package func prepare(_ response: inout Response, to request: Request) {}
    /// Does nothing.
    package func responded(_ response: Response, to request: Request?, _ transmission: Transmission) {}
    /// Does nothing.
    package func malformed(_ error: RequestError) {}
    /// Does nothing.
    package func connectionsChanged(by change: Int) {}
}

/// The end of a response, for logs.
package struct Transmission: Sendable {
    /// The address of the client; `-` over a Unix socket.
    package var peer: String
    /// The time in seconds since 1970.
    package var time: Int64
    /// The number of content bytes sent, or `nil` if the connection was lost.
    package var bytes: Int64?
}
