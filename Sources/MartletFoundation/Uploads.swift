// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

extension UploadBody {
    /// The bytes of a regular file; see ``file(_:)``.
    ///
    /// The task fails with `file` if it is another kind of URL.
    public static func file(_ url: URL) -> UploadBody { .file(url.filePath) }

    /// Bytes in memory.
    public static func bytes(_ data: Data) -> UploadBody { .bytes(Array(data)) }

    /// The elements of a sequence, sent once; see ``stream(_:length:)``.
    ///
    /// - Parameters:
    ///   - sequence: The bytes, in pieces of any size.
    ///   - length: The total number of bytes, if known.
    /// - Returns: The body.
    public static func stream<Pieces: AsyncSequence & Sendable>(
        _ sequence: Pieces,
        length: Int64? = nil
    ) -> UploadBody where Pieces.Element == Data {
        .stream(sequence.map { Array($0) }, length: length)
    }
}

extension UploadBody.Part {
    /// A file.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - url: The file's URL; the task fails with `file` for any other kind of URL.
    ///   - fileName: The file name sent to the server; by default the URL's last component.
    ///   - type: The media type.
    /// - Returns: The part.
    public static func file(
        _ name: String,
        _ url: URL,
        fileName: String? = nil,
        type: String = "application/octet-stream"
    ) -> UploadBody.Part { .file(name, url.filePath, fileName: fileName, type: type) }

    /// Bytes in memory, as a file.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - data: The content.
    ///   - fileName: The file name sent to the server.
    ///   - type: The media type.
    /// - Returns: The part.
    public static func bytes(
        _ name: String,
        _ data: Data,
        fileName: String,
        type: String = "application/octet-stream"
    ) -> UploadBody.Part { .bytes(name, Array(data), fileName: fileName, type: type) }
}

extension UploadResumeData {
    /// Creates resume data from stored data.
    ///
    /// - Throws: ``TransferError`` with `badResumeData`.
    public init(_ data: Data) throws(TransferError) { try self.init(Array(data)) }

    /// The data to store.
    public var data: Data { Data(self.bytes) }

    /// The URL of the file.
    public var fileURL: URL { URL(fileURLWithPath: self.path) }

    /// The time at which the server deletes the incomplete upload, or `nil` if it does not report it.
    public var expiryDate: Date? { self.expires.map { Date(wholeSeconds: $0) } }
}
