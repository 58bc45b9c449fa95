// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import TransferEngine

/// The reason why a task waits.
public struct WaitReason: Sendable, CustomStringConvertible {
    /// The kinds of reasons.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// All slots are used by other tasks.
        case slot
        /// The configuration's conditions are not met.
        case conditions
        /// The task's ``TransferTask/earliestBeginTime`` has not come.
        case date
        /// An attempt failed, and the next one follows after a pause.
        case retry
        /// The host is unreachable, or responds with errors only.
        case host
        /// The server asked to retry later (`Retry-After`).
        case requestedDelay
        /// The network is unreachable, or no name server responds.
        case network
        /// The file system is full or read-only.
        case disk
        /// Another process is downloading to the destination.
        case file
    }

    /// The kind of reason.
    public let kind: Kind
    /// The failure of the last attempt, or `nil` if none was made.
    public let error: TransferError?
    /// The time of the next attempt, in seconds since 1970, or `nil` if it is unknown.
    public let nextAttempt: Int64?

    init(_ kind: Kind, _ error: TransferError? = nil, nextAttempt: Int64? = nil) {
        self.kind = kind
        self.error = error
        self.nextAttempt = nextAttempt
    }

    /// The kind, and what failed.
    public var description: String {
        let words =
            switch self.kind {
            case .slot: "waits for a slot"
            case .conditions: "waits for the configuration's conditions"
            case .date: "waits for its time"
            case .retry: "waits for the next attempt"
            case .host: "waits for its host"
            case .requestedDelay: "waits because the server asked for it"
            case .network: "waits for the network"
            case .disk: "waits for space on the disk"
            case .file: "waits for another process"
            }
        return self.error.map { "\(words): \($0.message)" } ?? words
    }
}

extension WaitReason {
    /// The reason after a failed attempt.
    ///
    /// - Parameters:
    ///   - failure: The attempt's failure.
    ///   - hold: The hold that concerns the transfer's host.
    ///   - nextAttempt: The time of the next attempt, in seconds since 1970.
    package init(after failure: TransferFailure, hold: HostHold?, nextAttempt: Int64?) {
        let kind: Kind =
            if failure.awaitedFile != nil {
                .file
            } else if failure.concernsFileSystem {
                .disk
            } else if let hold {
                Self.kind(hold)
            } else {
                failure.retryAfter == nil ? .retry : .requestedDelay
            }
        self.init(kind, TransferError(failure), nextAttempt: kind == .file ? nil : hold?.nextTry ?? nextAttempt)
    }

    /// The reason of a task that has not made an attempt.
    init(_ hold: HostHold, _ error: TransferError?) {
        let error = error ?? TransferError(TransferFailure(hold.code, hold.message))
        self.init(Self.kind(hold), error, nextAttempt: hold.nextTry)
    }

    private static func kind(_ hold: HostHold) -> Kind {
        switch hold.reason {
        case .unreachable, .errors: .host
        case .network: .network
        case .throttled: .requestedDelay
        case .fileSystem: .disk
        }
    }

    /// The reason as a member of the daemon's event; see "Background sessions" in Docs/rpc.md.
    package var json: JSON {
        ["kind": .string(self.kind.rawValue), "nextAttempt": .optional(self.nextAttempt)]
    }

    /// Reads the format of ``json``.
    init(_ json: JSON?, _ failure: TransferFailure?) {
        self.init(
            json?["kind"]?.string.flatMap { Kind(rawValue: $0) } ?? .retry,
            failure.map { TransferError($0) },
            nextAttempt: json?["nextAttempt"]?.integer
        )
    }
}
