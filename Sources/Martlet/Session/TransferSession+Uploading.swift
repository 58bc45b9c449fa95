internal import TransferEngine

/// Sending.
extension TransferSession {
    /// Makes an upload task; it begins with ``TransferTask/resume()``.
    ///
    /// In a background session files are sent, alone or in a form: the daemon opens them, so they must stay where they are.
    /// The answer's body has at most 1 MiB there.
    ///
    /// - Parameters:
    ///   - request: Where to send to. Its method is `PUT` where the request has none of its own (`GET`), and `POST` for a
    ///     form; its body must be `nil`.
    ///   - body: What to send.
    ///   - resumption: How it goes on after a break.
    ///   - checksum: The digest to send with each part, where the server speaks tus and takes it.
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

    /// Makes an upload task that goes on with what another one has begun.
    ///
    /// The file must be as it was; one that changed fails the task with `file`. In a background session this is how an
    /// upload that was begun by the program goes on when the program ends: from what the server has.
    ///
    /// - Parameters:
    ///   - data: What that one gave.
    ///   - request: The request that it was made for, with its header fields and credentials.
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

    /// Sends, and brings the answer.
    ///
    /// Where the surrounding Swift task is cancelled, so is the transfer.
    ///
    /// - Parameters:
    ///   - body: What to send.
    ///   - request: Where to send to; see ``uploadTask(for:from:resumption:checksum:)``.
    ///   - resumption: How it goes on after a break.
    /// - Returns: The answer and its body.
    /// - Throws: ``TransferError``, with `httpStatus` for a status that is no success; `CancellationError`.
    public func upload(
        _ body: UploadBody,
        to request: some RequestConvertible,
        resumption: Resumption = .automatic
    ) async throws -> DataResponse {
        let task = try self.uploadTask(for: request, from: body, resumption: resumption)
        task.resume()
        return try await task.value
    }

    /// Makes an upload task that has begun and tells a handler its end; see ``UploadTask/onCompletion(_:)``.
    ///
    /// - Parameters:
    ///   - body: What to send.
    ///   - request: Where to send to; see ``uploadTask(for:from:resumption:checksum:)``.
    ///   - resumption: How it goes on after a break.
    ///   - completion: The handler, called once.
    /// - Returns: The task.
    /// - Throws: ``TransferError`` where the task cannot be made.
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

    /// Sends, and waits for the answer; see ``dataBlocking(from:referer:headers:maximumBytes:)`` for where it may be called.
    ///
    /// - Parameters:
    ///   - body: What to send.
    ///   - request: Where to send to; see ``uploadTask(for:from:resumption:checksum:)``.
    ///   - referer: The page that the request comes from.
    ///   - headers: Header fields beside the request's own.
    ///   - resumption: How it goes on after a break.
    /// - Returns: The answer and its body.
    /// - Throws: ``TransferError``; for a status that is no success with the status, its name and the body's first bytes.
    public func uploadBlocking(
        _ body: UploadBody,
        to request: some RequestConvertible,
        referer: HTTPURL? = nil,
        headers: HTTPFields = [:],
        resumption: Resumption = .automatic
    ) throws(TransferError) -> DataResponse {
        try BlockingCall.check()
        let request = try Self.request(request.transferRequest(), referer, headers)
        let task = try self.makeUpload(request, body, resumption, nil, isPrivate: true)
        return try BlockingCall.wait {
            task.whenEnded($0)
        } beginning: {
            task.resume()
        }
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
                "the request of an upload has a body of its own",
                remedy: "give it as the upload's body"
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
        } else if task.body.type.hasPrefix("multipart/") {
            request.method = "POST"
        }
        request.type = task.body.type
        request.fields = self.fields(asked)
        request.way = task.resumption.way
        request.checksum = task.checksum
        request.journal = task.keeper
        request.policy = self.policy
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
