// SPDX-License-Identifier: Apache-2.0
/// Determines the next request of one upload to a tus server.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock.
///
/// - Invariant: `acknowledged` is the number of bytes reported by the server, within `0...length`.
/// - Source: tus resumable upload protocol 1.0.0 (core; creation, termination, checksum, expiration).
package struct TusMachine: Sendable {
    private enum State: Sendable {
        case idle
        case asking
        case creating
        case locating(HTTPURL)
        case sending(HTTPURL, Range<Int64>)
        case done
    }

    /// The length of the whole content in bytes.
    package let length: Int64
    /// The number of bytes that the server has reported.
    package private(set) var acknowledged: Int64 = 0

    private let metadata: [(String, String)]
    private var checksum: DigestAlgorithm?
    private var state = State.idle
    private var disagreements = 0
    /// The highest offset that the server has accepted so far; a higher one is progress.
    private var highest: Int64 = 0
    private var losses = 0
    /// Whether a part was refused (403) since one was last accepted.
    private var isRefused = false

    /// Creates the machine of one upload.
    ///
    /// - Parameters:
    ///   - length: The length of the whole content in bytes.
    ///   - metadata: Metadata for the server, by keys without spaces and commas.
    ///   - checksum: The digest to send with each part, if the server supports it.
    package init(length: Int64, metadata: [(String, String)] = [], checksum: DigestAlgorithm? = nil) {
        self.length = length
        self.metadata = metadata
        self.checksum = checksum
    }

    /// The maximum size of a request with a checksum in bytes: this much is sent again if the digest does not match.
    package static let checkedPart: Int64 = 8 << 20
    private static let mostDisagreements = 8
    private static let mostLosses = 2

    // MARK: Starting

    /// Requests the server's capabilities; the response is passed to ``received(_:from:)``.
    package mutating func beginAsking() -> UploadStep {
        self.state = .asking
        return Self.question
    }

    /// The request for the server's capabilities.
    package static let question = UploadStep("OPTIONS", .collection)

    /// Continues with a server's response to that request, which another machine has made.
    package mutating func begin(knowing head: ResponseHead) -> UploadAction {
        self.state = .asking
        return self.asked(head)
    }

    package mutating func begin() -> UploadStep {
        self.state = .creating
        self.acknowledged = 0
        var step = UploadStep("POST", .collection, ["Tus-Resumable": "1.0.0", "Upload-Length": "\(self.length)"])
        let metadata = self.metadata.map { "\($0.0) \(Base64.encode($0.1.utf8))" }.joined(separator: ",")
        if !metadata.isEmpty { step.add("Upload-Metadata", metadata) }
        step.content = 0..<0
        return step
    }

    /// Resumes an earlier upload.
    package mutating func resume(_ resource: HTTPURL) -> UploadStep {
        self.state = .locating(resource)
        return UploadStep("HEAD", .resource(resource), ["Tus-Resumable": "1.0.0"])
    }

    /// The request that deletes an upload on a server.
    package static func termination(of resource: HTTPURL) -> UploadStep {
        UploadStep("DELETE", .resource(resource), ["Tus-Resumable": "1.0.0"])
    }

    /// Whether a response to `OPTIONS` is from a server that supports the creation of uploads with this protocol.
    package static func isSpoken(_ head: ResponseHead) -> Bool {
        guard (200..<300).contains(head.status) else { return false }
        let versions = head.fields.joined("Tus-Version") ?? head.fields["Tus-Resumable"] ?? ""
        return Self.list(versions).contains("1.0.0")
            && Self.list(head.fields.joined("Tus-Extension") ?? "").contains("creation")
    }

    // MARK: Responses

    /// Handles a final response's head.
    package mutating func received(_ head: ResponseHead, from url: HTTPURL) -> UploadAction {
        switch self.state {
        case .idle, .done: preconditionFailure("a tus upload received a response without a request")
        case .asking: self.asked(head)
        case .creating: self.created(head, from: url)
        case .locating(let resource): self.located(head, resource)
        case .sending(let resource, let range): self.sent(head, resource, range)
        }
    }

    private mutating func asked(_ head: ResponseHead) -> UploadAction {
        guard Self.isSpoken(head) else {
            if head.status >= 400, head.status != 404, head.status != 405 { return .judge }
            return .fail(UploadFault(.notSpoken, "the server does not support creating uploads with tus 1.0.0"))
        }
        if let most = head.fields["Tus-Max-Size"].flatMap({ Int64($0) }), most < self.length {
            return .fail(UploadFault(.tooLarge, "the server accepts only \(most) of \(self.length) bytes"))
        }
        if let checksum = self.checksum {
            let known = Self.list(head.fields.joined("Tus-Checksum-Algorithm") ?? "")
            if !known.contains(checksum.rawValue) { self.checksum = nil }
        }
        return .ask(self.begin())
    }

    private mutating func created(_ head: ResponseHead, from url: HTTPURL) -> UploadAction {
        if head.status == 413 {
            return .fail(UploadFault(.tooLarge, "the server does not accept \(self.length) bytes (413)"))
        }
        if head.status == 412 {
            return .fail(UploadFault(.notSpoken, "the server does not support tus 1.0.0 (412)"))
        }
        guard (200..<300).contains(head.status) else { return .judge }
        guard head.status == 201, let location = head.fields["Location"] else {
            return .fail(UploadFault(.notSpoken, "the server created no upload: \(head.status) without a Location"))
        }
        guard let resource = try? url.resolving(location) else {
            return .fail(UploadFault(.brokenProtocol, "the server sent an invalid URL for the upload"))
        }
        if self.length == 0 {
            self.state = .done
            return .accept
        }
        let place = UploadResource(speaks: .tus, url: resource, expires: Self.expiry(head))
        return .remember(place, then: self.part(resource, from: 0))
    }

    private mutating func located(_ head: ResponseHead, _ resource: HTTPURL) -> UploadAction {
        switch head.status {
        case 200..<300: break
        case 403, 404, 410: return self.lost("the server no longer has the upload (\(head.status))")
        case 423: return .fail(UploadFault(.busy, "the upload is locked (423)"))
        default: return .judge
        }
        guard let offset = Self.offset(head), offset <= self.length,
            head.fields["Upload-Length"].map({ Int64($0) == self.length }) ?? true
        else { return self.lost("the server has a different upload") }
        self.acknowledged = offset
        if offset == self.length {
            self.state = .done
            return .complete
        }
        return .ask(self.part(resource, from: offset))
    }

    private mutating func sent(_ head: ResponseHead, _ resource: HTTPURL, _ range: Range<Int64>) -> UploadAction {
        switch head.status {
        case 200..<300: break
        case 409, 460: return self.disagreed(resource, head.status)
        case 403 where !self.isRefused:
            // Servers refuse to append to a complete upload, and data sent before an interruption may have completed it
            // after the offset was requested.
            self.isRefused = true
            return .ask(self.resume(resource))
        case 404, 410: return self.lost("the server no longer has the upload (\(head.status))")
        case 413: return .fail(UploadFault(.tooLarge, "the server does not accept \(self.length) bytes (413)"))
        case 423: return .fail(UploadFault(.busy, "the upload is locked (423)"))
        default: return .judge
        }
        guard let offset = Self.offset(head) else { return self.disagreed(resource, head.status) }
        guard offset > range.lowerBound, offset <= range.upperBound else {
            return self.disagreed(resource, head.status)
        }
        self.acknowledged = offset
        // Only new parts count: otherwise two servers behind one name could alternate without end.
        if offset > self.highest {
            self.highest = offset
            self.disagreements = 0
            self.isRefused = false
        }
        if offset == self.length {
            self.state = .done
            return .accept
        }
        return .ask(self.part(resource, from: offset))
    }

    /// The server's offset differs from the expected one: it is requested.
    private mutating func disagreed(_ resource: HTTPURL, _ status: Int) -> UploadAction {
        self.disagreements += 1
        guard self.disagreements <= Self.mostDisagreements else {
            let what = status == 460 ? "the digest of the content" : "the offset"
            return .fail(UploadFault(.busy, "the server and Martlet disagree about \(what) (\(status))"))
        }
        return .ask(self.resume(resource))
    }

    private mutating func lost(_ reason: String) -> UploadAction {
        self.losses += 1
        guard self.losses <= Self.mostLosses else { return .fail(UploadFault(.busy, reason)) }
        return .forget(then: self.begin())
    }

    private mutating func part(_ resource: HTTPURL, from offset: Int64) -> UploadStep {
        let end = self.checksum == nil ? self.length : min(self.length, offset.adding(clamping: Self.checkedPart))
        self.state = .sending(resource, offset..<end)
        var step = UploadStep(
            "PATCH",
            .resource(resource),
            [
                "Tus-Resumable": "1.0.0", "Upload-Offset": "\(offset)",
                "Content-Type": "application/offset+octet-stream",
            ],
            content: offset..<end
        )
        step.checksum = self.checksum
        return step
    }

    // MARK: Fields

    private static func offset(_ head: ResponseHead) -> Int64? {
        head.fields["Upload-Offset"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    private static func expiry(_ head: ResponseHead) -> Int64? {
        head.fields["Upload-Expires"].flatMap { HTTPDate.parse($0) }
    }

    private static func list(_ value: String) -> [String] {
        value.split(separator: ",")
            .map { part in
                String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            }
    }
}
