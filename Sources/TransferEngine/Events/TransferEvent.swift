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
        /// `started`, `retrying` and `paused`; `held` and `released`.
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
        /// The transfers of a host, or all of them, wait from now on: it cannot be reached, or asked to come back later.
        case held(HostHold)
        /// The transfers that waited for a host, or for the network, start again.
        case released(HostHold)
        /// Nothing waits or runs any more.
        case drained
        /// This many events were dropped before the next one, because this consumer did not keep up.
        case missed(Int)

        /// What an observer must want to hear of this; nothing where it is always told.
        public var interest: Interest {
            switch self {
            case .started, .retrying, .paused, .held, .released: .states
            case .response: .responses
            case .progress: .progress
            case .note: .notes
            case .finished, .failed, .cancelled, .drained, .missed: .ends
            }
        }
    }

    /// The facts of a response's head.
    public typealias ResponseInfo = TransferResponse
    /// The progress of a transfer.
    public typealias Progress = RunProgress
    /// The result of a finished transfer.
    public typealias Completion = TransferCompletion
}
