// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// A snapshot of one transfer in the daemon.
public struct TransferRecord: Sendable, Hashable {
    /// The identifier.
    public var id: GID
    /// The position in an enumeration by key, which never changes; `nil` in other lists.
    public var key: Int64?
    /// The background session that it belongs to; `nil` for the shared queue.
    public var session: String?
    /// The state.
    public var state: State
    /// The reason why it waits, if it waits for something other than a slot.
    public var waitingFor: WaitReason?
    /// The cause of its wait, if it is held, or if it waits in the queue for its host.
    public var hold: Hold?
    /// The failure of the last attempt and the time of the next one, if it is retrying.
    public var retry: Retry?
    /// The URLs as given; they may contain secrets.
    public var urls: [String]
    /// The content, if it is an upload; ``bytes`` then counts the bytes sent.
    public var upload: UploadSource?
    /// The directory for its file; an absolute path.
    public var directory: String
    /// The file's path, as far as it is known; for an upload, that of its only file.
    public var path: String?
    /// The number of bytes received.
    public var bytes: Int64 = 0
    /// The length of the complete file in bytes, or `nil` while it is unknown.
    public var total: Int64?
    /// The current rate in bytes per second.
    public var rate: Int64 = 0
    /// The number of its open connections.
    public var connections = 0
    /// The priority; greater values start first, the default is 0.
    public var priority = 0
    /// The position among transfers that have not ended, from 0; `nil` if it was not requested or the transfer has
    /// ended.
    public var position: Int?
    /// The failure, if it failed.
    public var failure: Failure?
    /// When it was added, seconds since 1970.
    public var added: Double
    /// When it ended, seconds since 1970.
    public var ended: Double?
    /// The options as given.
    public var options: TransferOptions
    /// The attempts, the last response and the log, if they were requested.
    public var details: TransferDetails?

    /// The state of a transfer.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// Waiting in the queue, for its turn or for the reason in ``TransferRecord/waitingFor``.
        case waiting
        /// Running.
        case active
        /// Started, and waiting for its next attempt after a failure of its own; see ``TransferRecord/retry``.
        case retrying
        /// Started, and waiting for its host, the network, its file system or another process; see
        /// ``TransferRecord/hold``.
        case held
        /// Paused by a client; it runs again only when a client resumes it.
        case paused
        /// The file is complete, on disk and under its name; for an upload, the server has acknowledged it.
        case finished
        /// Ended without the file.
        case failed
        /// Removed before its end.
        case removed

        /// Whether the transfer has ended.
        public var isEnd: Bool { self == .finished || self == .failed || self == .removed }

        /// Whether the transfer has started and neither stopped nor ended: it is active, retrying or held.
        public var isStarted: Bool { Self.started.contains(self) }

        /// The states of a transfer that has started and neither stopped nor ended.
        public static let started: Set<State> = [.active, .retrying, .held]
    }

    /// The reason why a transfer waits, other than for a slot.
    public enum WaitReason: String, Sendable, Hashable {
        /// The daemon's schedule allows no transfers at this time.
        case schedule
        /// Mains power, or an unmetered network.
        case conditions
        /// The disk with the daemon's database is full.
        case diskFull = "disk-full"
        /// The daemon is stopping.
        case stopping
        /// The whole queue is paused.
        case held
        /// Its host, the network, its file system, or another process; see ``TransferRecord/hold``.
        case host

        /// The reason as the end of a sentence, such as "waits for the hours of the schedule".
        package var text: String {
            switch self {
            case .schedule: "waits for the hours of the schedule"
            case .conditions: "waits for mains power or for a network that is not metered"
            case .diskFull: "waits because the disk with the daemon's database is full"
            case .stopping: "waits because the daemon is stopping"
            case .held: "waits because the whole queue is paused"
            case .host: "waits for its host"
            }
        }
    }

    /// The failure of a transfer.
    public struct Failure: Error, Sendable, Hashable {
        /// aria2's exit status; also that of `martlet get`.
        public var code: Int
        /// The engine's name for the kind of failure, such as `connection-refused`; `nil` if stored by an older
        /// version.
        public var reason: String?
        /// What failed, and where.
        public var message: String
        /// How to fix it; may be empty.
        public var remedy: String
        /// The status of the response that caused the failure, if any.
        public var status: Int?

        /// Creates a failure.
        public init(
            code: Int,
            reason: String? = nil,
            message: String,
            remedy: String = "",
            status: Int? = nil
        ) {
            self.code = code
            self.reason = reason
            self.message = message
            self.remedy = remedy
            self.status = status
        }
    }

    /// Creates a record.
    public init(
        id: GID,
        session: String? = nil,
        state: State,
        urls: [String],
        directory: String,
        added: Double,
        options: TransferOptions = TransferOptions()
    ) {
        self.id = id
        self.session = session
        self.state = state
        self.urls = urls
        self.directory = directory
        self.added = added
        self.options = options
    }
}

extension TransferRecord {
    /// The record in the format of `martlet.show` and the events, without options that may contain secrets.
    public var json: JSON {
        var members: [JSON.Member] = [
            .init("id", .string(self.id.description)),
            .init("session", .optional(self.session)),
            .init("state", .string(self.state.rawValue)),
            .init("waitingFor", .optional(self.waitingFor?.rawValue)),
            .init("hold", self.hold?.json ?? .null),
            .init("retry", self.retry?.json ?? .null),
            .init("urls", .array(self.urls.map { .string($0) })),
            .init("upload", self.upload?.shown ?? .null),
            .init("dir", .string(self.directory)),
            .init("path", .optional(self.path)),
            .init("bytes", .integer(self.bytes)),
            .init("total", .optional(self.total)),
            .init("rate", .integer(self.rate)),
            .init("connections", .integer(Int64(self.connections))),
            .init("priority", .integer(Int64(self.priority))),
            .init("position", .optional(self.position.map { Int64($0) })),
            .init("error", self.failure?.json ?? .null),
            .init("added", .number(self.added)),
            .init("ended", self.ended.map { .number($0) } ?? .null),
        ]
        var shown = self.options
        for name in OptionName.allCases where name.isSecret { shown[name] = nil }
        members.append(.init("options", shown.json))
        if let key = self.key { members.append(.init("key", .integer(key))) }
        if let details = self.details { members.append(.init("details", details.json)) }
        return .object(members)
    }

    /// Reads the format of ``json``.
    ///
    /// - Returns: `nil` if a required member is missing, or is of another type.
    public init?(json: JSON) {
        guard let id = json["id"]?.string.flatMap({ GID($0) }),
            let state = json["state"]?.string.flatMap({ State(rawValue: $0) }),
            let urls = json["urls"]?.array?.compactMap(\.string),
            let directory = json["dir"]?.string
        else { return nil }
        self.init(
            id: id,
            session: json["session"]?.string,
            state: state,
            urls: urls,
            directory: directory,
            added: json["added"]?.double ?? 0,
            options: TransferOptions(json: json["options"] ?? .null)
        )
        self.key = json["key"]?.integer
        self.upload = json["upload"].flatMap { UploadSource(json: $0) }
        self.waitingFor = json["waitingFor"]?.string.flatMap { WaitReason(rawValue: $0) }
        self.hold = json["hold"].flatMap { Hold(json: $0) }
        self.retry = json["retry"].flatMap { Retry(json: $0) }
        self.path = json["path"]?.string
        self.bytes = json["bytes"]?.integer ?? 0
        self.total = json["total"]?.integer
        self.rate = json["rate"]?.integer ?? 0
        self.connections = Int(clamping: json["connections"]?.integer ?? 0)
        self.priority = Int(clamping: json["priority"]?.integer ?? 0)
        self.position = json["position"]?.integer.map { Int(clamping: $0) }
        self.failure = json["error"].flatMap { Failure(json: $0) }
        self.ended = json["ended"]?.double
        self.details = json["details"].flatMap { TransferDetails(json: $0) }
    }
}

extension TransferRecord.Failure {
    /// Creates a failure of one of the engine's kinds.
    package init(_ code: TransferFailure.Code, _ message: String, remedy: String = "", status: Int? = nil) {
        self.init(
            code: Aria2ExitStatus(code).number,
            reason: code.rawValue,
            message: message,
            remedy: remedy,
            status: status
        )
    }

    /// The kind of failure.
    ///
    /// If the reason is missing, as in records of older versions, or unknown, it is derived from the number.
    package var kind: TransferFailure.Code {
        self.reason.flatMap { TransferFailure.Code(rawValue: $0) } ?? Aria2ExitStatus(number: self.code).code
            ?? .unknown
    }

    /// The message and how to fix the problem.
    package var text: String { self.remedy.isEmpty ? self.message : "\(self.message); \(self.remedy)" }

    /// The failure as an object.
    public var json: JSON {
        [
            "code": .integer(Int64(self.code)), "reason": .optional(self.reason), "message": .string(self.message),
            "remedy": .string(self.remedy),
            "status": .optional(self.status.map { Int64($0) }),
        ]
    }

    /// Reads the format of ``json``.
    public init?(json: JSON) {
        guard let code = json["code"]?.integer, let message = json["message"]?.string else { return nil }
        self.init(
            code: Int(clamping: code),
            reason: json["reason"]?.string,
            message: message,
            remedy: json["remedy"]?.string ?? "",
            status: json["status"]?.integer.map { Int(clamping: $0) }
        )
    }
}
