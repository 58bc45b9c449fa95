/// The tasks of a session that have not ended, by kind, in the order in which they were made.
public struct SessionTasks: Sendable {
    /// The data tasks.
    public let data: [DataTask]
    /// The download tasks.
    public let download: [DownloadTask]
    /// The upload tasks.
    public let upload: [UploadTask]

    /// How many there are.
    public var count: Int { self.data.count + self.download.count + self.upload.count }
    /// Whether there is none.
    public var isEmpty: Bool { self.count == 0 }
}
