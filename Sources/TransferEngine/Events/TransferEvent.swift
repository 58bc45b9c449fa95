public import TransferCore

/// Something that happened to one transfer, or to the queue.
///
/// Order for one transfer: any number of `.started`, `.response`, `.progress`, `.retrying`, `.paused`, then exactly one
/// of `.finished`, `.failed` and `.cancelled`.
public struct TransferEvent: Sendable {
    /// The transfer; `nil` for events of the queue.
    public var id: TransferID?
    /// Its first URL without user information and query; empty for events of the queue.
    public var url: String { self.source?.redacted ?? self.text }
    /// The caller's own information.
    public var userInfo: (any Sendable)?
    /// What happened.
    public var kind: Kind
    /// Where the file is or would have been, in the event that ends a transfer, as far as it was known.
    public var target: FileTarget?

    /// Most observers look at few URLs: the text for people is only made for those who ask.
    private let source: HTTPURL?
    private let text: String

    /// Creates an event.
    public init(id: TransferID?, url: String, userInfo: (any Sendable)?, kind: Kind) {
        self.id = id
        self.source = nil
        self.text = url
        self.userInfo = userInfo
        self.kind = kind
    }

    init(id: TransferID, source: HTTPURL, userInfo: (any Sendable)?, kind: Kind) {
        self.id = id
        self.source = source
        self.text = ""
        self.userInfo = userInfo
        self.kind = kind
    }

    /// The kinds of events that an observer wants to hear of; ends and the queue's own events are always told.
    public struct Interest: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `finished`, `failed`, `cancelled` and the queue's own.
        public static let ends: Interest = []
        /// `started`, `retrying` and `paused`.
        public static let states = Interest(rawValue: 1)
        /// `response`.
        public static let responses = Interest(rawValue: 2)
        /// `progress`.
        public static let progress = Interest(rawValue: 4)
        /// `note`.
        public static let notes = Interest(rawValue: 8)
        /// Everything.
        public static let all: Interest = [.states, .responses, .progress, .notes]
    }

    /// What happened.
    public enum Kind: Sendable {
        /// It left the queue; `path` as far as it is known yet.
        case started(path: String)
        /// A final response's head arrived.
        case response(ResponseInfo)
        /// Bytes arrived; sampled, at most about five times a second.
        case progress(Progress)
        /// An attempt failed and another one follows after the delay.
        case retrying(TransferFailure, attempt: Int, delay: Duration)
        /// It was paused and keeps what it has.
        case paused
        /// The file is there.
        case finished(Completion)
        /// It ended without the file; what can be resumed was kept.
        case failed(TransferFailure)
        /// It was cancelled.
        case cancelled
        /// A note for people who asked for details (`--verbose`).
        case note(String)
        /// Nothing waits or runs any more.
        case drained
        /// This many events were dropped before the next one, because this consumer did not keep up.
        case missed(Int)

        /// What an observer must want to hear of this; nothing where it is always told.
        public var interest: Interest {
            switch self {
            case .started, .retrying, .paused: .states
            case .response: .responses
            case .progress: .progress
            case .note: .notes
            case .finished, .failed, .cancelled, .drained, .missed: .ends
            }
        }
    }

    /// What a response's head told.
    public struct ResponseInfo: Sendable {
        /// The status code.
        public var status: Int
        /// The header fields.
        public var fields: HTTPFields
        /// The length of the whole file, or `nil` if unknown.
        public var expected: Int64?
        /// Where the file will be, or empty for a stream.
        public var path: String
        /// The bytes already there from an earlier run.
        public var resumedFrom: Int64

        /// Creates the information.
        public init(status: Int, fields: HTTPFields, expected: Int64?, path: String, resumedFrom: Int64) {
            self.status = status
            self.fields = fields
            self.expected = expected
            self.path = path
            self.resumedFrom = resumedFrom
        }
    }

    /// How far a transfer has come.
    public struct Progress: Sendable {
        /// The bytes that are there, those of earlier runs included.
        public var bytes: Int64
        /// The whole length, or `nil` if unknown.
        public var total: Int64?
        /// Bytes a second over the last few seconds.
        public var rate: Double
        /// The seconds left at this rate, or `nil`.
        public var secondsLeft: Double?
        /// The connections in use.
        public var connections: Int
        /// Of an upload: the bytes of content sent since it was added, those sent twice counted twice; otherwise `nil`.
        public var sent: Int64?
        /// Of an upload: the bytes that the server has said it has, where its protocol tells.
        public var acknowledged: Int64?

        /// Creates a progress.
        public init(bytes: Int64, total: Int64?, rate: Double, secondsLeft: Double?, connections: Int) {
            self.bytes = bytes
            self.total = total
            self.rate = rate
            self.secondsLeft = secondsLeft
            self.connections = connections
        }
    }

    /// How a transfer ended well.
    public struct Completion: Sendable {
        /// Where the file is; empty for a stream.
        public var path: String
        /// The file's length in bytes.
        public var bytes: Int64
        /// The bytes of body that were received for it in this engine's life.
        public var received: Int64
        /// The time from the first start to the end, queueing excluded.
        public var duration: Duration
        /// The file's digest, where `reportDigest` asked for it.
        public var digest: [UInt8]?
        /// Whether the file was there already and nothing was fetched.
        public var skipped: Bool
        /// Whether the server said that a conditional request's file has not changed (304); nothing was fetched.
        public var notModified = false
        /// Whether the length was confirmed by the server's framing; false where only the connection's end told it.
        public var verifiedLength: Bool
        /// Whether the bytes were compared with a digest of the whole, the caller's or the server's.
        public var verified = false
        /// What shows that all bytes are of one version; `nil` if nothing was fetched, and for uploads.
        public var consistency: Consistency?
        /// Of an upload: the bytes of content sent since it was added, those sent twice counted twice; otherwise `nil`.
        public var sent: Int64?
        /// Of an upload: the status of the response that said so, where there was one.
        public var status: Int?

        /// Creates a completion.
        public init(
            path: String,
            bytes: Int64,
            received: Int64,
            duration: Duration,
            digest: [UInt8]? = nil,
            skipped: Bool = false,
            verifiedLength: Bool = true
        ) {
            self.path = path
            self.bytes = bytes
            self.received = received
            self.duration = duration
            self.digest = digest
            self.skipped = skipped
            self.verifiedLength = verifiedLength
        }
    }
}
