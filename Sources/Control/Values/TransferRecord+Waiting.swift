// SPDX-License-Identifier: Apache-2.0
public import TransferCore

extension TransferRecord {
    /// The cause of a wait: a host, the network, a file system, or another process that downloads the same file.
    public struct Hold: Sendable, Hashable {
        /// The host and its port, "the network", the file system, or the file.
        public var host: String
        /// `unreachable`, `network`, `throttled`, `errors`, `file-system` or `in-use`.
        public var reason: String
        /// The kind of the last failure, such as `connection-refused`; `nil` from an older daemon.
        public var code: String?
        /// The last failure in a few words, such as "connection refused".
        public var cause: String
        /// The last failure's own message.
        public var message: String
        /// When its transfers started to wait, seconds since 1970.
        public var since: Double
        /// The time of the next attempt, seconds since 1970; `nil` while one is in progress.
        public var nextTry: Double?

        /// Creates a hold.
        public init(
            host: String,
            reason: String,
            code: String? = nil,
            cause: String,
            message: String,
            since: Double,
            nextTry: Double?
        ) {
            self.host = host
            self.reason = reason
            self.code = code
            self.cause = cause
            self.message = message
            self.since = since
            self.nextTry = nextTry
        }
    }

    /// A failed attempt, and the wait for the next one.
    public struct Retry: Sendable, Hashable {
        /// The kind of the failure, such as `overloaded`.
        public var code: String
        /// The failure's message.
        public var message: String
        /// The number of failed attempts.
        public var attempt: Int
        /// The time of the next attempt, seconds since 1970.
        public var nextTry: Double

        /// Creates a retry.
        public init(code: String, message: String, attempt: Int, nextTry: Double) {
            self.code = code
            self.message = message
            self.attempt = attempt
            self.nextTry = nextTry
        }
    }
}

extension TransferRecord.Hold {
    /// The hold as an object.
    public var json: JSON {
        [
            "host": .string(self.host), "reason": .string(self.reason),
            "code": .optional(self.code), "cause": .string(self.cause),
            "message": .string(self.message), "since": .number(self.since),
            "nextTry": self.nextTry.map { .number($0) } ?? .null,
        ]
    }

    /// Reads the format of ``json``.
    public init?(json: JSON) {
        guard let host = json["host"]?.string, let reason = json["reason"]?.string, let since = json["since"]?.double
        else { return nil }
        self.init(
            host: host,
            reason: reason,
            code: json["code"]?.string,
            cause: json["cause"]?.string ?? "",
            message: json["message"]?.string ?? "",
            since: since,
            nextTry: json["nextTry"]?.double
        )
    }

    /// The reason why its transfers wait, such as "host unreachable since 12:03, next try in 40 s: connection refused".
    ///
    /// - Parameters:
    ///   - now: The current time, seconds since 1970.
    ///   - time: The time of day of ``since``, formatted.
    ///   - namesHost: Whether the text has the host's name in place of "host".
    /// - Returns: The text.
    public func text(now: Double, since time: String, namesHost: Bool = false) -> String {
        let host = namesHost ? self.host : "host"
        let next = "since \(time), \(self.next(now))"
        let text: String
        switch self.reason {
        case "in-use":
            return "another process is downloading \(namesHost ? self.host : "the file"), waiting since \(time)"
        case "file-system": return "\(namesHost ? self.host : "file system") \(self.cause) \(next)"
        case "throttled": return "\(host) requested a delay \(next)"
        case "errors": text = "\(host) out of order \(next)"
        case "network": text = "network unreachable \(next)"
        default: text = "\(host) unreachable \(next)"
        }
        return self.cause.isEmpty ? text : "\(text): \(self.cause)"
    }

    private func next(_ now: Double) -> String {
        self.nextTry.map { "next try in \(TransferRecord.seconds(until: $0, now))" } ?? "trying now"
    }
}

extension TransferRecord.Retry {
    /// The retry as an object.
    public var json: JSON {
        [
            "code": .string(self.code), "message": .string(self.message),
            "attempt": .integer(Int64(self.attempt)), "nextTry": .number(self.nextTry),
        ]
    }

    /// Reads the format of ``json``.
    public init?(json: JSON) {
        guard let code = json["code"]?.string, let nextTry = json["nextTry"]?.double else { return nil }
        self.init(
            code: code,
            message: json["message"]?.string ?? "",
            attempt: Int(clamping: json["attempt"]?.integer ?? 0),
            nextTry: nextTry
        )
    }

    /// The reason why the transfer waits, such as "next try in 40 s: the server responded with status 503".
    ///
    /// - Parameter now: The current time, seconds since 1970.
    /// - Returns: The text.
    public func text(now: Double) -> String {
        let next = "next try in \(TransferRecord.seconds(until: self.nextTry, now))"
        return self.message.isEmpty ? next : "\(next): \(self.message)"
    }
}

extension TransferRecord {
    /// Whole seconds until a time, at least 0; the daemon's value may not be finite or fit an `Int`.
    fileprivate static func seconds(until time: Double, _ now: Double) -> String {
        let left = time - now
        return "\(left.isFinite ? Int(min(max(0, left.rounded(.up)), 1e12)) : 0) s"
    }
}
