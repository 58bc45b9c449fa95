// SPDX-License-Identifier: Apache-2.0
/// Interprets the status and the framing of a response to a request for a file.
///
/// Pure: implements the rules of RFC 9110 §14 and §15. `VersionJudge` decides whether the response is of the held
/// version.
package struct ResponseJudge {
    /// The properties of the request that the verdict depends on.
    package struct Question {
        /// The range requested, or `nil` for the whole.
        package var range: ByteRange?
        /// Whether the request was conditional as a whole, so that 304 is a response to it.
        package var isConditional = false
        /// Whether the caller may have requested a part: then that part counts as the whole.
        package var isOwnRange = false
        package var retryStatuses: Set<Int>
        /// Wall time, seconds since 1970, for a `Retry-After` that is a date.
        package var wallNow: Int64
        /// Whether the request had credentials.
        package var hasCredentials: Bool

        /// Creates a question.
        package init(
            range: ByteRange? = nil,
            isConditional: Bool = false,
            isOwnRange: Bool = false,
            retryStatuses: Set<Int>,
            wallNow: Int64,
            hasCredentials: Bool = false
        ) {
            self.range = range
            self.isConditional = isConditional
            self.isOwnRange = isOwnRange
            self.retryStatuses = retryStatuses
            self.wallNow = wallNow
            self.hasCredentials = hasCredentials
        }
    }

    package enum Verdict {
        /// The body is the whole representation.
        case whole(length: Int64?)
        /// The body is this range, which begins where the requested one does.
        case range(ByteRange, total: Int64?)
        /// The body is the first part of the representation although no range was requested.
        case firstPart(ByteRange, total: Int64?)
        /// The range starts elsewhere: the server does not support ranges.
        case otherStart
        /// `Content-Range` is missing or malformed.
        case malformedRange(String)
        /// The body has several parts (`multipart/byteranges`).
        case multipart
        /// The server has no such range (416).
        case notSatisfiable
        /// The server reports that the file changed (412).
        case preconditionFailed
        /// The caller's copy is still current.
        case notModified
        case failed(TransferFailure)
    }

    package static func judge(_ head: ResponseHead, _ question: Question) -> Verdict {
        switch head.status {
        case 206: self.partial(head, question)
        case 204, 205: .whole(length: 0)
        case 200..<300: .whole(length: self.length(head))
        case 304 where question.isConditional: .notModified
        case 412 where question.range != nil: .preconditionFailed
        case 416: .notSatisfiable
        default:
            .failed(
                self.failure(
                    head,
                    retrying: question.retryStatuses,
                    wallNow: question.wallNow,
                    hasCredentials: question.hasCredentials
                )
            )
        }
    }

    /// The length of a body declared by its framing, or `nil` if only the end of the body determines it.
    package static func length(_ head: ResponseHead) -> Int64? {
        if case .length(let length) = head.framing { return length }
        return head.framing == .none ? 0 : nil
    }

    private static func partial(_ head: ResponseHead, _ question: Question) -> Verdict {
        if question.range == nil, question.isOwnRange { return .whole(length: self.length(head)) }
        if let type = head.fields["Content-Type"], type.utf8.count >= 20,
            type.lowercased().hasPrefix("multipart/byteranges")
        {
            return .multipart
        }
        guard let field = head.fields["Content-Range"], let content = ContentRange(field), let range = content.range
        else { return .malformedRange("206 with a missing or malformed Content-Range") }
        if case .length(let length) = head.framing, length != range.upperBound - range.lowerBound {
            return .malformedRange("206 whose Content-Length and Content-Range disagree")
        }
        if let asked = question.range, range.lowerBound == asked.lowerBound {
            return .range(range, total: content.total)
        }
        if range.lowerBound == 0, range.upperBound == content.total { return .whole(length: content.total) }
        if question.range == nil, range.lowerBound == 0 { return .firstPart(range, total: content.total) }
        return .otherStart
    }

    /// The failure for an unsuccessful status.
    ///
    /// - Parameters:
    ///   - head: The response.
    ///   - statuses: The statuses that are retried.
    ///   - wallNow: The time in seconds since 1970.
    ///   - hasCredentials: Whether the request had credentials.
    /// - Returns: The failure.
    package static func failure(
        _ head: ResponseHead,
        retrying statuses: Set<Int>,
        wallNow: Int64,
        hasCredentials: Bool = false
    ) -> TransferFailure {
        let phrase = ReasonPhrase.of(head.status)
        var message = "the server responded with \(head.status)\(phrase.isEmpty ? "" : " \(phrase)")"
        let retryAfter = head.fields["Retry-After"].flatMap { RetryAfter.seconds($0, now: wallNow) }
        let code: TransferFailure.Code
        var remedy: String
        (code, remedy) =
            switch head.status {
            case 401, 407: (.authentication, "")
            case 404, 410: (.notFound, "check the URL")
            case 408: (.timeout, "")
            case 429, 503: (.overloaded, "try again later")
            case 403: (.badResponse, "the server refuses; it may require credentials, a cookie or a referer")
            default: (.badResponse, "")
            }
        if RedirectRule.isRedirect(head.status) { message = "redirect (\(head.status)) without a Location" }
        var setting = Self.setting(head.status)
        if head.status == 401 {
            let refusal = AuthenticationRefusal(head.fields.values("WWW-Authenticate"), hasCredentials: hasCredentials)
            message += ": \(refusal.text)"
            if !refusal.isSupported || hasCredentials { setting = nil }
            if refusal.isSupported, hasCredentials { remedy = "check the user name and the password, or the token" }
        } else if head.status == 407 {
            message += ": the proxy requires credentials"
        }
        var failure = TransferFailure(
            code,
            message,
            remedy: remedy,
            setting: setting,
            isRetryable: statuses.contains(head.status),
            status: head.status,
            retryAfter: retryAfter
        )
        if failure.isRetryable, OutageCause.isReported(by: head.status) {
            var evidence = OutageEvidence(.errors)
            evidence.status = head.status
            failure.evidence = evidence
        }
        if head.lacksClientCertificate, failure.setting == nil {
            failure.setting = .clientCertificate
        }
        return failure
    }

    private static func setting(_ status: Int) -> TransferFailure.Setting? {
        switch status {
        case 401: .credentials
        case 429, 503: .concurrency
        default: nil
        }
    }
}
