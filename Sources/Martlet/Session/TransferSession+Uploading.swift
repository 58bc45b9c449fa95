// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// Uploads.
extension TransferSession {
    /// Creates an upload task; ``TransferTask/resume()`` starts it.
    ///
    /// A background session sends only files, alone or in a form. The daemon opens them when it sends them, so they
    /// must not be moved or deleted before. The response body is limited to 1 MiB there.
    ///
    /// - Parameters:
    ///   - request: The request. Its method `GET` is replaced by `PUT`, or by `POST` for a form or a value as JSON; its
    ///     body must be `nil`.
    ///   - body: The content to send.
    ///   - resumption: How the upload resumes after an interruption.
    ///   - checksum: The digest to send with each part, if the server supports tus checksums.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` with `badURL`, `badRequest`, or `invalidated`.
    public func uploadTask(
        for request: some RequestConvertible,
        from body: UploadBody,
        resumption: Resumption = .automatic,
        checksum: DigestAlgorithm? = nil
    ) throws(TransferError) -> UploadTask {
        try self.makeUpload(request.transferRequest(), body, resumption, checksum, isPrivate: false)
    }

    /// Creates an upload task that resumes the upload of another task.
    ///
    /// The file must be unchanged; otherwise the task fails with `file`. With this method a background session can
    /// resume, from the bytes that the server has, an upload that this program started in the foreground.
    ///
    /// - Parameters:
    ///   - data: The resume data of the other task.
    ///   - request: The request of the other task, with its header fields and credentials.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` with `badURL`, `badRequest`, or `invalidated`.
    public func uploadTask(
        resuming data: UploadResumeData,
        for request: some RequestConvertible
    ) throws(TransferError) -> UploadTask {
        try self.makeUpload(
            request.transferRequest(),
            .file(data.path),
            .by(data.record.speaks),
            nil,
            isPrivate: false,
            record: data.record
        )
    }

    /// Sends a body and waits for the response.
    ///
    /// Cancelling the surrounding Swift task cancels the transfer.
    ///
    /// - Parameters:
    ///   - body: The content to send.
    ///   - request: The request; see ``uploadTask(for:from:resumption:checksum:)``.
    ///   - resumption: How the upload resumes after an interruption.
    /// - Returns: The response and its body.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success; `CancellationError`.
    public func upload(
        _ body: UploadBody,
        to request: some RequestConvertible,
        resumption: Resumption = .automatic
    ) async throws -> DataResponse {
        let task = try self.uploadTask(for: request, from: body, resumption: resumption)
        task.resume()
        return try await task.value
    }

    /// Creates and starts an upload task that reports its end to a handler; see ``UploadTask/onCompletion(_:)``.
    ///
    /// - Parameters:
    ///   - body: The content to send.
    ///   - request: The request; see ``uploadTask(for:from:resumption:checksum:)``.
    ///   - resumption: How the upload resumes after an interruption.
    ///   - completion: The handler, called once.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` if the task cannot be created.
    @discardableResult
    public func upload(
        _ body: UploadBody,
        to request: some RequestConvertible,
        resumption: Resumption = .automatic,
        completion: @escaping @Sendable (Result<DataResponse, TransferError>) -> Void
    ) throws(TransferError) -> UploadTask {
        let task = try self.uploadTask(for: request, from: body, resumption: resumption)
        task.onCompletion(completion)
        task.resume()
        return task
    }

    /// Sends a body and blocks until the response; see ``dataBlocking(from:referer:headers:maximumBytes:timeout:)`` for the
    /// threads.
    ///
    /// - Parameters:
    ///   - body: The content to send.
    ///   - request: The request; see ``uploadTask(for:from:resumption:checksum:)``.
    ///   - referer: The value of the `Referer` field.
    ///   - headers: Header fields in addition to the request's.
    ///   - resumption: How the upload resumes after an interruption.
    ///   - timeout: How long to wait for the end, `nil` for no limit; then the transfer is cancelled.
    /// - Returns: The response and its body.
    /// - Throws: ``TransferError``, with `timeout` after that time; for a status other than success it has the status,
    ///   its name and the first bytes of the body.
    public func uploadBlocking(
        _ body: UploadBody,
        to request: some RequestConvertible,
        referer: HTTPURL? = nil,
        headers: HeaderFields = [:],
        resumption: Resumption = .automatic,
        timeout: Duration? = nil
    ) throws(TransferError) -> DataResponse {
        try BlockingCall.check()
        let request = try Self.request(request.transferRequest(), referer, headers)
        let task = try self.makeUpload(request, body, resumption, nil, isPrivate: true)
        return try BlockingCall.wait(timeout, cancelling: task) { task.whenEnded($0) }
    }

    func makeUpload(
        _ request: TransferRequest,
        _ body: UploadBody,
        _ resumption: Resumption,
        _ checksum: DigestAlgorithm?,
        isPrivate: Bool,
        record: UploadRecord? = nil
    ) throws(TransferError) -> UploadTask {
        try Self.check(request)
        if self.isBackground, BackgroundTransfer.source(body) == nil { throw .noBytesInBackground }
        guard request.body == nil else {
            throw TransferError(
                .badRequest,
                "the request of an upload already has a body",
                remedy: "pass it as the upload's body"
            )
        }
        return try self.register { id in
            UploadTask(
                id: id,
                request: request,
                session: self,
                isPrivate: isPrivate,
                body: body,
                resumption: resumption,
                checksum: checksum,
                record: record
            )
        }
    }

    func uploadRequest(_ task: UploadTask) -> UploadRequest {
        let asked = task.request
        var request = UploadRequest(asked.url, task.body.content, options: self.options(of: task))
        if asked.method != "GET" {
            request.method = asked.method
        } else if task.body.type.hasPrefix("multipart/") || task.body.type == "application/json" {
            request.method = "POST"
        }
        request.type = task.body.type
        request.fields = self.fields(of: task)
        request.way = task.resumption.way
        request.checksum = task.checksum
        request.journal = task.keeper
        request.policy = self.policy(of: task)
        request.userInfo = TaskBox(task)
        request.receiver = AnswerSink(task)
        request.name = task.body.path ?? ""
        if let name = task.body.path?.split(separator: "/").last {
            request.metadata = [
                ("filename", String(name)), ("filetype", asked.headers["Content-Type"] ?? request.type),
            ]
        }
        return request
    }
}
