// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// Evaluates the conditional fields of a request.
///
/// - Source: RFC 9110 §13.
package enum Conditions {
    /// The result of the evaluation.
    package enum Verdict: Hashable, Sendable {
        /// The request is performed.
        case proceed
        /// 304: the client's copy is current.
        case notModified
        /// 412: a condition failed.
        case failed
    }

    /// The state of the selected representation.
    package struct State: Hashable, Sendable {
        /// The strong entity tag with its quotes.
        package var entityTag: String
        /// The modification time, in seconds since 1970.
        package var modified: Int64

        /// Creates a state.
        package init(entityTag: String, modified: Int64) {
            self.entityTag = entityTag
            self.modified = modified
        }
    }

    /// Evaluates a request's conditions in the order of RFC 9110 §13.2.2.
    ///
    /// - Parameters:
    ///   - fields: The request header fields.
    ///   - state: The state of the representation, or `nil` if there is none.
    ///   - isRead: Whether the method is GET or HEAD.
    /// - Returns: The result.
    package static func verdict(_ fields: HeaderFields, _ state: State?, isRead: Bool) -> Verdict {
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

    /// Whether `Range` is evaluated: `If-Range` is absent, or matches the current state by a strong validator.
    ///
    /// - Parameters:
    ///   - field: The value of `If-Range`, or `nil`.
    ///   - state: The state of the representation.
    ///   - now: The current time in seconds since 1970: a date is strong only if it is in the past (RFC 9110 §8.8.2.2).
    /// - Returns: Whether a partial response is allowed.
    package static func heedsRange(_ field: String?, _ state: State, now: Int64) -> Bool {
        guard let field else { return true }
        if EntityTag.isValid(field) { return field == state.entityTag }
        guard let date = HTTPDate.parse(field) else { return false }
        return date == state.modified && state.modified < now
    }

    /// Whether a list of entity tags contains `tag`, or is `*`.
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
