// SPDX-License-Identifier: Apache-2.0
public import Foundation
#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Functions that wait for a task; cancelling the surrounding Swift task cancels it.
extension URLSession {
    /// Fetches a body into memory.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - delegate: A delegate for this task.
    /// - Returns: The body and the response, whatever its status.
    /// - Throws: `URLError`; `CancellationError` if the Swift task was cancelled before.
    public func data(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await self.body(delegate) { URLSessionDataTask(self, request, .data, .data($0)) }
    }

    /// Fetches a body into memory; see ``data(for:delegate:)``.
    public func data(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) { try await self.data(for: URLRequest(url: url), delegate: delegate) }

    /// Sends bytes; see ``data(for:delegate:)``.
    public func upload(
        for request: URLRequest,
        from bodyData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await self.body(delegate) { URLSessionUploadTask(self, request, .upload(.bytes(bodyData)), .data($0)) }
    }

    /// Sends a file; see ``data(for:delegate:)``.
    public func upload(
        for request: URLRequest,
        fromFile fileURL: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await self.body(delegate) { URLSessionUploadTask(self, request, .upload(.file(fileURL)), .data($0)) }
    }

    /// Fetches a body into a file, which belongs to the caller.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - delegate: A delegate for this task.
    /// - Returns: The file, which the caller moves or deletes, and the response, whatever its status.
    /// - Throws: `URLError`, with resume data if a part was received; `CancellationError`.
    public func download(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await self.result {
            self.made(URLSessionDownloadTask(self, request, .download, .file($0, keepsFile: true)), delegate)
        }
    }

    /// Fetches a body into a file; see ``download(for:delegate:)``.
    public func download(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) { try await self.download(for: URLRequest(url: url), delegate: delegate) }

    /// Continues a download; see ``download(for:delegate:)`` and ``downloadTask(withResumeData:)``.
    public func download(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await self.result { self.resumed(resumeData, .file($0, keepsFile: true), delegate) }
    }

    private func body(
        _ delegate: (any URLSessionTaskDelegate)?,
        _ make: (@escaping URLSessionDataHandler) -> URLSessionDataTask
    ) async throws -> (Data, URLResponse) {
        try await self.result { handler in self.made(make { handler($0, $1, $2) }, delegate) }
    }

    private func result<Content: Sendable>(
        _ make: (@escaping @Sendable (Content?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async throws -> (Content, URLResponse) {
        try Task.checkCancellation()
        let (outcome, ended) = AsyncStream.makeStream(of: Result<(Content, URLResponse), any Error>.self)
        let task = make { content, response, error in
            if let content, let response {
                ended.yield(.success((content, response)))
            } else {
                ended.yield(.failure(error ?? URLError(.unknown)))
            }
            ended.finish()
        }
        task.resume()
        return try await withTaskCancellationHandler {
            // A cancelled loop would end before the task has ended.
            let result = await Task { await outcome.first { _ in true } }.value
            return try (result ?? .failure(URLError(.cancelled))).get()
        } onCancel: {
            task.cancel()
        }
    }
}
