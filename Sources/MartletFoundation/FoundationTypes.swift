public import Foundation
public import Martlet

extension URL: RequestConvertible {
    /// A plain request for this URL.
    ///
    /// - Throws: ``TransferError`` with `badURL` if it is not an absolute http or https URL.
    public func transferRequest() throws(TransferError) -> TransferRequest { try TransferRequest(self.absoluteString) }
}

extension Destination {
    /// A file with this URL; see ``file(_:ifExists:)``.
    ///
    /// - Precondition: `url` is a file URL.
    public static func file(_ url: URL, ifExists existing: ExistingFileRule = .fail) -> Destination {
        .file(url.path, ifExists: existing)
    }
}

extension DataResponse {
    /// The body.
    public var data: Data { Data(self.body) }
}

extension DownloadedFile {
    /// The URL of the file.
    public var url: URL { URL(fileURLWithPath: self.path) }
}

extension TransferRequest {
    /// Makes the request conditional on a later modification; see ``TransferResponse/isNotModified``.
    public func ifModified(since date: Date) -> TransferRequest {
        self.ifModified(since: Int64(date.timeIntervalSince1970.rounded(.down)))
    }
}
