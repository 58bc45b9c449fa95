// SPDX-License-Identifier: Apache-2.0
extension OfflineDownload {
    /// Observes one download of a list.
    ///
    /// Every method is optional. An observer is referenced weakly and called in the context that it was added with, one
    /// call at a time and in order.
    public protocol Observer: AnyObject, Sendable {
        /// The download's state has changed.
        ///
        /// - Parameters:
        ///   - download: The download.
        ///   - state: The new state; it may have changed again by now.
        func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State)

        /// Progress of the download; sampled, at most about five times a second.
        ///
        /// - Parameters:
        ///   - download: The download.
        ///   - bytes: The number of bytes since the last call.
        ///   - total: The number of bytes received, including those of earlier runs.
        ///   - expected: The length of the complete file, or `nil` while it is unknown.
        func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?)
    }
}

extension OfflineDownload.Observer {
    /// Does nothing.
    public func download(_ download: OfflineDownload, didChangeTo state: OfflineDownload.State) {}

    /// Does nothing.
    public func download(_ download: OfflineDownload, didWrite bytes: Int64, total: Int64, expected: Int64?) {}
}

extension OfflineDownloads {
    /// Observes a list of downloads and each download in it, including those added later.
    ///
    /// Every method is optional, including those of ``OfflineDownload/Observer``. An observer is referenced weakly and
    /// called in the context that it was added with, one call at a time and in order.
    public protocol Observer: OfflineDownload.Observer {
        /// A download's file is complete and in its place; the download is now among the finished ones.
        func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload)

        /// The list could not be written after an event: a download that finished or failed.
        ///
        /// Nothing is lost while the program runs; the next change writes everything.
        func downloads(_ list: OfflineDownloads, didFailToSave error: TransferError)
    }
}

extension OfflineDownloads.Observer {
    /// Does nothing.
    public func downloads(_ list: OfflineDownloads, didFinish download: OfflineDownload) {}

    /// Does nothing.
    public func downloads(_ list: OfflineDownloads, didFailToSave error: TransferError) {}
}
