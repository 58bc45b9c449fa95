/// What recognises one state of a resource.
///
/// - Source: RFC 9110 §8.8.
package struct Validators: Hashable, Sendable {
    /// The entity tag with its quotes and its `W/`; only where it is well-formed.
    package var entityTag: String?
    /// The Last-Modified field as it was sent.
    package var lastModified: String?
    /// The Date field as it was sent.
    package var date: String?

    /// Creates validators; a malformed entity tag counts as none.
    package init(entityTag: String? = nil, lastModified: String? = nil, date: String? = nil) {
        self.entityTag = entityTag.flatMap { EntityTag.isValid($0) ? $0 : nil }
        self.lastModified = lastModified
        self.date = date
    }

    /// Takes the validators of a response.
    package init(fields: HTTPFields) {
        self.init(entityTag: fields["ETag"], lastModified: fields["Last-Modified"], date: fields["Date"])
    }

    /// The value for If-Range, or `nil` where there is no strong validator.
    ///
    /// A strong entity tag; or Last-Modified where there is no entity tag at all and it is at least one second older
    /// than Date.
    ///
    /// - Source: RFC 9110 §8.8.2.2, §13.1.5.
    package var strong: String? {
        if let entityTag = self.entityTag { return EntityTag.isWeak(entityTag) ? nil : entityTag }
        guard let lastModified = self.lastModified, let modified = HTTPDate.parse(lastModified),
            let sent = self.date.flatMap(HTTPDate.parse), modified < sent
        else { return nil }
        return lastModified
    }

    /// Whether two responses are of the same state of the resource.
    package enum Agreement: Hashable, Sendable {
        /// A validator that both have is equal.
        case same
        /// A validator that both have differs.
        case changed
        /// They have no validator in common.
        case unknown
    }

    /// Compares with another response's validators: entity tags weakly, otherwise Last-Modified.
    ///
    /// - Source: RFC 9110 §8.8.3.2 (weak comparison).
    package func agrees(with other: Validators) -> Agreement {
        if let left = self.entityTag, let right = other.entityTag {
            return EntityTag.opaque(left) == EntityTag.opaque(right) ? .same : .changed
        }
        guard let left = self.lastModified, let right = other.lastModified else { return .unknown }
        if left == right { return .same }
        guard let first = HTTPDate.parse(left), let second = HTTPDate.parse(right) else { return .changed }
        return first == second ? .same : .changed
    }
}

/// The syntax of entity tags.
///
/// - Source: RFC 9110 §8.8.3.
package enum EntityTag {
    /// Whether the text is an entity tag: perhaps `W/`, then quotes round characters without quotes and controls.
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
