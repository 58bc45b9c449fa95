// SPDX-License-Identifier: Apache-2.0
/// The validators of one response, which identify a version of a resource.
///
/// - Source: RFC 9110 §8.8.
package struct Validators: Hashable, Sendable {
    /// The `ETag` field as sent, including malformed ones.
    package var entityTag: String?
    /// The `Last-Modified` field as sent.
    package var lastModified: String?
    /// The `Date` field as sent.
    package var date: String?
    /// The time at which the response was received, in seconds since 1970.
    package var received: Int64?

    package init(
        entityTag: String? = nil,
        lastModified: String? = nil,
        date: String? = nil,
        received: Int64? = nil
    ) {
        self.entityTag = entityTag
        self.lastModified = lastModified
        self.date = date
        self.received = received
    }

    /// Creates the validators of a resource's facts.
    package init(_ facts: ResourceFacts) {
        self.init(
            entityTag: facts.entityTag,
            lastModified: facts.lastModified,
            date: facts.date,
            received: facts.received
        )
    }

    /// Whether any validator exists.
    package var isEmpty: Bool { self.entityTag == nil && self.lastModified == nil }

    /// The entity tag if it is well-formed and strong.
    package var strongEntityTag: String? {
        self.entityTag.flatMap { EntityTag.isValid($0) && !EntityTag.isWeak($0) ? $0 : nil }
    }

    /// Whether Last-Modified identifies a version: a later change in the same second is excluded.
    ///
    /// It is at least a second older than the same response's Date, both of the server's clock, and not in the future. Without
    /// a Date it is not: a clock of this machine that is ahead would make the youngest one look old.
    ///
    /// - Source: RFC 9110 §8.8.2.2.
    package var isLastModifiedStrong: Bool {
        guard let modified = self.lastModified.flatMap(HTTPDate.parse),
            let date = self.date.flatMap(HTTPDate.parse)
        else { return false }
        if let received, modified > received { return false }
        return modified < date
    }

    /// The value for `If-Range`, or `nil` without a strong validator.
    ///
    /// - Source: RFC 9110 §13.1.5.
    package var ifRange: String? {
        if let strongEntityTag { return strongEntityTag }
        if let entityTag, EntityTag.isValid(entityTag) { return nil }
        return self.isLastModifiedStrong ? self.lastModified : nil
    }

    /// Whether validators can show that two responses are of one version, so that rule (a) can apply.
    package var isStrong: Bool { self.strongEntityTag != nil || self.isLastModifiedStrong }
}

/// The syntax of entity tags.
///
/// - Source: RFC 9110 §8.8.3.
package enum EntityTag {
    /// Whether the text is an entity tag: an optional `W/`, then a quoted string without quotes and controls.
    package static func isValid(_ text: String) -> Bool {
        let tag = self.opaque(text).utf8
        guard tag.count >= 2, tag.first == 0x22, tag.last == 0x22 else { return false }
        return tag.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 != 0x7F }
    }

    /// Whether a well-formed entity tag is weak.
    package static func isWeak(_ tag: String) -> Bool { tag.utf8.starts(with: "W/".utf8) }

    /// The tag without its `W/`.
    static func opaque(_ tag: String) -> Substring { self.isWeak(tag) ? tag.dropFirst(2) : tag[...] }
}

/// The result of comparing a validator of two responses.
package enum ValidatorMatch: Hashable, Sendable {
    /// Both have it, equal and strong.
    case strong
    /// Both have it, equal, and it is weak in at least one.
    case weak
    /// Both have it and it differs.
    case different
    /// Neither has it.
    case absent
    /// Only one has it.
    case incomparable
}

extension Validators {
    /// Compares entity tags: a malformed one counts as absent, but two unequal malformed ones are different.
    package func entityTagMatch(_ other: Validators) -> ValidatorMatch {
        guard let left = self.entityTag, let right = other.entityTag else {
            return self.entityTag == nil && other.entityTag == nil ? .absent : .incomparable
        }
        switch (EntityTag.isValid(left), EntityTag.isValid(right)) {
        case (true, true):
            guard EntityTag.opaque(left) == EntityTag.opaque(right) else { return .different }
            return EntityTag.isWeak(left) || EntityTag.isWeak(right) ? .weak : .strong
        case (false, false): return left == right ? .absent : .different
        default: return .incomparable
        }
    }

    /// Compares Last-Modified.
    package func lastModifiedMatch(_ other: Validators) -> ValidatorMatch {
        guard let left = self.lastModified, let right = other.lastModified else {
            return self.lastModified == nil && other.lastModified == nil ? .absent : .incomparable
        }
        if left != right {
            guard let first = HTTPDate.parse(left), first == HTTPDate.parse(right) else { return .different }
        }
        return self.isLastModifiedStrong && other.isLastModifiedStrong ? .strong : .weak
    }
}
