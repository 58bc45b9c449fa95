// SPDX-License-Identifier: Apache-2.0
internal import Crypto
internal import Foundation
internal import TransferCore
internal import TransferEngine

/// Identifies the response that a task of a background session fetches; it is part of the task's description.
///
/// A request of a later run of the program with an equal key gets the task's response instead of being sent again.
struct BackgroundKey: Hashable, Codable, Sendable {
    var method: String
    var url: String
    var range: String?
    var ifRange: String?
    /// A digest of the other fields that select the response, credentials among them.
    var digest: String

    /// Fields that a program may change without getting another response.
    private static let neutral: Set<String> = ["user-agent", "range", "if-range", "accept-encoding"]
    private static let secret = ["Authorization", "Cookie", "Proxy-Authorization"]

    init(_ request: ExchangeRequest) {
        self.method = request.method
        self.url = request.url.withoutUserInfo
        self.range = request.fields["Range"]
        self.ifRange = request.fields["If-Range"]
        let others = request.fields.map { ($0.name.lowercased(), $0.value) }
            .filter { !Self.neutral.contains($0.0) }
            .sorted { $0 < $1 }
        var hash = SHA256()
        for (name, value) in others {
            hash.update(data: Data("\(name.utf8.count) \(name) \(value.utf8.count) \(value)".utf8))
        }
        self.digest = hash.finalize().prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            .joined()
    }

    /// Whether a background session may have a request.
    ///
    /// It follows redirects without the engine, and may send credentials to another server: the program has to allow
    /// that.
    static func allows(_ request: ExchangeRequest, withCredentials: Bool) -> Bool {
        guard request.method == "GET", request.body == nil, request.content == nil, request.addresses == nil else {
            return false
        }
        // A program that reads a coded body wants it as the server sends it.
        guard !request.acceptsCoding else { return false }
        return withCredentials || !self.secret.contains { request.fields.contains($0) }
    }

    // MARK: Ranges

    /// The range that is requested; `nil` for none, or for one that is not `bytes=N-` or `bytes=N-M`.
    func bytes(of length: Int64) -> Range<Int64>? {
        guard let range, range.hasPrefix("bytes=") else { return nil }
        let ends = range.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let start = Self.number(ends[0]), start < length else { return nil }
        if ends[1].isEmpty { return start..<length }
        guard let last = Self.number(ends[1]), last >= start else { return nil }
        return start..<min(last, length - 1) + 1
    }

    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        return Int64(text)
    }

    /// Whether a complete response to `whole` contains the response to this request.
    ///
    /// - Parameters:
    ///   - whole: The key of a request.
    ///   - facts: What is known of its response.
    /// - Returns: Whether it does.
    func isPart(of whole: BackgroundKey, _ facts: ShelvedFacts) -> Bool {
        guard whole.range == nil, self.range != nil, self.method == whole.method, self.url == whole.url,
            self.digest == whole.digest, facts.status == 200, let tag = facts.strongTag, tag == self.ifRange
        else { return false }
        return self.bytes(of: facts.length) != nil
    }
}

/// The facts that decide whether a stored response answers a request.
struct ShelvedFacts: Hashable, Sendable {
    var status: Int
    var length: Int64
    /// The entity tag, if it is a strong one.
    var strongTag: String?
    /// The time at which it arrived, in seconds since 1970.
    var time: Int64
}

/// The description of a task, which the system keeps with it.
struct TaskDescription: Codable, Sendable, Equatable {
    /// The key of its response.
    var key: BackgroundKey
    /// The entity tag of the bytes with which it began, or `nil` if it began without any.
    var resumedTag: String?

    private static let mark = "martlet1 "

    /// The text of the description.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return Self.mark + String(decoding: data, as: UTF8.self)
    }

    /// Creates the description of a task.
    init(_ key: BackgroundKey, resumedTag: String? = nil) {
        self.key = key
        self.resumedTag = resumedTag
    }

    /// Reads the description of a task; `nil` for a task of another kind.
    init?(text: String?) {
        guard let text, text.hasPrefix(Self.mark),
            let read = try? JSONDecoder().decode(Self.self, from: Data(text.dropFirst(Self.mark.count).utf8))
        else { return nil }
        self = read
    }
}

/// What a task has left that ended without a response: the system's data, and the version that its bytes are of.
struct SystemResumption: Codable, Sendable, Equatable {
    var data: Data
    /// A strong entity tag: without one, the bytes could be continued with those of another version.
    var tag: String

    /// Creates a resumption; `nil` if the response has no strong entity tag.
    init?(_ data: Data?, of head: ReportedHead?) {
        guard let data, let head, let tag = ResponseTranslation.fields(head.fields)?.strongTag else { return nil }
        self.data = data
        self.tag = tag
    }
}

extension HeaderFields {
    /// The entity tag, if it is a strong one (RFC 9110 §8.8.3).
    var strongTag: String? {
        self["ETag"].flatMap { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.utf8.count > 1 ? $0 : nil }
    }
}
