// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// The last attempts, the last response, the times and the log of one transfer, as far as the daemon has kept them.
///
/// URLs are without user information and query, and header fields that may contain secrets have no value. Texts from
/// the network are unchanged otherwise: display them as text only.
public struct TransferDetails: Sendable, Hashable {
    /// One attempt to transfer the content.
    public struct Attempt: Sendable, Hashable {
        /// When it started, seconds since 1970.
        public var started: Double
        /// When it ended, seconds since 1970; `nil` while it runs.
        public var ended: Double?
        /// The URL; redirections are in the log.
        public var url: String
        /// The status of its first final response.
        public var status: Int?
        /// The number of bytes that were present when the response arrived.
        public var resumedFrom: Int64?
        /// The number of bytes that were present at its end.
        public var bytes: Int64?
        /// How it ended: `retrying`, `failed`, `paused`, `stopped`, `removed`, `done` or `skipped`; `nil` while it runs.
        public var outcome: String?
        /// The failure in words; empty if it did not fail.
        public var message = ""
        /// When the next attempt starts, seconds since 1970; `nil` if none does.
        public var nextTry: Double?

        /// Creates an attempt that runs.
        public init(started: Double, url: String) {
            self.started = started
            self.url = url
        }
    }

    /// The head of a response.
    public struct Response: Sendable, Hashable {
        /// When it was received, seconds since 1970.
        public var at: Double
        /// The status code.
        public var status: Int
        /// The header fields in order.
        public var fields: [Field]

        /// Creates a response.
        public init(at: Double, status: Int, fields: [Field]) {
            self.at = at
            self.status = status
            self.fields = fields
        }
    }

    /// A header field.
    public struct Field: Sendable, Hashable {
        /// The name as sent.
        public var name: String
        /// The value; `nil` if it may contain secrets.
        public var value: String?

        /// Creates a field.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    /// A line of the log.
    public struct Line: Sendable, Hashable {
        /// The time, seconds since 1970.
        public var at: Double
        /// The event in words.
        public var text: String

        /// Creates a line.
        public init(at: Double, text: String) {
            self.at = at
            self.text = text
        }
    }

    /// The last attempts, oldest first.
    public var attempts: [Attempt]
    /// The last response.
    public var response: Response?
    /// When the first attempt started, seconds since 1970.
    public var started: Double?
    /// The log, oldest first.
    public var log: [Line]

    /// Creates details.
    public init(attempts: [Attempt] = [], response: Response? = nil, started: Double? = nil, log: [Line] = []) {
        self.attempts = attempts
        self.response = response
        self.started = started
        self.log = log
    }
}

extension TransferDetails {
    /// The details as an object, see `martlet.show`.
    public var json: JSON {
        [
            "started": self.started.map { .number($0) } ?? .null,
            "attempts": .array(self.attempts.map(\.json)),
            "response": self.response?.json ?? .null,
            "log": .array(self.log.map { ["at": .number($0.at), "text": .string($0.text)] }),
        ]
    }

    /// Reads the format of ``json``; what cannot be read is left out.
    public init?(json: JSON) {
        guard json.object != nil else { return nil }
        self.init(
            attempts: (json["attempts"]?.array ?? []).compactMap { Attempt(json: $0) },
            response: json["response"].flatMap { Response(json: $0) },
            started: json["started"]?.double,
            log: (json["log"]?.array ?? [])
                .compactMap { line in
                    guard let at = line["at"]?.double, let text = line["text"]?.string else { return nil }
                    return Line(at: at, text: text)
                }
        )
    }
}

extension TransferDetails.Attempt {
    /// The attempt as an object.
    public var json: JSON {
        [
            "started": .number(self.started), "ended": self.ended.map { .number($0) } ?? .null,
            "url": .string(self.url), "status": .optional(self.status.map { Int64($0) }),
            "resumedFrom": .optional(self.resumedFrom), "bytes": .optional(self.bytes),
            "outcome": .optional(self.outcome), "message": .string(self.message),
            "nextTry": self.nextTry.map { .number($0) } ?? .null,
        ]
    }

    /// Reads the format of ``json``.
    public init?(json: JSON) {
        guard let started = json["started"]?.double, let url = json["url"]?.string else { return nil }
        self.init(started: started, url: url)
        self.ended = json["ended"]?.double
        self.status = json["status"]?.integer.map { Int(clamping: $0) }
        self.resumedFrom = json["resumedFrom"]?.integer
        self.bytes = json["bytes"]?.integer
        self.outcome = json["outcome"]?.string
        self.message = json["message"]?.string ?? ""
        self.nextTry = json["nextTry"]?.double
    }
}

extension TransferDetails.Response {
    /// The response as an object; a field is an array of its name and its value or null.
    public var json: JSON {
        [
            "at": .number(self.at), "status": .integer(Int64(self.status)),
            "fields": .array(self.fields.map { [.string($0.name), .optional($0.value)] }),
        ]
    }

    /// Reads the format of ``json``.
    public init?(json: JSON) {
        guard let at = json["at"]?.double, let status = json["status"]?.integer else { return nil }
        self.init(
            at: at,
            status: Int(clamping: status),
            fields: (json["fields"]?.array ?? [])
                .compactMap { field in
                    guard let pair = field.array, pair.count == 2, let name = pair[0].string else { return nil }
                    return TransferDetails.Field(name: name, value: pair[1].string)
                }
        )
    }
}
