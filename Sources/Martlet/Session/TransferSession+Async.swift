/// What most programs need, in one line each.
extension TransferSession {
    /// Brings a body into memory.
    ///
    /// Where the surrounding Swift task is cancelled, so is the transfer.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - maximumBytes: The most bytes of body to keep.
    /// - Returns: The response and its body.
    /// - Throws: ``TransferError``, with `httpStatus` for a status that is no success; `CancellationError`.
    public func data(
        from request: some RequestConvertible,
        maximumBytes: Int = DataTask.defaultMaximum
    ) async throws -> DataResponse {
        let task = try self.dataTask(for: request, maximumBytes: maximumBytes)
        task.resume()
        return try await task.value
    }

    /// Brings a body into a file.
    ///
    /// Where the surrounding Swift task is cancelled, so is the transfer.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - destination: Where the file goes; a temporary one is deleted when the caller lets go of the result.
    /// - Returns: The file.
    /// - Throws: ``TransferError``, with `httpStatus` for a status that is no success; `CancellationError`.
    public func download(
        from request: some RequestConvertible,
        to destination: Destination = .temporary
    ) async throws -> DownloadedFile {
        let task = try self.downloadTask(for: request, to: destination)
        task.resume()
        return try await task.value
    }

    /// Goes on with a download that was cut off.
    ///
    /// - Parameter data: What the earlier task gave.
    /// - Returns: The file, at the earlier task's destination.
    /// - Throws: ``TransferError``; `CancellationError`.
    public func download(resuming data: ResumeData) async throws -> DownloadedFile {
        let task = try self.downloadTask(resuming: data)
        task.resume()
        return try await task.value
    }

    /// Makes a data task that has begun and tells a handler its end; see ``DataTask/onCompletion(_:)``.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - completion: The handler, called once.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` where the task cannot be made.
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

    /// Makes a download task that has begun and tells a handler its end; see ``DownloadTask/onCompletion(_:)``.
    ///
    /// - Parameters:
    ///   - request: What to ask for.
    ///   - destination: Where the file goes; a temporary one is deleted when the handler returns, unless moved or kept.
    ///   - completion: The handler, called once.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` where the task cannot be made.
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
