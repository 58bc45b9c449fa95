// SPDX-License-Identifier: Apache-2.0
/// Decides whether a response is of the version of a resource whose bytes are held.
///
/// Pure, and the only code that compares validators. The letters of the rules are those of `Docs/Versions.md`:
/// (a) equal strong validators, (b) an overlap compared within the response, (b') the same although the entity tag
/// differs, (c) a digest of the whole.
package enum VersionJudge {
    /// The relation of a response to the held bytes.
    package enum Relation: Hashable, Sendable {
        /// It is of the same version, by (a) or (c).
        case same(Consistency)
        /// Nothing shows that it is another version; only an overlap comparison, (b) or (b'), or a digest can show that
        /// it is the same.
        case comparable
        /// It is of another version; the text states the reason.
        case different(String)
    }

    /// The facts that a decision depends on in addition to the two responses.
    package struct Context: Hashable, Sendable {
        /// Whether the response is from a different URL than the held bytes, such as a mirror: entity tags of different
        /// resources are not comparable (RFC 9110 §8.8.3).
        package var isOtherResource = false
        /// Whether a digest of the whole will be compared before the file gets its name.
        package var isDigestKnown = false

        /// Creates a context.
        package init(isOtherResource: Bool = false, isDigestKnown: Bool = false) {
            self.isOtherResource = isOtherResource
            self.isDigestKnown = isDigestKnown
        }
    }

    /// The number of bytes to compare, or all if fewer are held, before a response continues them by (b).
    package static let overlap: Int64 = 64 << 10

    /// Relates a response to the held bytes.
    package static func relation(
        of response: ResourceFacts,
        to held: ResourceFacts,
        _ context: Context = Context()
    ) -> Relation {
        // A difference is final, whatever validators or digests the response carries.
        if held.isContradicted(by: response.url) { return .different("the received bytes differ from the server's") }
        if response.contentEncoding != held.contentEncoding {
            let (old, new) = (held.contentEncoding ?? "identity", response.contentEncoding ?? "identity")
            return .different("its Content-Encoding changed from \(old) to \(new)")
        }
        if let old = held.length, let new = response.length, old != new {
            return .different("its length changed from \(old) to \(new)")
        }
        switch self.digestMatch(held, response) {
        case .strong: return .same(.digest)
        case .different: return .different("its Repr-Digest changed")
        case .weak, .absent, .incomparable: break
        }
        let relation =
            context.isOtherResource
            ? self.mirrorRelation(response, held) : self.validatorRelation(response, held)
        return relation == .comparable && context.isDigestKnown ? .same(.digest) : relation
    }

    private static func validatorRelation(_ response: ResourceFacts, _ held: ResourceFacts) -> Relation {
        let (old, new) = (Validators(held), Validators(response))
        let modified = old.lastModifiedMatch(new)
        switch old.entityTagMatch(new) {
        case .strong:
            // Some nodes set Last-Modified to the time of each response; their entity tags may be equally unreliable.
            return modified == .different ? .comparable : .same(.entityTag)
        case .weak, .absent:
            return modified == .strong ? .same(.lastModified) : .comparable
        case .different:
            // (b'): nodes may generate different tags for equal files.
            if modified == .strong, held.length != nil, response.length != nil { return .comparable }
            return .different("its ETag changed from \(old.entityTag ?? "") to \(new.entityTag ?? "")")
        case .incomparable:
            return .comparable
        }
    }

    /// Another URL's response: the same version only if entity tag, Last-Modified and length are all equal.
    private static func mirrorRelation(_ response: ResourceFacts, _ held: ResourceFacts) -> Relation {
        let (old, new) = (Validators(held), Validators(response))
        guard held.length != nil, response.length != nil, old.entityTagMatch(new) == .strong else { return .comparable }
        switch old.lastModifiedMatch(new) {
        case .strong, .weak: return .same(.entityTag)
        case .different, .absent, .incomparable: return .comparable
        }
    }

    /// Compares the digests of the whole that two responses declare; only SHA-2 shows that they are equal.
    private static func digestMatch(_ held: ResourceFacts, _ response: ResourceFacts) -> ValidatorMatch {
        guard let old = held.representationDigest, let new = response.representationDigest else {
            return .incomparable
        }
        let known = DigestFields.parse(old, source: "Repr-Digest")
        var match = ValidatorMatch.incomparable
        for digest in DigestFields.parse(new, source: "Repr-Digest") {
            guard let other = known.first(where: { $0.algorithm == digest.algorithm }) else { continue }
            guard other.bytes == digest.bytes else { return .different }
            switch digest.algorithm {
            case .sha256, .sha384, .sha512: match = .strong
            case .md5, .sha1: break
            }
        }
        return match
    }

    // MARK: Continuing

    /// Whether a response that starts inside or at the end of the held bytes may add to them.
    package enum Continuation: Hashable, Sendable {
        /// Its bytes may be used.
        case accepted(Consistency)
        /// Its bytes may be used once its first bytes have been compared with the held ones.
        case compared
        /// Only a comparison can show that it is the same version, and its overlap is too short: the range must be
        /// requested again, starting ``overlap`` bytes earlier.
        case needsOverlap
        /// Only a comparison can show that it is the same version, and no held bytes precede its range.
        case needsPrecedingBytes
        /// Its bytes may not be used; the text states the reason.
        case refused(String)
    }

    /// Decides about a response's range.
    ///
    /// - Parameters:
    ///   - response: The facts of the response.
    ///   - held: The facts of the response that delivered the held bytes.
    ///   - context: The additional facts.
    ///   - isAdditional: Whether other responses deliver bytes of the same file concurrently.
    ///   - overlap: The number of held bytes at the beginning of the response.
    ///   - run: The number of held bytes that precede the range's first new byte without a gap.
    /// - Returns: Whether its bytes may be used, and under which condition.
    package static func continuation(
        of response: ResourceFacts,
        after held: ResourceFacts,
        _ context: Context,
        isAdditional: Bool,
        overlap: Int64,
        run: Int64
    ) -> Continuation {
        switch self.relation(of: response, to: held, context) {
        case .same(let consistency):
            guard self.requiresComparison(held) else { return .accepted(consistency) }
            if isAdditional { return .refused("its bytes have to be compared first") }
            if run == 0 { return .needsPrecedingBytes }
            return overlap >= min(self.overlap, run) ? .accepted(consistency) : .needsOverlap
        case .different(let reason): return .refused(reason)
        case .comparable:
            if isAdditional { return .refused("there is no evidence that it is the same version") }
            if run == 0 { return .needsPrecedingBytes }
            return overlap >= min(self.overlap, run) ? .compared : .needsOverlap
        }
    }

    /// Whether every response that continues the held bytes is compared with them, whatever validators it carries.
    ///
    /// A comparison vouches only for the response in which it was made, and a difference found by another source
    /// leaves open which of the two is right.
    package static func requiresComparison(_ held: ResourceFacts) -> Bool {
        held.consistency == .overlap || !held.differing.isEmpty
    }

    /// Whether the responses to parallel range requests can be shown to be of one version.
    package static func allowsParallelRanges(_ held: ResourceFacts, _ context: Context = Context()) -> Bool {
        if held.isUnreliable || held.isContradicted || self.requiresComparison(held) { return false }
        if context.isDigestKnown { return true }
        let validators = Validators(held)
        if validators.strongEntityTag != nil { return true }
        return validators.isLastModifiedStrong
    }

    // MARK: Replacing

    /// The effect on held bytes of a response that carries the whole representation.
    package enum Replacement: Hashable, Sendable {
        /// It is of the same version: its bytes continue the held ones.
        case same(Consistency)
        /// It replaces them; the text states the reason.
        case restart(String)
        /// It is probably not the resource but, for example, a login page: the held bytes are kept.
        case suspicious(String)
        /// It may be the resource, but has no validator: it is written to a second partial file.
        case beside(String)
    }

    /// Decides about a response that carries the whole representation while bytes are held.
    package static func replacement(
        by response: ResourceFacts,
        of held: ResourceFacts,
        _ context: Context = Context()
    ) -> Replacement {
        let reason: String
        switch self.relation(of: response, to: held, context) {
        case .same(let consistency): return .same(consistency)
        case .different(let text): reason = text
        case .comparable: reason = "there is no evidence that it is still the same version"
        }
        guard Validators(held).isStrong, Validators(response).isEmpty else { return .restart(reason) }
        if let old = held.mediaType, let new = response.mediaType, old != new {
            return .suspicious("the server sent \(new) in place of \(old), without a validator")
        }
        if let old = held.length, let new = response.length, new < old / 100 {
            return .suspicious("the server sent \(new) bytes in place of \(old), without a validator")
        }
        return .beside(reason)
    }

    /// The facts of a response that replaces held bytes, with the record of earlier versions.
    ///
    /// A version observed again after another one marks the resource as unreliable: one URL serves several versions.
    /// So does a validator that is repeated although a comparison found the bytes different.
    package static func successor(_ response: ResourceFacts, of held: ResourceFacts) -> ResourceFacts {
        var next = response
        next.formerVersions = held.formerVersions
        let (old, new) = (self.identity(held), self.identity(response))
        if let old, old != new, next.formerVersions.last != old { next.formerVersions.append(old) }
        next.formerVersions = next.formerVersions.suffix(ResourceFacts.formerLimit)
        next.isUnreliable =
            response.isUnreliable || held.isUnreliable || new.map { held.formerVersions.contains($0) } ?? false
            || self.repeatsValidators(response, of: held)
        return next
    }

    /// Whether a response carries the validators of bytes that were found different from its URL's.
    private static func repeatsValidators(_ response: ResourceFacts, of held: ResourceFacts) -> Bool {
        guard held.isContradicted(by: response.url) else { return false }
        var before = held
        before.isContradicted = false
        before.differing = []
        let context = Context(isOtherResource: held.url != response.url)
        if case .same = self.relation(of: response, to: before, context) { return true }
        return false
    }

    /// The validator that identifies a version, or `nil` if there is none.
    package static func identity(_ facts: ResourceFacts) -> String? { facts.entityTag ?? facts.lastModified }

    // MARK: A finished file

    /// A file with its final name.
    package struct FinishedFile: Hashable, Sendable {
        /// The size in bytes.
        package var size: Int64
        /// The modification time, in seconds since 1970.
        package var modified: Int64
        /// The facts recorded when the file was finished, or `nil` if there are none.
        package var recorded: ResourceFacts?

        /// Creates a finished file.
        package init(size: Int64, modified: Int64, recorded: ResourceFacts? = nil) {
            self.size = size
            self.modified = modified
            self.recorded = recorded
        }
    }

    /// Whether a finished file has the content of a response.
    ///
    /// Requires equal length and (a) against the facts recorded with the file; for a file without a record, equal
    /// length and a modification time equal to Last-Modified. A strong entity tag stands for the length if the response
    /// names none, because only complete files have a record.
    package static func isCurrent(_ file: FinishedFile, _ response: ResourceFacts) -> Bool {
        guard let recorded = file.recorded else {
            return response.length == file.size && response.lastModified.flatMap(HTTPDate.parse) == file.modified
        }
        switch self.relation(of: response, to: recorded) {
        case .same(.entityTag): return response.length == nil || response.length == file.size
        case .same: return response.length == file.size
        case .comparable, .different: return false
        }
    }
}
