// SPDX-License-Identifier: Apache-2.0
/// An event of one task.
///
/// Order: any number of `sent` and `waiting`, then `response`, then any number of `data`, `resumed`, `progress` or `waiting`, then
/// exactly one of `finished` and `failed`.
public enum TaskEvent: Sendable {
    /// The head of the response whose body will be received.
    case response(TransferResponse)
    /// A download continues with this many bytes that are already present; before the first progress of each attempt
    /// that continues. `expected` is the length of the whole file, or `nil` if it is unknown.
    case resumed(at: Int64, expected: Int64?)
    /// Bytes of a data task's body, in order.
    case data([UInt8])
    /// Progress of the body; sampled, at most about five times a second.
    case progress(TransferProgress)
    /// Progress of an upload; sampled, at most about five times a second.
    case sent(UploadProgress)
    /// An attempt failed; the task waits for the next one.
    case waiting(WaitReason)
    /// The task succeeded.
    case finished(TransferTask.Output)
    /// The task failed or was cancelled.
    case failed(TransferError)
}

extension TransferTask {
    /// The result of a task.
    public enum Output: Sendable {
        /// The result of a data task, or the response to an upload.
        case data(DataResponse)
        /// The result of a download task.
        case file(DownloadedFile)
    }
}
