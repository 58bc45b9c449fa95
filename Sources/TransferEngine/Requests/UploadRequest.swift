// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// An upload: the URL, the content and the options.
package struct UploadRequest: Sendable {
    /// The URL to which the content is sent.
    package var url: HTTPURL

    /// The URL at which a resumable protocol creates uploads, if it is not ``url``.
    package var collection: HTTPURL?

    package var content: UploadContent

    /// The method of an upload in one request, a token; resumable protocols define their own.
    package var method = "PUT"

    /// The media type of the content; empty for none.
    package var type = "application/octet-stream"

    /// The protocol of the upload.
    package var way = UploadWay.plain

    /// Metadata of the content, such as its `filename`, sent if the protocol supports it.
    package var metadata: [(String, String)] = []

    /// The algorithm of the digest sent with each part, if the protocol and the server support it.
    package var checksum: DigestAlgorithm?

    /// The journal that keeps the state of a resumable upload for later processes, or `nil`.
    package var journal: (any UploadJournal)?

    /// The record of an upload to resume; the journal's takes precedence.
    package var record: UploadRecord?

    /// Called on a `BlockingPool` before a request that must not be repeated (RFC 9110 §9.2.2).
    ///
    /// When it returns, the note must survive the death of the process. If it throws, the upload fails.
    package var noteUnrepeatable: (@Sendable () throws(StorageError) -> Void)?

    /// Called on a `BlockingPool` when that request was not sent; removes the note.
    package var withdrawNote: (@Sendable () -> Void)?

    /// Receives the body of the response; `nil` discards it.
    package var receiver: (any AnswerReceiver)?

    /// The number of bytes after which the body of a success is not read any further, or `nil`.
    ///
    /// The part that passes the limit is still given to the ``receiver``. With `nil`, a receiver gets all; without one,
    /// 1 MiB is read in at most 30 seconds.
    package var answerLimit: Int64?

    /// The minimum length of content in bytes for which `Expect: 100-continue` is sent (RFC 9110 §10.1.1), or `nil` for
    /// never.
    package var asksFrom: Int64? = 1 << 20

    /// The maximum time to wait for a response to `Expect` before the content is sent.
    package var askTimeout: Duration = .seconds(1)

    /// The name of the content in events: a path.
    package var name = ""

    /// Header fields of this request, in addition to those of ``options``.
    package var fields: [(String, String)] = []

    /// The policy hooks for requests and responses, or `nil`.
    package var policy: (any TransferPolicy)?

    /// The options, which many requests can share; those about files and their connections have no effect.
    package var options: DownloadOptions

    /// A value of the caller, attached to every event.
    package var userInfo: (any Sendable)?

    /// Whether it may be sent to find out whether a host still responds with errors: it is short and can be repeated.
    ///
    /// The length of a file is known once it was opened.
    var mayProbe: Bool {
        guard case .parts(let parts) = self.content else { return false }
        var length: Int64 = 0
        for part in parts {
            guard case .bytes(let bytes) = part else { return false }
            length += Int64(bytes.count)
        }
        return self.mayProbe(length: length)
    }

    /// The same for a content of a known length.
    func mayProbe(length: Int64) -> Bool {
        guard case .parts = self.content, length <= Self.longestProbe else { return false }
        return RequestMethod.isIdempotent(self.method) || self.way != .plain || self.options.mayBeRepeated
    }

    private static let longestProbe: Int64 = 1 << 20

    package init(_ url: HTTPURL, _ content: UploadContent, options: DownloadOptions = DownloadOptions()) {
        self.url = url
        self.content = content
        self.options = options
    }
}

/// Receives the body of the response to an upload; called on the transfer's lane.
public protocol AnswerReceiver: AnyObject, Sendable {
    /// Receives the next bytes.
    ///
    /// - Parameter bytes: The bytes; valid only during the call.
    /// - Throws: The failure that ends the transfer.
    func take(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure)

    /// Discards the bytes of an incomplete response; another response follows.
    func beginAnew()
}

/// The protocol of an upload.
public enum UploadWay: Sendable, Hashable {
    /// One request, which is repeated from its beginning if it fails.
    case plain
    /// A resumable protocol if the server supports one, which is detected by a request; otherwise one request.
    case automatic
    /// The given resumable protocol.
    case by(ResumableProtocol)
}

extension UploadWay {
    /// The names that ``init(name:)`` accepts, for a message.
    package static var names: String {
        (["auto", "none"] + ResumableProtocol.allCases.map(\.rawValue)).joined(separator: ", ")
    }

    /// Creates a value from its name: `auto`, `none` or a protocol's; `nil` for any other text.
    package init?(name: String) {
        switch name {
        case "auto": self = .automatic
        case "none": self = .plain
        default:
            guard let speaks = ResumableProtocol(rawValue: name) else { return nil }
            self = .by(speaks)
        }
    }
}

/// The content of an upload.
public enum UploadContent: Sendable {
    /// Consecutive parts, which can be sent again from any offset.
    case parts([Part])
    /// A stream that is read once; such an upload cannot be resumed or repeated after the first read.
    case stream(any ContentStream)

    /// A part of the content.
    public enum Part: Sendable {
        /// A whole regular file, by its path.
        case file(String)
        case bytes([UInt8])
    }

    /// Content of one file.
    public static func file(_ path: String) -> UploadContent { .parts([.file(path)]) }

    /// Bytes.
    public static func bytes(_ bytes: [UInt8]) -> UploadContent { .parts([.bytes(bytes)]) }
}

/// A source of an upload's bytes, which are read once and in order.
public protocol ContentStream: AnyObject, Sendable {
    /// The length in bytes, or `nil` if it is not known in advance.
    var length: Int64? { get }

    /// Requests the next bytes; not called again before `take` was called.
    ///
    /// - Parameter take: Receives the bytes, `nil` for the end, or the failure; called once, on any thread.
    func next(_ take: @escaping @Sendable (Result<[UInt8]?, TransferFailure>) -> Void)

    /// Ends the stream: no more bytes will be requested.
    func cancel()
}
