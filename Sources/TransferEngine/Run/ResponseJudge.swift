internal import TransferCore

/// What a response to a request for a file means.
///
/// Pure: the tables of RFC 9110 §14 and §15 as Martlet reads them.
struct ResponseJudge {
    /// What was asked for.
    struct Question {
        /// The range asked for, or `nil` for the whole.
        var range: ByteRange?
        /// What is known of the resource from the response that the partial file began with.
        var known: ResourceFacts?
        /// Whether an entity tag that differs says nothing.
        var ignoresTags = false
        /// Whether the request was conditional as a whole, so that 304 is an answer.
        var isConditional = false
        /// Whether the caller may have asked for a part by itself: then that is the whole here.
        var isOwnRange = false
        /// The bytes that are there, when every byte up to them is.
        var have: Int64 = 0
        var retryStatuses: Set<Int>
        /// Wall time, seconds since 1970, for a `Retry-After` that is a date.
        var wallNow: Int64
    }

    enum Verdict {
        /// The body is the whole resource from byte 0 on.
        case whole(length: Int64?)
        /// The body goes on at the start of the range asked for.
        case range(total: Int64?)
        /// What is there does not fit this resource: ask again for the whole.
        case startOver(String)
        /// Everything is there already.
        case alreadyComplete
        /// Go and ask there.
        case redirect(String)
        /// The caller's copy is still what the server has.
        case notModified
        case failed(TransferFailure)
    }

    static func judge(_ head: ResponseHead, _ question: Question) -> Verdict {
        switch head.status {
        case 206: self.partial(head, question)
        case 204, 205: .whole(length: 0)
        case 200..<300: self.whole(head, question)
        case 301, 302, 303, 307, 308: self.redirect(head)
        case 304 where question.isConditional: .notModified
        case 412 where question.range != nil: .startOver("the server says that the file changed (412)")
        case 416: self.notSatisfiable(head, question)
        default: .failed(self.failure(head, retrying: question.retryStatuses, wallNow: question.wallNow))
        }
    }

    private static func whole(_ head: ResponseHead, _ question: Question) -> Verdict {
        .whole(length: self.length(head))
    }

    /// The length of a body as its framing tells it, or `nil` where only its end will.
    static func length(_ head: ResponseHead) -> Int64? {
        if case .length(let length) = head.framing { return length }
        return head.framing == .none ? 0 : nil
    }

    private static func partial(_ head: ResponseHead, _ question: Question) -> Verdict {
        guard let asked = question.range else {
            if question.isOwnRange { return .whole(length: self.length(head)) }
            return .failed(
                TransferFailure(
                    .badResponse,
                    "the server answered a part (206) that was not asked for",
                    isRetryable: true
                )
            )
        }
        if let type = head.fields["Content-Type"], type.utf8.count >= 20,
            type.lowercased().hasPrefix("multipart/byteranges")
        {
            return .failed(
                TransferFailure(
                    .badResponse,
                    "the server answered several parts to a request for one",
                    isRetryable: true
                )
            )
        }
        guard let field = head.fields["Content-Range"], let content = ContentRange(field), let range = content.range
        else {
            return .failed(
                TransferFailure(.badResponse, "206 with a missing or malformed Content-Range", isRetryable: true)
            )
        }
        if case .length(let length) = head.framing, length != range.upperBound - range.lowerBound {
            return .failed(
                TransferFailure(.badResponse, "206 whose Content-Length and Content-Range disagree", isRetryable: true)
            )
        }
        guard range.lowerBound == asked.lowerBound else {
            return .startOver("the server sent other bytes than were asked for")
        }
        if head.fields["Content-Encoding"].map(self.isEncoding) ?? false {
            return .startOver("the server encoded the part, whose bytes so are others")
        }
        if let known = question.known {
            if let total = content.total, let length = known.length, total != length {
                return .startOver("the file's length changed from \(length) to \(total)")
            }
            if self.agreement(head, with: known, ignoringTags: question.ignoresTags) == .changed {
                return .startOver("the file changed on the server")
            }
        }
        return .range(total: content.total)
    }

    private static func notSatisfiable(_ head: ResponseHead, _ question: Question) -> Verdict {
        if let total = head.fields["Content-Range"].flatMap({ ContentRange($0) })?.total,
            total == question.have, question.known?.length ?? total == total
        {
            return .alreadyComplete
        }
        if question.range == nil {
            return .failed(TransferFailure(.badResponse, "the server has no such range (416)", status: 416))
        }
        return .startOver("the server has no such range (416)")
    }

    private static func redirect(_ head: ResponseHead) -> Verdict {
        guard let location = head.fields["Location"], !location.isEmpty else {
            return .failed(
                TransferFailure(.badResponse, "redirect (\(head.status)) without a Location", status: head.status)
            )
        }
        return .redirect(location)
    }

    /// What a status that is no success means.
    static func failure(_ head: ResponseHead, retrying statuses: Set<Int>, wallNow: Int64) -> TransferFailure {
        let phrase = ReasonPhrase.of(head.status)
        let message = "the server answered \(head.status)\(phrase.isEmpty ? "" : " \(phrase)")"
        let retryAfter = head.fields["Retry-After"].flatMap { RetryAfter.seconds($0, now: wallNow) }
        let (code, remedy): (TransferFailure.Code, String) =
            switch head.status {
            case 401: (.authentication, "give credentials in the URL (https://user:password@host/…)")
            case 407: (.authentication, "the proxy wants credentials")
            case 404, 410: (.notFound, "check the URL")
            case 408: (.timeout, "")
            case 429, 503: (.overloaded, "try later")
            case 403: (.badResponse, "the server refuses; it may want credentials, a cookie or a referer")
            default: (.badResponse, "")
            }
        return TransferFailure(
            code,
            message,
            remedy: remedy,
            setting: Self.setting(head.status),
            isRetryable: statuses.contains(head.status),
            status: head.status,
            retryAfter: retryAfter
        )
    }

    private static func setting(_ status: Int) -> TransferFailure.Setting? {
        switch status {
        case 401: .credentials
        case 429, 503: .concurrency
        default: nil
        }
    }

    /// Whether a response is of the same resource as is known, as far as its validators tell.
    static func agreement(
        _ head: ResponseHead,
        with known: ResourceFacts,
        ignoringTags: Bool
    ) -> Validators.Agreement {
        var old = Validators(entityTag: known.entityTag, lastModified: known.lastModified, date: known.date)
        var new = Validators(fields: head.fields)
        if ignoringTags {
            old.entityTag = nil
            new.entityTag = nil
        }
        return old.agrees(with: new)
    }

    private static func isEncoding(_ value: String) -> Bool {
        !value.isEmpty && value.lowercased() != "identity"
    }
}
