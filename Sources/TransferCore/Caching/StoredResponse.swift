// SPDX-License-Identifier: Apache-2.0
/// The head of a stored response, and the times that its age is computed from.
///
/// Times are in seconds since 1970.
package struct StoredResponse: Sendable, Equatable {
    package var status: Int
    /// The fields that are stored: without those of the connection, and without cookies.
    package var fields: HeaderFields
    /// When the request was sent that the response, or its last validation, answers.
    package var requestTime: Int64
    /// When the response, or its last validation, arrived.
    package var responseTime: Int64

    /// Creates a value.
    package init(status: Int, fields: HeaderFields, requestTime: Int64, responseTime: Int64) {
        self.status = status
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// Encodes the fields as field lines with an empty line at the end.
    package var encodedFields: [UInt8] {
        var bytes: [UInt8] = []
        self.fields.forEachLine { name, value in
            bytes.append(contentsOf: name)
            bytes.append(contentsOf: [Byte.colon, Byte.space])
            bytes.append(contentsOf: value)
            bytes.append(contentsOf: [Byte.cr, Byte.lf])
        }
        return bytes + [Byte.cr, Byte.lf]
    }

    /// Decodes ``encodedFields``; `nil` if they are malformed.
    package static func fields(decoding bytes: [UInt8]) -> HeaderFields? {
        bytes.withUnsafeBytes { bytes in try? HeadParser.trailers(bytes) }
    }

    // MARK: Freshness

    private var cacheControl: CacheControl { CacheControl(self.fields) }

    /// The value of `Date`, or the time of arrival if the field is missing or malformed.
    private var date: Int64 { self.fields["Date"].flatMap { HTTPDate.parse($0) } ?? self.responseTime }

    /// How long the response is fresh, counted from the origin server's response.
    ///
    /// A repeated or invalid `max-age` or `Expires` makes the response stale (§4.2.1). Without them, the lifetime is a
    /// tenth of the time since the last modification, at most a day, for statuses that allow that (§4.2.2).
    ///
    /// - Source: RFC 9111 §4.2.
    package var lifetime: Int64 {
        let control = self.cacheControl
        switch control.seconds("max-age") {
        case .value(let seconds): return seconds
        case .none, .invalid: return 0
        case .absent: break
        }
        let expiries = self.fields.values("Expires")
        if let first = expiries.first {
            guard expiries.count == 1, let expiry = HTTPDate.parse(first) else { return 0 }
            return max(0, Self.difference(expiry, self.date))
        }
        guard StorageRule.allowsHeuristics(self.status) || control.has("public"),
            let modified = self.fields["Last-Modified"].flatMap({ HTTPDate.parse($0) })
        else { return 0 }
        return min(Self.longestHeuristicLifetime, max(0, Self.difference(self.date, modified)) / 10)
    }

    private static let longestHeuristicLifetime: Int64 = 86_400

    /// The age at a time; `nil` if the clock has been set back since the response arrived, so that it is unknown.
    ///
    /// - Source: RFC 9111 §4.2.3.
    package func age(at now: Int64) -> Int64? {
        guard now >= self.responseTime else { return nil }
        let apparent = max(0, Self.difference(self.responseTime, self.date))
        // Of several values only the first counts, and an invalid one is ignored (§5.1).
        let first = self.fields["Age"]?.split(separator: ",").first.map { $0.filter { $0 != " " && $0 != "\t" } }
        let sent = first.flatMap { DeltaSeconds.parse($0) } ?? 0
        let delay = max(0, Self.difference(self.responseTime, self.requestTime))
        let initial = max(apparent, Self.sum(sent, delay))
        return Self.sum(initial, Self.difference(now, self.responseTime))
    }

    /// Whether the response may be used without contacting the server.
    ///
    /// - Parameters:
    ///   - request: The request's fields.
    ///   - now: The time.
    /// - Returns: Whether it is fresh enough for the request, or stale and allowed to be used.
    /// - Source: RFC 9111 §4.2, §4.2.4, §5.2.1; RFC 8246.
    package func isUsable(for request: HeaderFields, at now: Int64) -> Bool {
        let control = self.cacheControl
        let wanted = CacheControl(request)
        guard let age = self.age(at: now), !control.hasUnqualified("no-cache"), !wanted.has("no-cache") else {
            return false
        }
        let lifetime = self.lifetime
        let isFresh = lifetime > age
        switch wanted.seconds("max-age") {
        case .absent: break
        // A reload of a page sends max-age=0; an immutable response need not be validated for that.
        case _ where isFresh && control.has("immutable"): break
        case .value(let most) where age <= most: break
        case .value, .none, .invalid: return false
        }
        switch wanted.seconds("min-fresh") {
        case .absent: break
        case .value(let least) where lifetime - age >= least: break
        case .value, .none, .invalid: return false
        }
        if isFresh { return true }
        if control.has("must-revalidate") { return false }
        switch wanted.seconds("max-stale") {
        case .none: return true
        case .value(let most): return age - lifetime <= most
        case .absent, .invalid: return false
        }
    }

    /// Whether the stale response may be used because the server cannot be reached or fails.
    ///
    /// - Source: RFC 5861 §4; RFC 9111 §5.2.2.2.
    package func isUsableAfterError(for request: HeaderFields, at now: Int64) -> Bool {
        let control = self.cacheControl
        let wanted = CacheControl(request)
        guard let age = self.age(at: now), !control.has("must-revalidate"), !control.hasUnqualified("no-cache"),
            !wanted.has("no-cache")
        else { return false }
        let staleness = age - self.lifetime
        return [control, wanted]
            .contains { control in
                if case .value(let most) = control.seconds("stale-if-error") { return staleness <= most }
                return false
            }
    }

    private static func difference(_ left: Int64, _ right: Int64) -> Int64 {
        let (value, overflow) = left.subtractingReportingOverflow(right)
        return overflow ? (left < right ? -DeltaSeconds.maximum : DeltaSeconds.maximum) : value
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (value, overflow) = left.addingReportingOverflow(right)
        return overflow ? DeltaSeconds.maximum : value
    }

    // MARK: Validation

    /// The fields that make a request conditional on a newer response; `nil` if the response has no validator.
    ///
    /// - Source: RFC 9111 §4.3.1.
    package var conditions: [(String, String)]? {
        var conditions: [(String, String)] = []
        if let tag = self.fields["ETag"], !tag.isEmpty { conditions.append(("If-None-Match", tag)) }
        if let modified = self.fields["Last-Modified"], HTTPDate.parse(modified) != nil {
            conditions.append(("If-Modified-Since", modified))
        }
        return conditions.isEmpty ? nil : conditions
    }

    /// The response after a 304; `nil` if the 304 has the validator of another response.
    ///
    /// - Parameters:
    ///   - fields: The fields of the 304.
    ///   - requestTime: When its request was sent.
    ///   - responseTime: When it arrived.
    /// - Returns: The response with the new times, and the 304's fields in place of those of the same names, except
    ///   fields that describe the stored bytes.
    /// - Source: RFC 9111 §3.2, §4.3.4.
    package func freshened(by fields: HeaderFields, requestTime: Int64, responseTime: Int64) -> StoredResponse? {
        if let tag = fields["ETag"] {
            guard let own = self.fields["ETag"], Self.opaque(tag) == Self.opaque(own) else { return nil }
        } else if let modified = fields["Last-Modified"], let own = self.fields["Last-Modified"] {
            guard modified == own else { return nil }
        }
        var updated = self
        updated.requestTime = requestTime
        updated.responseTime = responseTime
        // The age of the confirmation counts, not that of the first response.
        updated.fields.remove("Age")
        let new = StorageRule.storedFields(fields)
        for name in Set(new.map { $0.name.lowercased() }) where !Self.describesBytes.contains(name) {
            updated.fields.remove(name)
        }
        for (name, value) in new where !Self.describesBytes.contains(name.lowercased()) {
            updated.fields.append(name, value)
        }
        // The 304 may name fields that a stored response must not have.
        updated.fields = StorageRule.storedFields(updated.fields)
        return updated
    }

    /// Fields of the stored bytes.
    ///
    /// The entity tag is equal except for its mark of weakness, and a weak one must not become
    /// strong; digests in a 304 are those of its empty content, or of a response that is only weakly equal.
    private static let describesBytes: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-type", "etag", "content-digest", "content-md5",
        "repr-digest", "digest",
    ]

    /// An entity tag without its mark of weakness: a conditional GET compares weakly (RFC 9110 §13.1.2).
    private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }
}
