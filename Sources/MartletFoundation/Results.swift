// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

extension DataResponse {
    /// The body.
    public var data: Data { Data(self.body) }
}

extension TransferResponse {
    /// When the representation was last modified, for ``TransferRequest/ifModified(since:)-(Date)``.
    public var lastModifiedDate: Date? { self.lastModified.map { Date(wholeSeconds: $0) } }
}

extension DownloadedFile {
    /// The URL of the file.
    public var url: URL { URL(fileURLWithPath: self.path) }

    /// Moves the file; see ``move(to:ifExists:)``.
    ///
    /// - Parameters:
    ///   - url: The new file URL; its directory must exist.
    ///   - existing: The rule if it exists: `fail`, or `overwrite`.
    /// - Throws: ``TransferError`` with `fileExists`, `noSpace` or `file`; the file is then at its old path.
    public func move(to url: URL, ifExists existing: Destination.ExistingFileRule = .fail) throws(TransferError) {
        try self.move(to: url.filePath, ifExists: existing)
    }
}

extension ResumeData {
    /// Creates resume data from stored data.
    ///
    /// - Throws: ``TransferError`` with `badResumeData`.
    public init(_ data: Data) throws(TransferError) { try self.init(Array(data)) }

    /// The data to store.
    public var data: Data { Data(self.bytes) }
}

extension TransferError {
    /// The first bytes of the body of the response that caused the error, at most 16 KiB.
    public var bodyData: Data { Data(self.body) }
}
