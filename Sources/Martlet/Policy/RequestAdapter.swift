// SPDX-License-Identifier: Apache-2.0
/// Adds header fields to each request of a session just before it is sent, such as a new token or a signature.
///
/// It is called for every request to a server: each attempt, each range of a download, each step of a resumable upload,
/// and each redirect, also to another origin. Send a secret only if ``AdaptedRequest/url`` has the origin that it is for.
/// Responses from the cache need no call if the cache has them for the same fields, so the call precedes the cache.
///
/// Several requests can be adapted at the same time, on any thread.
public protocol RequestAdapter: Sendable {
    /// Returns the header fields to add to a request; each replaces the request's fields of the same name.
    ///
    /// The time until it returns counts as time without bytes (``TransferRequest/requestTimeout``). The surrounding Swift
    /// task is cancelled if the transfer is suspended or cancelled.
    ///
    /// - Parameter request: The request.
    /// - Returns: The fields; empty to send the request as it is. Do not return those of the transfer itself, such as
    ///   `Range` and `If-Range`.
    /// - Throws: Any error; the task then fails with ``TransferError/Code/badRequest`` and the error's description, and is
    ///   not retried.
    func fields(for request: AdaptedRequest) async throws -> HeaderFields

    /// The server refused a request with the status 401.
    ///
    /// The request is sent again once, with the result of another call of ``fields(for:)``, which follows this one. If it
    /// is refused again, credentials and delegates are used as without an adapter. Content that can be sent only once is
    /// not sent again.
    ///
    /// - Parameters:
    ///   - request: The request, with the fields that were added.
    ///   - response: The response.
    func wasRefused(_ request: AdaptedRequest, with response: TransferResponse)
}

extension RequestAdapter {
    /// Does nothing.
    public func wasRefused(_ request: AdaptedRequest, with response: TransferResponse) {}
}

/// A request that an adapter adds fields to.
public struct AdaptedRequest: Sendable {
    /// The method.
    public let method: String
    /// The URL; that of a redirect is the new one.
    public let url: HTTPURL
    /// The header fields, except those of the connection: `Host`, `Connection`, `Content-Length`, `Transfer-Encoding`.
    public let headers: HeaderFields
}
