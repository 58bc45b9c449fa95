// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import TransferCore

/// The head of a response whose body is on the shelf.
struct ShelvedResponse: Codable, Sendable {
    var key: BackgroundKey
    var status: Int
    /// The names and values of the fields, in order.
    var fields: [[String]]
    /// The length of the body in bytes.
    var length: Int64
    /// Whether the response's head declares the length.
    var isVerified: Bool
    /// The time at which it arrived, in seconds since 1970.
    var time: Int64

    /// Converts what the system reports of a finished task.
    ///
    /// - Parameters:
    ///   - reported: The head.
    ///   - task: What was requested.
    ///   - url: The URL of the response, after redirects, which the system follows in the background.
    ///   - length: The length of the file.
    ///   - time: The time in seconds since 1970.
    /// - Throws: The error with which the exchange fails.
    init(
        _ reported: ReportedHead,
        to task: TaskDescription,
        from url: String,
        length: Int64,
        time: Int64
    ) throws(TransportError) {
        let key = task.key
        if key.url.hasPrefix("https:"), !url.hasPrefix("https:") {
            throw TransportError(.malformed, "the system followed a redirect from https to http")
        }
        var head = try ResponseTranslation.head(reported, method: key.method, acceptsCoding: false).get()
        if head.status == 206, key.range == nil { head = try Self.whole(head, length, task.resumedTag) }
        switch head.framing {
        case .length(let declared) where length < declared:
            throw TransportError(.truncated, "the response ended after \(length) of \(declared) bytes")
        case .length(let declared) where length > declared:
            throw TransportError(.malformed, "the response has more than the \(declared) bytes it declares")
        default: break
        }
        self.key = key
        self.status = head.status
        self.fields = head.fields.map { [$0.name, $0.value] }
        self.length = head.framing == .none ? 0 : length
        self.isVerified = head.declaredLength != nil
        self.time = time
    }

    /// The head of the complete response of a task that the system continued by a range request.
    ///
    /// - Parameters:
    ///   - head: The head of the last response.
    ///   - length: The length of the file.
    ///   - tag: The entity tag of the bytes that were there before.
    /// - Returns: The head.
    /// - Throws: The error if the bytes may be of two versions, or are not complete.
    private static func whole(
        _ head: ResponseHead,
        _ length: Int64,
        _ tag: String?
    ) throws(TransportError) -> ResponseHead {
        guard let tag, tag == head.fields.strongTag else {
            throw TransportError(.truncated, "the system continued the download, maybe with bytes of another version")
        }
        let total = head.fields["Content-Range"].flatMap { $0.split(separator: "/").last }.flatMap { Int64($0) }
        guard let total, total == length else {
            throw TransportError(.truncated, "the system continued the download and has \(length) bytes of it")
        }
        var fields = head.fields
        fields.remove("Content-Range")
        fields["Content-Length"] = String(length)
        // A digest of the content was that of the part.
        fields.remove("Content-Digest")
        return ResponseHead(status: 200, fields: fields, framing: .length(length))
    }

    /// The facts that decide whether it answers a request.
    var facts: ShelvedFacts {
        ShelvedFacts(
            status: self.status,
            length: self.length,
            strongTag: self.headerFields.strongTag,
            time: self.time
        )
    }

    private var headerFields: HeaderFields {
        HeaderFields(self.fields.compactMap { $0.count == 2 ? ($0[0], $0[1]) : nil })
    }

    /// The response to a request: this one, or the part of it that was requested.
    ///
    /// - Returns: The head, and the bytes of the body.
    func response(to key: BackgroundKey) -> (head: ResponseHead, bytes: Range<Int64>) {
        var fields = self.headerFields
        if key != self.key, key.isPart(of: self.key, self.facts), let bytes = key.bytes(of: self.length) {
            let count = bytes.upperBound - bytes.lowerBound
            fields["Content-Length"] = String(count)
            fields["Content-Range"] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(self.length)"
            fields.remove("Content-Digest")
            return (ResponseHead(status: 206, fields: fields, framing: .length(count)), bytes)
        }
        var framing = self.isVerified ? BodyFraming.length(self.length) : .untilClose
        if self.status == 204 || self.status == 304 { framing = .none }
        return (ResponseHead(status: self.status, fields: fields, framing: framing), 0..<self.length)
    }
}
