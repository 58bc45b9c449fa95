internal import TransferCore

/// The conditions that a request puts on being carried out.
///
/// - Source: RFC 9110 §13.
enum Conditions {
    /// What becomes of the request.
    enum Verdict: Hashable, Sendable {
        /// It is carried out.
        case proceed
        /// 304: the client has it.
        case notModified
        /// 412: a condition does not hold.
        case failed
    }

    /// The state of the representation that conditions are about.
    struct State: Hashable, Sendable {
        /// The strong entity tag with its quotes.
        var entityTag: String
        /// When it was changed, in seconds since 1970.
        var modified: Int64
    }

    /// Judges a request in the order of RFC 9110 §13.2.2.
    ///
    /// - Parameters:
    ///   - fields: The request's fields.
    ///   - state: The representation's, or `nil` where there is none.
    ///   - isRead: Whether the method is GET or HEAD.
    /// - Returns: What becomes of it.
    static func verdict(_ fields: HTTPFields, _ state: State?, isRead: Bool) -> Verdict {
        if let field = fields.joined("If-Match") {
            guard let state, self.matches(field, state.entityTag, weakly: false) else { return .failed }
        } else if let date = fields["If-Unmodified-Since"].flatMap(HTTPDate.parse) {
            guard let state, state.modified <= date else { return .failed }
        }
        if let field = fields.joined("If-None-Match") {
            if let state, self.matches(field, state.entityTag, weakly: true) { return isRead ? .notModified : .failed }
        } else if isRead, let state, let date = fields["If-Modified-Since"].flatMap(HTTPDate.parse) {
            if state.modified <= date { return .notModified }
        }
        return .proceed
    }

    /// Whether a `Range` is to be heeded, by `If-Range`: only where it names this very state by a strong validator.
    ///
    /// - Parameters:
    ///   - field: The field's value; without one the range is heeded.
    ///   - state: The representation's.
    ///   - now: Seconds since 1970: a date is strong only where it is older than this second (RFC 9110 §8.8.2.2).
    /// - Returns: Whether a part may be sent.
    static func heedsRange(_ field: String?, _ state: State, now: Int64) -> Bool {
        guard let field else { return true }
        if EntityTag.isValid(field) { return field == state.entityTag }
        guard let date = HTTPDate.parse(field) else { return false }
        return date == state.modified && state.modified < now
    }

    /// Whether a list of entity tags has this one, or is `*`.
    private static func matches(_ field: String, _ tag: String, weakly: Bool) -> Bool {
        let bytes = Array(field.utf8)
        let wanted = Array(tag.utf8)
        var index = 0
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x2C: index += 1
            case 0x2A: return true
            default:
                let isWeak = bytes[index...].starts(with: "W/".utf8)
                let start = index + (isWeak ? 2 : 0)
                guard start < bytes.count, bytes[start] == 0x22,
                    let end = bytes[(start + 1)...].firstIndex(of: 0x22)
                else { return false }
                if weakly || !isWeak, bytes[start...end].elementsEqual(wanted) { return true }
                index = end + 1
            }
        }
        return false
    }
}
