/// Hears of one download of a list.
///
/// Every method is optional. An observer is held weakly and told in the context that it was added with, one call at a time
/// and in order.
public protocol OfflineDownloadObserver: AnyObject, Sendable {
    /// The download's state is another one.
    ///
    /// - Parameters:
    ///   - download: The download.
    ///   - state: The state that it got; it may have another one by now.
    func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State)

    /// Bytes came; sampled, at most about five times a second.
    ///
    /// - Parameters:
    ///   - download: The download.
    ///   - bytes: The bytes that are new since this was told last.
    ///   - total: The bytes that are there, those of earlier runs included.
    ///   - expected: The length of the whole, or `nil` while it is unknown.
    func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?)
}

extension OfflineDownloadObserver {
    /// Does nothing.
    public func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {}

    /// Does nothing.
    public func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {}
}

/// Hears of a list of downloads, and of each download in it, those included that are added later.
///
/// Every method is optional, those of ``OfflineDownloadObserver`` as well. An observer is held weakly and told in the context
/// that it was added with, one call at a time and in order.
public protocol OfflineDownloadsObserver: OfflineDownloadObserver {
    /// A download's file is whole and at its place; the download has gone over from the active ones to the finished ones.
    func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload)

    /// The list could not be written after something that happened by itself: a download that finished or failed.
    ///
    /// Nothing is lost as long as the program runs; the next change writes it all.
    func downloads(_ list: OfflineDownloads, didFailToSave error: TransferError)
}

extension OfflineDownloadsObserver {
    /// Does nothing.
    public func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {}

    /// Does nothing.
    public func downloads(_ list: OfflineDownloads, didFailToSave error: TransferError) {}
}
