public import TransferCore

/// One upload: what to send and where to.
public struct UploadRequest: Sendable {
    /// The URL to send to.
    public var url: HTTPURL

    /// The URL at which a resumable protocol makes uploads, where that is not ``url``.
    public var collection: HTTPURL?

    /// What is sent.
    public var content: UploadContent

    /// The method of an upload in one request, a token; those of a resumable protocol are the protocol's.
    public var method = "PUT"

    /// The media type of the content.
    public var type = "application/octet-stream"

    /// How it is made.
    public var way = UploadWay.plain

    /// What a server is told of the content where the protocol has a place for it, such as its `filename`.
    public var metadata: [(String, String)] = []

    /// The digest to send with each part, where the protocol has one and the server takes it.
    public var checksum: DigestAlgorithm?

    /// Where the state of a resumable upload is kept beyond this process, or `nil`.
    public var journal: (any UploadJournal)?

    /// What is known already of an upload that is to be gone on with; the journal's comes before it.
    public var record: UploadRecord?

    /// Called before a request is made that must not be made twice (RFC 9110 §9.2.2), on a `BlockingPool`.
    ///
    /// When it returns, a process that dies must not lose that; where it throws, the upload fails.
    public var noteUnrepeatable: (@Sendable () throws(StorageError) -> Void)?

    /// Takes the body of the response, or `nil` to leave it out.
    public var receiver: (any AnswerReceiver)?

    /// From how many bytes on the server is asked first whether it wants them (`Expect: 100-continue`), or `nil` for
    /// never.
    public var asksFrom: Int64? = 1 << 20

    /// How long its answer is waited for before the content is sent all the same.
    public var askTimeout: Duration = .seconds(1)

    /// The name for the content in events: a path.
    public var name = ""

    /// Fields of this request alone, beside the options'.
    public var fields: [(String, String)] = []

    /// What decides about requests and responses, or `nil`.
    public var policy: (any TransferPolicy)?

    /// What it has in common with others; of these, those about files and their connections mean nothing here.
    public var options: DownloadOptions

    /// The caller's own information; it travels with every event.
    public var userInfo: (any Sendable)?

    /// Creates a request.
    public init(_ url: HTTPURL, _ content: UploadContent, options: DownloadOptions = DownloadOptions()) {
        self.url = url
        self.content = content
        self.options = options
    }
}

/// Takes the body of the answer to an upload; called on the transfer's lane.
public protocol AnswerReceiver: AnyObject, Sendable {
    /// Takes what follows what was given before.
    ///
    /// - Parameter bytes: Valid only during the call.
    /// - Throws: What ends the transfer.
    func take(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure)

    /// Forgets what came of an answer that broke off: the next one is another.
    func beginAnew()
}

/// How an upload is made.
public enum UploadWay: Sendable, Hashable {
    /// One request; where it breaks, it begins anew.
    case plain
    /// By a resumable protocol where the server speaks one, which it is asked, otherwise by one request.
    case automatic
    /// By this protocol.
    case by(ResumableProtocol)
}

extension UploadWay {
    /// The names that ``init(name:)`` knows, for a message.
    package static var names: String {
        (["auto", "none"] + ResumableProtocol.allCases.map(\.rawValue)).joined(separator: ", ")
    }

    /// The way of a name: `auto`, `none` or a protocol's; `nil` for another.
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

/// What an upload sends.
public enum UploadContent: Sendable {
    /// Parts one after the other, which can be sent again from anywhere.
    case parts([Part])
    /// What a source gives once; such an upload cannot go on or be repeated once the source was read from.
    case stream(any ContentStream)

    /// A part.
    public enum Part: Sendable {
        /// A regular file, whole.
        case file(String)
        /// Bytes.
        case bytes([UInt8])
    }

    /// A file.
    public static func file(_ path: String) -> UploadContent { .parts([.file(path)]) }

    /// Bytes.
    public static func bytes(_ bytes: [UInt8]) -> UploadContent { .parts([.bytes(bytes)]) }
}

/// Gives an upload's bytes once and in order.
public protocol ContentStream: AnyObject, Sendable {
    /// The bytes in all, or `nil` where only the end tells.
    var length: Int64? { get }

    /// Asks for what follows; never again before that came.
    ///
    /// - Parameter take: Takes the bytes, `nil` for the end, or the failure; called once, from any thread.
    func next(_ take: @escaping @Sendable (Result<[UInt8]?, TransferFailure>) -> Void)

    /// Nothing more will be asked for.
    func cancel()
}
