// SPDX-License-Identifier: Apache-2.0
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
public import HTTPTypes
public import Martlet

/// Requests and responses of swift-http-types, in the form that HTTPTypesFoundation has for `URLSession`.
///
/// A response of any status is a result, as with `URLSession`, and is not retried; a download fails nevertheless. For a
/// status other than success to be an error, pass the request to ``TransferSession/data(from:maximumBytes:)``.
extension TransferSession {
    /// Receives a body in memory, whatever the response's status.
    ///
    /// Cancelling the surrounding Swift task cancels the transfer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - delegate: A delegate for this task, retained until its end.
    /// - Returns: The body, at most 64 MiB, and the response.
    /// - Throws: ``TransferError``; `CancellationError`.
    public func data(
        for request: HTTPRequest,
        delegate: (any TransferDelegate)? = nil
    ) async throws -> (Data, HTTPResponse) {
        defer { withExtendedLifetime(delegate) {} }
        let task = try self.dataTask(for: try Self.accepting(request))
        if let delegate { task.addDelegate(delegate) }
        task.resume()
        return try await Self.parts(of: task.value)
    }

    /// Sends bytes, and receives the response's body in memory, whatever its status.
    ///
    /// - Parameters:
    ///   - request: The request. It has a method other than `GET`; `Content-Type` is sent only if it has that field.
    ///   - body: The content.
    ///   - delegate: A delegate for this task, retained until its end.
    /// - Returns: The response's body and the response.
    /// - Throws: ``TransferError``, with `badRequest` for the method `GET`; `CancellationError`.
    public func upload(
        for request: HTTPRequest,
        from body: Data,
        delegate: (any TransferDelegate)? = nil
    ) async throws -> (Data, HTTPResponse) { try await self.upload(.bytes(Array(body)), request, delegate) }

    /// Sends a file, and receives the response's body in memory, whatever its status.
    ///
    /// - Parameters:
    ///   - request: The request; see ``upload(for:from:delegate:)``.
    ///   - fileURL: The URL of a regular file.
    ///   - delegate: A delegate for this task, retained until its end.
    /// - Returns: The response's body and the response.
    /// - Throws: ``TransferError``, with `badRequest` for the method `GET`, and `file` if the file cannot be read or the
    ///   URL is not a file URL; `CancellationError`.
    public func upload(
        for request: HTTPRequest,
        fromFile fileURL: URL,
        delegate: (any TransferDelegate)? = nil
    ) async throws -> (Data, HTTPResponse) {
        try await self.upload(.file(fileURL.isFileURL ? fileURL.path : ""), request, delegate)
    }

    /// Receives a body into a file.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: The destination of the file; a temporary one is deleted when the caller releases the result.
    ///   - delegate: A delegate for this task, retained until its end.
    /// - Returns: The file and the response.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success; `CancellationError`.
    public func download(
        for request: HTTPRequest,
        to destination: Destination = .temporary,
        delegate: (any TransferDelegate)? = nil
    ) async throws -> (DownloadedFile, HTTPResponse) {
        defer { withExtendedLifetime(delegate) {} }
        let task = try self.downloadTask(for: request, to: destination)
        if let delegate { task.addDelegate(delegate) }
        task.resume()
        let file = try await task.value
        guard let response = file.response else {
            // Only a request with an expected digest ends without a response, and this one has none.
            throw TransferError(.unknown, "the download ended without a response")
        }
        return (file, HTTPResponse(response))
    }

    private func upload(
        _ body: UploadBody,
        _ request: HTTPRequest,
        _ delegate: (any TransferDelegate)?
    ) async throws -> (Data, HTTPResponse) {
        guard request.method != .get else {
            throw TransferError(.badRequest, "GET is not the method of an upload", remedy: "set it to PUT or POST")
        }
        defer { withExtendedLifetime(delegate) {} }
        let task = try self.uploadTask(for: try Self.accepting(request), from: body.withoutType)
        if let delegate { task.addDelegate(delegate) }
        task.resume()
        return try await Self.parts(of: task.value)
    }

    private static func accepting(_ request: HTTPRequest) throws(TransferError) -> TransferRequest {
        var request = try TransferRequest(request)
        request.acceptsAnyStatus = true
        return request
    }

    private static func parts(of response: DataResponse) -> (Data, HTTPResponse) {
        (Data(response.body), HTTPResponse(response.response))
    }
}
