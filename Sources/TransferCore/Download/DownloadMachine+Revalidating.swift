// SPDX-License-Identifier: Apache-2.0
/// Compares an existing file with the server's by validators, and revalidates it with one conditional request.
extension DownloadMachine {
    /// The fields that make a request for the whole conditional on another version than the existing file's.
    var revalidation: [(String, String)] {
        guard self.name.revalidates, let existing = self.existing?.value, case .opening(.awaiting) = self.phase else {
            return []
        }
        return VersionJudge.condition(for: Self.finished(existing))
    }

    /// Handles a 304: the caller's copy is current, or the existing file is.
    ///
    /// - Parameters:
    ///   - index: The request, whose response has ended.
    ///   - facts: The facts of the response.
    ///   - now: The time.
    mutating func notModified(_ index: Int, _ facts: ResourceFacts, _ now: Int64) {
        guard self.name.revalidates, let existing = self.existing?.value else {
            var completion = TransferCompletion(
                path: self.name.path,
                bytes: 0,
                received: 0,
                duration: .nanoseconds(now - self.startedAt),
                skipped: true
            )
            completion.notModified = true
            return self.end(.finished(completion))
        }
        switch VersionJudge.confirmation(of: Self.finished(existing), by: facts) {
        case .current: self.keep(existing, .current, now)
        case .unknown:
            self.note("\(self.name.target.name): the response does not say which version is unchanged; asking for it")
            self.phase = .locating(.examining(existing))
            let flow = self.requests[index].flow
            self.follow(index, FetchRequest.Successor(flow: flow, purpose: .examine(byGET: false)), now)
        case .different:
            self.retire(index, keepsSlot: true)
            self.replaceOrRefuse(existing, .replace)
        }
    }

    /// Finishes if the response shows that the existing file need not be replaced.
    ///
    /// - Returns: Whether it does.
    mutating func keepsExisting(_ head: ResponseHead, _ now: Int64) -> Bool {
        guard self.name.revalidates, let existing = self.existing?.value else { return false }
        let freshness = self.freshness(of: existing, head)
        if freshness == .different { return false }
        self.keep(existing, freshness, now)
        return true
    }

    /// Finishes without replacing the existing file.
    mutating func keep(_ existing: ExistingFile, _ freshness: VersionJudge.Freshness, _ now: Int64) {
        if freshness == .newer {
            self.warn("\(self.name.target.name) is newer than the server's file; it is kept")
        }
        self.skip(size: existing.size, isUnchanged: freshness == .current, now)
    }

    /// The comparison of the existing file with the server's has ended.
    mutating func examined(_ index: Int, _ freshness: VersionJudge.Freshness, _ now: Int64) {
        self.retire(index, keepsSlot: true)
        guard let existing = self.existing?.value else { return }
        let isUpdate = self.name.rule == .update
        switch freshness {
        case .current: self.skip(size: existing.size, isUnchanged: isUpdate, now)
        case .newer where isUpdate: self.keep(existing, .newer, now)
        case .newer, .different:
            let difference = self.existingFiles.unknownVersion(self.name.target)
            if case .nextName = difference {
                self.note(
                    "\(self.name.target.name) exists and is not known to be the server's file; using another name"
                )
            }
            self.replaceOrRefuse(existing, difference)
        }
    }

    /// Whether an existing file is the representation that a response carries.
    func isCurrent(_ existing: ExistingFile, _ head: ResponseHead) -> Bool {
        self.freshness(of: existing, head) == .current
    }

    /// How an existing file relates to the representation that a response carries.
    func freshness(of existing: ExistingFile, _ head: ResponseHead) -> VersionJudge.Freshness {
        let length: Int64? =
            if case .length(let length) = head.framing { length } else {
                head.fields["Content-Length"].flatMap { Int64($0) }
            }
        let facts = ResourceFacts(url: "", length: length, fields: head.fields, received: self.wallNow)
        return VersionJudge.freshness(of: Self.finished(existing, encoding: facts.contentEncoding), by: facts)
    }

    /// Whether an existing file is the representation that a response describes.
    func isCurrent(_ existing: ExistingFile, _ response: ResourceFacts) -> Bool {
        VersionJudge.isCurrent(Self.finished(existing, encoding: response.contentEncoding), response)
    }

    private static func finished(_ existing: ExistingFile, encoding: String? = nil) -> VersionJudge.FinishedFile {
        let recorded = existing.recorded.map { recorded in
            ResourceFacts(
                url: "",
                length: existing.size,
                entityTag: recorded.entityTag,
                lastModified: recorded.lastModified,
                date: recorded.date,
                contentEncoding: encoding
            )
        }
        return VersionJudge.FinishedFile(size: existing.size, modified: existing.modified, recorded: recorded)
    }
}
