// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

extension URL: RequestConvertible {
    /// A plain request for this URL.
    ///
    /// - Throws: ``TransferError`` with `badURL` if it is not an absolute http or https URL.
    public func transferRequest() throws(TransferError) -> TransferRequest { try TransferRequest(self.absoluteString) }
}

extension URL {
    /// Creates a URL without the user information, or `nil` if Foundation does not accept it.
    public init?(_ url: HTTPURL) { self.init(string: url.withoutUserInfo) }

    /// The path of a file URL; empty for any other URL, so that using it fails instead of naming another file.
    var filePath: String { self.isFileURL ? self.path : "" }
}

extension HTTPURL {
    /// Creates a URL, also for a referer or a mirror.
    ///
    /// - Throws: `TransferError` with `badURL` if it is not an absolute http or https URL.
    public init(_ url: URL) throws(TransferError) { self = try url.transferRequest().url }
}

extension TransferRequest {
    /// Creates a request for a URL.
    ///
    /// - Throws: ``TransferError`` with `badURL` if it is not an absolute http or https URL.
    public init(_ url: URL) throws(TransferError) { self = try url.transferRequest() }

    /// The content to send, or `nil` for none.
    public var bodyData: Data? {
        get { self.body.map { Data($0) } }
        set { self.body = newValue.map { Array($0) } }
    }

    /// Makes the request conditional on a later modification; see ``TransferResponse/isNotModified``.
    public func ifModified(since date: Date) -> TransferRequest { self.ifModified(since: date.wholeSeconds) }
}

extension Destination {
    /// A file with this URL; see ``file(_:ifExists:)``.
    ///
    /// The task fails with `badDestination` for any other kind of URL.
    public static func file(_ url: URL, ifExists existing: Destination.ExistingFileRule = .fail) -> Destination {
        .file(url.filePath, ifExists: existing)
    }

    /// A file in the directory with this URL; see ``directory(_:ifExists:)``.
    ///
    /// The task fails with `badDestination` for any other kind of URL.
    public static func directory(_ url: URL, ifExists existing: Destination.ExistingFileRule = .number) -> Destination {
        .directory(url.filePath, ifExists: existing)
    }
}

extension ExpectedDigest {
    /// Creates an expected digest.
    ///
    /// - Parameters:
    ///   - algorithm: The algorithm.
    ///   - bytes: The digest, as many bytes as the algorithm has.
    ///   - source: The origin of the digest, for messages.
    public init(algorithm: DigestAlgorithm, bytes: Data, source: String) {
        self.init(algorithm: algorithm, bytes: Array(bytes), source: source)
    }
}

extension Date {
    /// Seconds since 1970, rounded down; the nearest representable value for dates beyond 64 bits.
    var wholeSeconds: Int64 {
        let seconds = self.timeIntervalSince1970.rounded(.down)
        return Int64(exactly: seconds) ?? (seconds < 0 ? .min : .max)
    }

    init(wholeSeconds: Int64) { self.init(timeIntervalSince1970: TimeInterval(wholeSeconds)) }
}
