// SPDX-License-Identifier: Apache-2.0
/// Asynchronous calls and completion handlers for common transfers.
extension TransferSession {
    /// Receives a body in memory.
    ///
    /// Cancelling the surrounding Swift task cancels the transfer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - maximumBytes: The maximum size of the body in bytes.
    /// - Returns: The response and its body.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success; `CancellationError`.
    public func data(
        from request: some RequestConvertible,
        maximumBytes: Int = DataTask.defaultMaximum
    ) async throws -> DataResponse {
        let task = try self.dataTask(for: request, maximumBytes: maximumBytes)
        task.resume()
        return try await task.value
    }

    /// Receives a body into a file.
    ///
    /// Cancelling the surrounding Swift task cancels the transfer.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: The destination of the file; a temporary one is deleted when the caller releases the result.
    /// - Returns: The file.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success; `CancellationError`.
    public func download(
        from request: some RequestConvertible,
        to destination: Destination = .temporary
    ) async throws -> DownloadedFile {
        let task = try self.downloadTask(for: request, to: destination)
        task.resume()
        return try await task.value
    }

    /// Resumes an interrupted download.
    ///
    /// - Parameter data: The resume data of the earlier task.
    /// - Returns: The file, at the earlier task's destination.
    /// - Throws: ``TransferError``; `CancellationError`.
    public func download(resuming data: ResumeData) async throws -> DownloadedFile {
        let task = try self.downloadTask(resuming: data)
        task.resume()
        return try await task.value
    }

    /// Creates and starts a data task that reports its end to a handler; see ``DataTask/onCompletion(_:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - completion: The handler, called once.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` if the task cannot be created.
    @discardableResult
    public func data(
        from request: some RequestConvertible,
        completion: @escaping @Sendable (Result<DataResponse, TransferError>) -> Void
    ) throws(TransferError) -> DataTask {
        let task = try self.dataTask(for: request)
        task.onCompletion(completion)
        task.resume()
        return task
    }

    /// Creates and starts a download task that reports its end to a handler; see ``DownloadTask/onCompletion(_:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - destination: The destination; a temporary file is deleted when the handler returns, unless it was moved or
    ///     kept.
    ///   - completion: The handler, called once.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` if the task cannot be created.
    @discardableResult
    public func download(
        from request: some RequestConvertible,
        to destination: Destination = .temporary,
        completion: @escaping @Sendable (Result<DownloadedFile, TransferError>) -> Void
    ) throws(TransferError) -> DownloadTask {
        let task = try self.downloadTask(for: request, to: destination)
        task.onCompletion(completion)
        task.resume()
        return task
    }
}
