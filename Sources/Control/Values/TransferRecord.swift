package import TransferCore

/// What the daemon knows of one transfer, at one moment.
public struct TransferRecord: Sendable, Hashable {
    /// Its identifier.
    public var id: GID
    /// The background session that it belongs to; `nil` for one of the queue that everyone shares.
    public var session: String?
    /// Where it stands.
    public var state: State
    /// Why it waits, where it does so for another reason than its turn.
    public var waitingFor: WaitReason?
    /// What is known of its host, where it waits for that.
    public var hold: Hold?
    /// Its URLs, as they were given: they may hold secrets.
    public var urls: [String]
    /// What it sends, where it is an upload; then ``bytes`` are those that are on their way or there.
    public var upload: UploadSource?
    /// The directory for its file; absolute.
    public var directory: String
    /// The file's path as far as it is known; an upload's is its only file.
    public var path: String?
    /// The bytes that are there.
    public var bytes: Int64 = 0
    /// The whole length, or `nil` while unknown.
    public var total: Int64?
    /// Bytes a second, lately.
    public var rate: Int64 = 0
    /// Connections that are open for it.
    public var connections = 0
    /// Greater goes first; 0 is usual.
    public var priority = 0
    /// Its place among those that have not ended, from 0; `nil` where nobody asked or it has ended.
    public var position: Int?
    /// Why it failed.
    public var failure: Failure?
    /// Seconds since 1970 at which it was added.
    public var added: Double
    /// Seconds since 1970 at which it ended.
    public var ended: Double?
    /// Its options, as they were given.
    public var options: TransferOptions

    /// Where a transfer stands.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// In line.
        case waiting
        /// Running, or between two attempts.
        case active
        /// Paused by somebody; only somebody lets it go on.
        case paused
        /// The file is whole, on disk, under its name; an upload's server has said that it has it.
        case finished
        /// It ended without the file.
        case failed
        /// It was removed before its end.
        case removed

        /// Whether it is one of the last three.
        public var isEnd: Bool { self == .finished || self == .failed || self == .removed }
    }

    /// What a waiting transfer waits for beside its turn.
    public enum WaitReason: String, Sendable, Hashable {
        /// The daemon's schedule allows nothing now.
        case schedule
        /// Mains power, or a network that is not expensive.
        case conditions
        /// The disk under the daemon's database is full.
        case diskFull = "disk-full"
        /// The daemon is stopping.
        case stopping
        /// The whole queue is held.
        case held
        /// The process has too few file descriptors.
        case descriptors
        /// Its host, or the network, cannot be reached, or asked to wait; see ``TransferRecord/hold``.
        case host
    }

    /// A host, or the network, that cannot be reached or asked to wait.
    public struct Hold: Sendable, Hashable {
        /// The host and its port, or "the network".
        public var host: String
        /// `unreachable`, `network` or `throttled`.
        public var reason: String
        /// The last failure in a few words, such as "connection refused".
        public var cause: String
        /// The last failure's own message.
        public var message: String
        /// Seconds since 1970 since when its transfers wait.
        public var since: Double
        /// Seconds since 1970 of the next attempt; `nil` while one is being made.
        public var nextTry: Double?

        /// Creates a hold.
        public init(
            host: String,
            reason: String,
            cause: String,
            message: String,
            since: Double,
            nextTry: Double?
        ) {
            self.host = host
            self.reason = reason
            self.cause = cause
            self.message = message
            self.since = since
            self.nextTry = nextTry
        }
    }

    /// Why a transfer failed.
    public struct Failure: Sendable, Hashable {
        /// aria2's exit status; also `martlet get`'s.
        public var code: Int
        /// The engine's name for the kind of failure, such as `connection-refused`; `nil` in what older versions stored.
        public var reason: String?
        /// What happened and where.
        public var message: String
        /// How to fix it; may be empty.
        public var remedy: String
        /// The response's status, where one caused it.
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
    /// The record as `martlet.show` and the events give it, without the options that may hold secrets.
    public var json: JSON {
        var members: [JSON.Member] = [
            .init("id", .string(self.id.description)),
            .init("session", .optional(self.session)),
            .init("state", .string(self.state.rawValue)),
            .init("waitingFor", .optional(self.waitingFor?.rawValue)),
            .init("hold", self.hold?.json ?? .null),
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
        return .object(members)
    }

    /// Reads what ``json`` writes.
    ///
    /// - Returns: `nil` where a member that must be there is not, or is of another type.
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
        self.upload = json["upload"].flatMap { UploadSource(json: $0) }
        self.waitingFor = json["waitingFor"]?.string.flatMap { WaitReason(rawValue: $0) }
        self.hold = json["hold"].flatMap { Hold(json: $0) }
        self.path = json["path"]?.string
        self.bytes = json["bytes"]?.integer ?? 0
        self.total = json["total"]?.integer
        self.rate = json["rate"]?.integer ?? 0
        self.connections = Int(clamping: json["connections"]?.integer ?? 0)
        self.priority = Int(clamping: json["priority"]?.integer ?? 0)
        self.position = json["position"]?.integer.map { Int(clamping: $0) }
        self.failure = json["error"].flatMap { Failure(json: $0) }
        self.ended = json["ended"]?.double
    }
}

extension TransferRecord.Hold {
    /// The hold as an object.
    public var json: JSON {
        [
            "host": .string(self.host), "reason": .string(self.reason), "cause": .string(self.cause),
            "message": .string(self.message), "since": .number(self.since),
            "nextTry": self.nextTry.map { .number($0) } ?? .null,
        ]
    }

    /// Reads what ``json`` writes.
    public init?(json: JSON) {
        guard let host = json["host"]?.string, let reason = json["reason"]?.string, let since = json["since"]?.double
        else { return nil }
        self.init(
            host: host,
            reason: reason,
            cause: json["cause"]?.string ?? "",
            message: json["message"]?.string ?? "",
            since: since,
            nextTry: json["nextTry"]?.double
        )
    }

    /// Why its transfers wait, such as "host unreachable since 12:03, next try in 40 s: connection refused".
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - time: The time of day of ``since``.
    ///   - namesHost: Whether the text has the host's name in place of "host".
    /// - Returns: The text.
    public func text(now: Double, since time: String, namesHost: Bool = false) -> String {
        let place = self.reason == "network" ? "network" : namesHost ? self.host : "host"
        if self.reason == "throttled" { return "\(place) asked to wait since \(time), \(self.next(now))" }
        let text = "\(place) unreachable since \(time), \(self.next(now))"
        return self.cause.isEmpty ? text : "\(text): \(self.cause)"
    }

    private func next(_ now: Double) -> String {
        self.nextTry.map { "next try in \(Self.seconds($0 - now)) s" } ?? "trying now"
    }

    /// Whole seconds, at least 0; what a daemon says is not trusted to be a number that fits.
    private static func seconds(_ time: Double) -> Int { time.isFinite ? Int(min(max(0, time.rounded(.up)), 1e12)) : 0 }
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
    /// The number decides if there is no reason, as in what older versions stored, or none that this version knows.
    package var kind: TransferFailure.Code {
        self.reason.flatMap { TransferFailure.Code(rawValue: $0) } ?? Aria2ExitStatus(number: self.code).code
            ?? .unknown
    }

    /// The failure as an object.
    public var json: JSON {
        [
            "code": .integer(Int64(self.code)), "reason": .optional(self.reason), "message": .string(self.message),
            "remedy": .string(self.remedy),
            "status": .optional(self.status.map { Int64($0) }),
        ]
    }

    /// Reads what ``json`` writes.
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
