// SPDX-License-Identifier: Apache-2.0
/// Determines the next request of one upload to a server that may support the IETF draft for resumable uploads.
///
/// The first request is a complete upload: a server without support for the protocol just accepts it.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock.
///
/// - Invariant: `acknowledged` is the number of bytes reported by the server, within `0...length`.
/// - Source: draft-ietf-httpbis-resumable-upload, interop versions 3, 5 and 6.
package struct DraftMachine: Sendable {
    private enum State: Sendable {
        case idle
        case creating
        case locating(HTTPURL)
        case sending(HTTPURL, from: Int64)
        case done
    }

    /// The length of the whole content in bytes.
    package let length: Int64
    /// The number of bytes that the server has reported.
    package private(set) var acknowledged: Int64 = 0
    /// The upload's resource, once the server has reported it.
    package private(set) var resource: HTTPURL?

    private let speaks: ResumableProtocol
    private let method: String
    private var state = State.idle
    private var disagreements = 0
    /// The highest offset that the server has accepted so far; a higher one is progress.
    private var highest: Int64 = 0
    private var losses = 0

    /// Creates the machine of one upload.
    ///
    /// - Parameters:
    ///   - speaks: The version of the protocol.
    ///   - method: The method of the upload itself.
    ///   - length: The length of the whole content in bytes.
    package init(_ speaks: ResumableProtocol, method: String, length: Int64) {
        self.speaks = speaks
        self.method = method
        self.length = length
    }

    private static let mostDisagreements = 8
    private static let mostLosses = 2

    private var version: Int { self.speaks.interopVersion ?? 6 }

    // MARK: Starting

    /// Creates an upload with a request that carries all its content.
    package mutating func begin() -> UploadStep {
        self.state = .creating
        self.resource = nil
        self.acknowledged = 0
        var step = UploadStep(
            self.method,
            .endpoint,
            ["Upload-Draft-Interop-Version": "\(self.version)"],
            content: 0..<self.length
        )
        self.addCompleteness(to: &step)
        if self.version >= 6 { step.add("Upload-Length", "\(self.length)") }
        step.describesContent = true
        step.isRepeatable = Self.isIdempotent(self.method)
        return step
    }

    /// Resumes an earlier upload.
    package mutating func resume(_ resource: HTTPURL) -> UploadStep {
        self.resource = resource
        self.state = .locating(resource)
        return UploadStep("HEAD", .resource(resource), ["Upload-Draft-Interop-Version": "\(self.version)"])
    }

    /// The request that deletes an upload on a server.
    package static func termination(of resource: HTTPURL, _ speaks: ResumableProtocol) -> UploadStep {
        UploadStep(
            "DELETE",
            .resource(resource),
            ["Upload-Draft-Interop-Version": "\(speaks.interopVersion ?? 6)"]
        )
    }

    // MARK: Responses

    /// Handles an interim response (104) that may report the upload's resource.
    ///
    /// - Returns: The resource, if it is new.
    package mutating func received(interim status: Int, _ fields: HeaderFields, from url: HTTPURL) -> UploadResource? {
        guard status == 104, case .creating = self.state, self.resource == nil, let location = fields["Location"],
            let resource = try? url.resolving(location)
        else { return nil }
        self.resource = resource
        return UploadResource(speaks: self.speaks, url: resource, expires: nil)
    }

    /// Handles a final response's head.
    package mutating func received(_ head: ResponseHead, from url: HTTPURL) -> UploadAction {
        switch self.state {
        case .idle, .done: preconditionFailure("an upload received a response without a request")
        case .creating: self.created(head, from: url)
        case .locating(let resource): self.located(head, resource)
        case .sending(let resource, let offset): self.sent(head, resource, offset)
        }
    }

    private mutating func created(_ head: ResponseHead, from url: HTTPURL) -> UploadAction {
        guard (200..<300).contains(head.status) else { return .judge }
        guard self.wantsMore(head) else { return self.accepted() }
        if self.resource == nil, let location = head.fields["Location"] { self.resource = try? url.resolving(location) }
        guard let resource = self.resource else {
            return .fail(UploadFault(.brokenProtocol, "the server expects more content but reports no location"))
        }
        guard let offset = self.offset(head), offset < self.length else {
            return .remember(
                UploadResource(speaks: self.speaks, url: resource, expires: nil),
                then: self.resume(resource)
            )
        }
        self.took(offset)
        return .remember(
            UploadResource(speaks: self.speaks, url: resource, expires: nil),
            then: self.rest(resource, from: offset)
        )
    }

    private mutating func located(_ head: ResponseHead, _ resource: HTTPURL) -> UploadAction {
        switch head.status {
        case 200..<300: break
        case 404, 410: return self.lost("the server no longer has the upload (\(head.status))")
        default: return .judge
        }
        let length = StructuredItem.integer(head.fields.joined("Upload-Length"))
        if self.completeness(head) == true {
            guard length ?? self.length == self.length, self.offset(head) ?? self.length == self.length else {
                return self.lost("the server has a different upload")
            }
            self.acknowledged = self.length
            self.state = .done
            return .complete
        }
        guard let offset = self.offset(head), offset <= self.length, length ?? self.length == self.length else {
            return self.lost("the server has a different upload")
        }
        self.acknowledged = offset
        return .ask(self.rest(resource, from: offset))
    }

    private mutating func sent(_ head: ResponseHead, _ resource: HTTPURL, _ offset: Int64) -> UploadAction {
        switch head.status {
        case 200..<300:
            guard self.wantsMore(head) else { return self.accepted() }
            guard let now = self.offset(head), now > offset, now <= self.length else {
                return self.disagreed(resource, head.status)
            }
            self.took(now)
            return .ask(self.rest(resource, from: now))
        case 409: return self.disagreed(resource, head.status)
        case 404, 410: return self.lost("the server no longer has the upload (\(head.status))")
        default: return .judge
        }
    }

    private mutating func accepted() -> UploadAction {
        self.acknowledged = self.length
        self.state = .done
        return .accept
    }

    private mutating func disagreed(_ resource: HTTPURL, _ status: Int) -> UploadAction {
        self.disagreements += 1
        guard self.disagreements <= Self.mostDisagreements else {
            return .fail(
                UploadFault(.busy, "the server and Martlet disagree about the offset (\(status))")
            )
        }
        return .ask(self.resume(resource))
    }

    private mutating func lost(_ reason: String) -> UploadAction {
        self.losses += 1
        guard self.losses <= Self.mostLosses else { return .fail(UploadFault(.busy, reason)) }
        return .forget(then: self.begin())
    }

    private mutating func took(_ offset: Int64) {
        self.acknowledged = offset
        // Only new information counts: otherwise two servers behind one name could alternate without end.
        guard offset > self.highest else { return }
        self.highest = offset
        self.disagreements = 0
    }

    private mutating func rest(_ resource: HTTPURL, from offset: Int64) -> UploadStep {
        self.state = .sending(resource, from: offset)
        var step = UploadStep(
            "PATCH",
            .resource(resource),
            ["Upload-Draft-Interop-Version": "\(self.version)", "Upload-Offset": "\(offset)"],
            content: offset..<self.length
        )
        self.addCompleteness(to: &step)
        if self.version >= 6 { step.add("Content-Type", "application/partial-upload") }
        return step
    }

    // MARK: Fields

    private func addCompleteness(to step: inout UploadStep) {
        if self.version >= 5 { step.add("Upload-Complete", "?1") } else { step.add("Upload-Incomplete", "?0") }
    }

    /// Whether a success is partial: it says so, or reports fewer bytes without saying it is complete.
    private func wantsMore(_ head: ResponseHead) -> Bool {
        if let isComplete = self.completeness(head) { return !isComplete }
        return self.offset(head).map { $0 < self.length } ?? false
    }

    /// Whether the server reports the upload as complete; `nil` if it reports nothing.
    private func completeness(_ head: ResponseHead) -> Bool? {
        StructuredItem.boolean(head.fields.joined("Upload-Complete"))
            ?? StructuredItem.boolean(head.fields.joined("Upload-Incomplete")).map { !$0 }
    }

    private func offset(_ head: ResponseHead) -> Int64? {
        StructuredItem.integer(head.fields.joined("Upload-Offset"))
    }

    private static func isIdempotent(_ method: String) -> Bool { method == "PUT" }
}
