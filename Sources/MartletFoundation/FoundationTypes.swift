public import Foundation
public import Martlet

extension URL: RequestConvertible {
    /// A plain request for this URL.
    ///
    /// - Throws: ``TransferError`` with `badURL` where it is no absolute http or https URL.
    public func transferRequest() throws(TransferError) -> TransferRequest { try TransferRequest(self.absoluteString) }
}

extension Destination {
    /// Just this file; see ``file(_:ifExists:)``.
    ///
    /// - Precondition: `url` is a file's URL.
    public static func file(_ url: URL, ifExists existing: ExistingFileRule = .fail) -> Destination {
        .file(url.path, ifExists: existing)
    }
}

extension DataResponse {
    /// The body.
    public var data: Data { Data(self.body) }
}

extension DownloadedFile {
    /// Where the file is.
    public var url: URL { URL(fileURLWithPath: self.path) }
}

extension TransferRequest {
    /// Asks only for what is newer; the answer may be that nothing is.
    public func ifModified(since date: Date) -> TransferRequest {
        self.ifModified(since: Int64(date.timeIntervalSince1970.rounded(.down)))
    }
}
