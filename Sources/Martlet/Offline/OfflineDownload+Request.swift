// SPDX-License-Identifier: Apache-2.0
extension OfflineDownload {
    /// A download to be added to a list; see ``OfflineDownloads/add(contentsOf:)-(Sequence<OfflineDownload.Request>)``.
    public struct Request: Sendable {
        /// The request: a plain GET, which may have header fields, mirrors and digests.
        public var request: TransferRequest
        /// The file's name; if it is `nil`, the URL's is used.
        public var name: String?
        /// Values set by the program, stored in the list.
        public var userInfo: [String: String]
        /// Whether the download is kept when the program starts again.
        public var keepsOverRestarts: Bool

        /// Creates the description of a download.
        ///
        /// - Parameters:
        ///   - request: The request: a plain GET, which may have header fields, mirrors and digests.
        ///   - name: The file's name; if it is `nil`, the URL's is used.
        ///   - userInfo: Values set by the program, stored in the list.
        ///   - keepsOverRestarts: Whether it is kept when the program starts again.
        /// - Throws: ``TransferError`` with `badURL`.
        public init(
            _ request: some RequestConvertible,
            name: String? = nil,
            userInfo: [String: String] = [:],
            keepsOverRestarts: Bool = true
        ) throws(TransferError) {
            self.request = try request.transferRequest()
            self.name = name
            self.userInfo = userInfo
            self.keepsOverRestarts = keepsOverRestarts
        }
    }
}
