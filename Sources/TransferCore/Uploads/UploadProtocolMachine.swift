// SPDX-License-Identifier: Apache-2.0
/// Chooses the protocol of one upload, and its next request: a resumable protocol if the server supports one, otherwise
/// a single request.
///
/// Pure value: it performs no I/O, reads no clock and takes no lock.
package struct UploadProtocolMachine: Sendable {
    package enum Way: Hashable, Sendable {
        /// One request, restarted after a failure.
        case plain
        /// A protocol that the server supports, determined with an `OPTIONS` request.
        case automatic
        case by(ResumableProtocol)
    }

    private enum Kind: Sendable {
        case plain
        case asking
        case tus(TusMachine)
        case draft(DraftMachine)
    }

    private let way: Way
    private let method: String
    private let length: Int64?
    private let tus: TusMachine
    private var kind = Kind.plain
    private var checks: Bool

    /// Creates the machine of one upload.
    ///
    /// - Parameters:
    ///   - way: The protocol; `plain` if the length is unknown.
    ///   - method: The method of an upload in one request.
    ///   - length: The length of the whole content in bytes, or `nil` if only its end determines it.
    ///   - metadata: Metadata for a tus server.
    ///   - checksum: The digest to send with each part, if the protocol supports it.
    package init(
        _ way: Way,
        method: String,
        length: Int64?,
        metadata: [(String, String)] = [],
        checksum: DigestAlgorithm? = nil
    ) {
        self.way = length == nil ? .plain : way
        self.method = method
        self.length = length
        self.checks = checksum != nil
        self.tus = TusMachine(length: length ?? 0, metadata: metadata, checksum: checksum)
    }

    /// The number of bytes that the server has reported; `nil` if the protocol does not report it.
    package var acknowledged: Int64? {
        switch self.kind {
        case .plain, .asking: nil
        case .tus(let machine): machine.acknowledged
        case .draft(let machine): machine.resource == nil ? nil : machine.acknowledged
        }
    }

    // MARK: Starting

    /// Starts the upload, or resumes the upload of a record.
    package mutating func begin(_ record: UploadRecord?) -> UploadStep {
        if let record, let length = self.length, record.length == length,
            let resource = try? HTTPURL(record.resource)
        {
            return self.resume(record.speaks, resource, length)
        }
        switch self.way {
        case .plain: return self.beginPlain()
        case .automatic:
            self.kind = .asking
            return TusMachine.question
        case .by(.tus):
            var machine = self.tus
            // The digests that the server supports are known only from its response.
            let step = self.checks ? machine.beginAsking() : machine.begin()
            self.kind = .tus(machine)
            return step
        case .by(let draft): return self.beginDraft(draft)
        }
    }

    private mutating func resume(_ speaks: ResumableProtocol, _ resource: HTTPURL, _ length: Int64) -> UploadStep {
        guard case .tus = speaks else {
            var machine = DraftMachine(speaks, method: self.method, length: length)
            let step = machine.resume(resource)
            self.kind = .draft(machine)
            return step
        }
        var machine = self.tus
        let step = machine.resume(resource)
        self.kind = .tus(machine)
        return step
    }

    private mutating func beginPlain() -> UploadStep {
        self.kind = .plain
        var step = UploadStep(self.method, .endpoint, content: 0..<(self.length ?? Int64.max))
        step.describesContent = true
        step.isRepeatable = self.method == "PUT"
        return step
    }

    private mutating func beginDraft(_ speaks: ResumableProtocol) -> UploadStep {
        var machine = DraftMachine(speaks, method: self.method, length: self.length ?? 0)
        let step = machine.begin()
        self.kind = .draft(machine)
        return step
    }

    /// The request that deletes an upload on a server.
    package static func termination(_ speaks: ResumableProtocol, of resource: HTTPURL) -> UploadStep {
        speaks == .tus ? TusMachine.termination(of: resource) : DraftMachine.termination(of: resource, speaks)
    }

    // MARK: Responses

    /// Handles an interim response.
    ///
    /// - Returns: The upload's resource, if the response reports it.
    package mutating func received(interim status: Int, _ fields: HeaderFields, from url: HTTPURL) -> UploadResource? {
        guard case .draft(var machine) = self.kind else { return nil }
        let resource = machine.received(interim: status, fields, from: url)
        self.kind = .draft(machine)
        return resource
    }

    /// Handles a final response's head, other than a redirect.
    package mutating func received(_ head: ResponseHead, from url: HTTPURL) -> UploadAction {
        switch self.kind {
        case .plain: return (200..<300).contains(head.status) ? .accept : .judge
        case .asking: return self.asked(head)
        case .tus(var machine):
            let action = machine.received(head, from: url)
            self.kind = .tus(machine)
            return action
        case .draft(var machine):
            let action = machine.received(head, from: url)
            self.kind = .draft(machine)
            return action
        }
    }

    /// The request for the server's capabilities received no response: the upload itself is tried.
    ///
    /// - Returns: The request; `nil` if the current request is a different one.
    package mutating func unanswered() -> UploadStep? {
        guard case .asking = self.kind else { return nil }
        return self.beginDraft(.ietf6)
    }

    private mutating func asked(_ head: ResponseHead) -> UploadAction {
        if TusMachine.isSpoken(head) {
            var machine = self.tus
            let action = machine.begin(knowing: head)
            self.kind = .tus(machine)
            return action
        }
        // Whatever the response to a request that servers need not support, the upload itself is tried.
        return .ask(self.beginDraft(.ietf6))
    }
}
