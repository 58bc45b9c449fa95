/// Something that happened to one task.
///
/// Order: what was sent any number of times, the response, then data or progress any number of times, then exactly one of
/// `finished` and `failed`.
public enum TaskEvent: Sendable {
    /// The response came whose body is taken.
    case response(HTTPResponse)
    /// Bytes of a data task's body, in order.
    case data([UInt8])
    /// Bytes came; sampled, at most about five times a second.
    case progress(TransferProgress)
    /// Bytes of an upload were sent; sampled, at most about five times a second.
    case sent(UploadProgress)
    /// It ended well.
    case finished(TaskOutput)
    /// It ended otherwise.
    case failed(TransferError)
}

/// What a task brought.
public enum TaskOutput: Sendable {
    /// A data task's, or the answer to an upload.
    case data(DataResponse)
    /// A download task's.
    case file(DownloadedFile)
}
