// SPDX-License-Identifier: Apache-2.0
/// The tasks of a session that have not ended, by kind, in the order in which they were created.
public struct SessionTasks: Sendable {
    /// The data tasks.
    public let data: [DataTask]
    /// The download tasks.
    public let download: [DownloadTask]
    /// The upload tasks.
    public let upload: [UploadTask]

    /// The number of tasks.
    public var count: Int { self.data.count + self.download.count + self.upload.count }
    /// Whether `count` is zero.
    public var isEmpty: Bool { self.count == 0 }
}
