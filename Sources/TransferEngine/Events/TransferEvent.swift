// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// An event of one transfer, or of the queue.
///
/// Order for one transfer: any number of `.started`, `.response`, `.progress`, `.retrying`, `.paused`, then exactly one
/// of `.finished`, `.failed` and `.cancelled`.
///
/// On the heap: an event is larger than most values that are passed on, and is passed on often.
public struct TransferEvent: Sendable {
    private final class Facts: Sendable {
        let id: TransferID?
        let userInfo: (any Sendable)?
        let kind: Kind
        let target: FileTarget?
        let source: HTTPURL?
        let text: String

        init(
            _ id: TransferID?,
            _ userInfo: (any Sendable)?,
            _ kind: consuming Kind,
            target: FileTarget?,
            source: HTTPURL?,
            text: String
        ) {
            self.id = id
            self.userInfo = userInfo
            self.kind = kind
            self.target = target
            self.source = source
            self.text = text
        }
    }

    private let facts: Facts

    /// The transfer; `nil` for events of the queue.
    public var id: TransferID? { self.facts.id }
    /// The transfer's first URL without user information and query; empty for events of the queue.
    ///
    /// Formatted on demand.
    public var url: String { self.facts.source?.redacted ?? self.facts.text }
    /// The value that the caller attached to the transfer.
    public var userInfo: (any Sendable)? { self.facts.userInfo }
    /// What happened.
    public var kind: Kind { self.facts.kind }
    /// The target of the file as far as known, in the event that ends a transfer.
    public var target: FileTarget? { self.facts.target }

    /// Creates an event.
    public init(id: TransferID?, url: String, userInfo: (any Sendable)?, kind: Kind) {
        self.facts = Facts(id, userInfo, kind, target: nil, source: nil, text: url)
    }

    init(id: TransferID, source: HTTPURL, userInfo: (any Sendable)?, kind: consuming Kind, target: FileTarget? = nil) {
        self.facts = Facts(id, userInfo, kind, target: target, source: source, text: "")
    }

    /// The kinds of events that an observer receives; ends and the queue's own events are always delivered.
    public struct Interest: OptionSet, Sendable {
        /// The bit set.
        public let rawValue: UInt8

        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `finished`, `failed`, `cancelled`, and the queue's `drained` and `missed`; always included.
        public static let ends: Interest = []
        /// `started`, `retrying`, `paused` and `warning`; `held` and `released`.
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
        /// The transfer started; `path` as far as it is known.
        case started(path: String)
        /// The head of a final response was received.
        case response(ResponseInfo)
        /// Bytes were received or sent; sampled, at most about five times a second.
        case progress(Progress)
        /// An attempt failed; the next one follows after the delay.
        case retrying(TransferFailure, attempt: Int, delay: Duration)
        /// The transfer was paused; its partial file is kept.
        case paused
        /// The transfer finished: the file is complete under its name, or the content was delivered or sent.
        case finished(Completion)
        /// The transfer failed; bytes that can be resumed are kept.
        case failed(TransferFailure)
        case cancelled
        /// A detail for verbose output (`--verbose`).
        case note(String)
        /// A fact that the user has to know, although the transfer continues: another name is used, or another process
        /// is downloading the file.
        case warning(String)
        /// A hold began: the transfers of a host, or all of them, wait because of an outage or a requested delay.
        case held(HostHold)
        /// A hold ended: the transfers that waited for a host, or for the network, start again.
        case released(HostHold)
        /// No transfer is waiting or running.
        case drained
        /// This number of events was dropped before the next one, because the consumer did not keep up.
        case missed(Int)

        /// The interest that an observer must have registered to receive this event; empty if it is always delivered.
        public var interest: Interest {
            switch self {
            case .started, .retrying, .paused, .warning, .held, .released: .states
            case .response: .responses
            case .progress: .progress
            case .note: .notes
            case .finished, .failed, .cancelled, .drained, .missed: .ends
            }
        }
    }

    /// The facts of a response's head.
    public typealias ResponseInfo = ReceivedResponse
    /// The progress of a transfer.
    public typealias Progress = RunProgress
    /// The result of a finished transfer.
    public typealias Completion = TransferCompletion
}
