// SPDX-License-Identifier: Apache-2.0
/// Decides how existing files affect a download: `--if-exists`, partial files, marks.
///
/// The only place where the rules for existing files are applied: before the first request, when a response has
/// determined the name, and when a name is taken at the commit.
package struct ExistingFiles: Sendable {
    /// The rule given by the user.
    package var rule: IfExistsRule
    /// The rule for a file that another process is downloading.
    package var ifRunning: IfRunningRule
    /// Whether the user chose the name.
    package var isNamedByUser: Bool
    /// Whether no other name may be used, unless ``ifRunning`` permits it.
    package var isExact: Bool
    /// Whether parts of the resource may be requested and compared.
    package var asksForWhole: Bool
    /// The transfer's mark.
    package var mark: String?
    /// Whether digests are expected, so that an existing file can be verified.
    package var hasDigests: Bool
    /// The transfer's URLs, without user information.
    package var sources: [HTTPURL]
    /// The file that may be replaced, because it was compared and is wrong or outdated; `nil` for none.
    package var replaceable: FileIdentity?

    /// The step that follows a survey.
    package enum Step: Sendable {
        case nextName(reason: String)
        /// Use the next name although the name must be exact: the user has chosen so (`--if-running rename`).
        case requestedName(reason: String)
        /// Fetch the file; replace an existing one if `overwrites`.
        case fetch(overwrites: Bool)
        /// Resume the partial file; it is of another URL if `isForeign`.
        case resume(isForeign: Bool, overwrites: Bool)
        /// Resume a partial file that does not belong to its journal; a digest of the whole is compared.
        case resumeUnpaired
        /// Continue a copy of the finished file.
        case continueExisting(ExistingFile, overwrites: Bool)
        /// Compare the finished file with the server's by its validators.
        case examine(ExistingFile)
        /// Request the file on condition that the server has another version than the finished one.
        case revalidate(ExistingFile)
        /// Compare the finished file's digests; if they differ, continue a copy of it or use another name.
        case compareDigests(ExistingFile, overwrites: Bool)
        /// An interrupted commit has already given the file its name: delete the rest of the partial file.
        case replayedCommit(ExistingFile?)
        case skip(ExistingFile)
        /// Another process is downloading the file: decide again when it has ended.
        case wait
        case fail(TransferFailure)
    }

    // MARK: Before the first request

    /// Decides based on a survey made before the first request.
    package func step(_ survey: FileSurvey, _ target: FileTarget) -> Step {
        if let step = self.step(owner: survey.owner, target) { return step }
        var isForeign = false
        var written: Int64 = 0
        var continued: String?
        switch survey.partial {
        case .busy(let facts): return self.step(running: facts, target)
        case .foreign(let reason): return .nextName(reason: reason)
        case .unpaired(_, let reason):
            guard self.hasDigests, self.asksForWhole, survey.existing == nil else { return .nextName(reason: reason) }
            return .resumeUnpaired
        case .committed: return .replayedCommit(survey.existing)
        case .ours(let facts, let count):
            written = count
            continued = facts.continued
            isForeign = !self.isOurs(facts)
            if isForeign, !self.mayContinue(facts) { return .nextName(reason: "the partial file is from \(facts.url)") }
            // The response to a POST, or to the caller's own range, is not resumed but requested again.
            if survey.existing == nil {
                if self.asksForWhole { return .resume(isForeign: isForeign, overwrites: false) }
                return isForeign
                    ? .nextName(reason: "the partial file is from \(facts.url)") : .fetch(overwrites: false)
            }
        case .none: break
        }
        guard let existing = survey.existing else { return .fetch(overwrites: false) }
        if let mark, existing.mark == mark { return .skip(existing) }
        if existing.hasControlFile, self.rule == .auto || self.rule == .resume || self.rule == .update {
            return .nextName(reason: "\(target.name).aria2 shows that it is an unfinished download of aria2")
        }
        let canReplace = existing.isRegular
        let mayReplace = self.replaceable.map { $0.matches(existing.file) } ?? false
        switch mayReplace ? .overwrite : self.rule {
        case .skip: return .skip(existing)
        case .fail: return .fail(self.exists(target))
        case .rename: return .nextName(reason: "")
        case .overwrite:
            guard canReplace else { return .fail(self.isNoFile(target)) }
            if case .ours = survey.partial, self.asksForWhole {
                return .resume(isForeign: isForeign, overwrites: true)
            }
            return .fetch(overwrites: true)
        case .resume:
            if !canReplace, self.isExact { return .fail(self.isNoFile(target)) }
            guard canReplace, self.asksForWhole else { return .nextName(reason: "it cannot be continued") }
            // Only the file whose copy an earlier run continued is overwritten: not one that has taken its name since, and
            // not if another version has replaced the copy.
            if written > 0 { return .resume(isForeign: isForeign, overwrites: continued == existing.identity) }
            guard existing.size > 0 else { return .fetch(overwrites: true) }
            return self.hasDigests
                ? .compareDigests(existing, overwrites: true) : .continueExisting(existing, overwrites: true)
        case .auto:
            if !canReplace, self.isExact { return .fail(self.isNoFile(target)) }
            guard canReplace, self.asksForWhole else { return .nextName(reason: "it cannot be compared") }
            return self.hasDigests ? .compareDigests(existing, overwrites: false) : .examine(existing)
        case .update:
            guard canReplace else { return .fail(self.isNoFile(target)) }
            guard self.asksForWhole else { return .fail(self.differs(target, "it cannot be compared")) }
            if case .ours = survey.partial { return .resume(isForeign: isForeign, overwrites: true) }
            return self.hasDigests ? .compareDigests(existing, overwrites: true) : .revalidate(existing)
        }
    }

    /// The step for a name that is that of another file's partial file or journal.
    private func step(owner: String?, _ target: FileTarget) -> Step? {
        guard let owner else { return nil }
        guard self.isNamedByUser else { return .nextName(reason: "it is the partial file or the journal of \(owner)") }
        return .fail(
            TransferFailure(
                .fileExists,
                "\(target.path) is the partial file or the journal of \(owner)",
                remedy: "choose another name"
            )
        )
    }

    /// The step for a file that another process is downloading.
    ///
    /// - Parameters:
    ///   - facts: The facts in its journal, if they can be read.
    ///   - target: The file.
    /// - Returns: The step: `wait`, `nextName`, `requestedName` or `fail`.
    package func step(running facts: ResourceFacts?, _ target: FileTarget) -> Step {
        guard let facts else { return .nextName(reason: "another process has locked its partial file") }
        guard self.isOurs(facts) || self.mayContinue(facts) else {
            return .nextName(reason: "another process is downloading \(facts.url) under this name")
        }
        switch self.ifRunning {
        case .wait: return .wait
        case .rename: return .requestedName(reason: "another process is downloading it")
        case .fail:
            return .fail(
                TransferFailure(
                    .inUse,
                    "another process is downloading \(target.path)",
                    remedy: "try again when it has ended",
                    setting: .runningDownloads
                )
            )
        }
    }

    private func isOurs(_ facts: ResourceFacts) -> Bool {
        self.sources.contains { $0.withoutUserInfo == facts.url }
    }

    /// Whether a partial file of another URL may be continued, provided that the responses show the same version.
    ///
    /// True if the user named the file, or if the URLs differ only in their queries, such as in a new signature.
    private func mayContinue(_ facts: ResourceFacts) -> Bool {
        if self.isExact || self.isNamedByUser { return true }
        let path = Self.withoutQuery(facts.url)
        return self.sources.contains { Self.withoutQuery($0.withoutUserInfo) == path }
    }

    private static func withoutQuery(_ url: String) -> Substring { url.prefix { $0 != "?" } }

    // MARK: After the response has determined the name

    /// Decides based on a survey of the name that a response proposes.
    ///
    /// - Parameters:
    ///   - survey: The files under that name.
    ///   - target: The name.
    ///   - freshness: How the existing file relates to the response.
    /// - Returns: The step; never one that requires a request before the response is accepted.
    package func step(
        _ survey: FileSurvey,
        _ target: FileTarget,
        freshness: (ExistingFile) -> VersionJudge.Freshness
    ) -> Step {
        if let step = self.step(owner: survey.owner, target) { return step }
        if case .ours(let facts, let written) = survey.partial, written > 0, survey.existing == nil, self.isOurs(facts)
        {
            return .resume(isForeign: false, overwrites: false)
        }
        switch survey.partial {
        case .foreign(let reason), .unpaired(_, let reason): return .nextName(reason: reason)
        case .busy(let facts): return self.step(running: facts, target)
        case .none, .ours, .committed: break
        }
        guard let existing = survey.existing else { return .fetch(overwrites: false) }
        switch self.rule {
        case .skip: return .skip(existing)
        case .fail: return .fail(self.exists(target))
        case .overwrite where existing.isRegular: return .fetch(overwrites: true)
        case .auto where existing.isRegular && !existing.hasControlFile && freshness(existing) == .current:
            return .skip(existing)
        case .update where existing.isRegular && !existing.hasControlFile:
            return freshness(existing) == .different ? .fetch(overwrites: true) : .skip(existing)
        case .auto, .rename, .resume, .overwrite, .update: return .nextName(reason: "")
        }
    }

    // MARK: At the commit

    /// The step after the name was found taken at the commit: another process has taken it since the survey.
    package enum Collision: Sendable {
        /// Replace the file.
        case overwrite
        /// Keep the existing file if it is the received representation; otherwise use the next name.
        case compare
        case nextName
        case fail
    }

    /// Decides about a name that was taken since it was surveyed.
    ///
    /// - Parameter overwrites: Whether the commit would have replaced an existing file.
    /// - Returns: The step.
    package func collision(overwrites: Bool) -> Collision {
        if self.rule == .fail { return .fail }
        if self.rule == .overwrite, self.isExact, !overwrites { return .overwrite }
        if self.rule == .auto || self.rule == .update, self.asksForWhole { return .compare }
        return self.keepsName ? .fail : .nextName
    }

    // MARK: Names that must be exact

    /// Whether a file that is in the way fails the transfer, instead of getting it a number.
    var keepsName: Bool { self.isExact || self.rule == .update }

    /// The step after a comparison that does not show that the existing file is the server's.
    package enum Difference: Sendable {
        case nextName
        /// Replace the file, if it is still the one that was compared.
        case replace
        case fail(TransferFailure)
    }

    /// Decides about an existing file whose digest is not the expected one.
    ///
    /// A name that must be exact is that of a file of Martlet's own if the record of its version still fits its size and
    /// modification time (`ExistingFile.recorded`): nothing of the user's is lost with it.
    package func wrongDigest(of existing: ExistingFile, _ target: FileTarget) -> Difference {
        if self.rule == .update || self.rule == .overwrite { return .replace }
        guard self.isExact else { return .nextName }
        if existing.recorded != nil { return .replace }
        return .fail(self.differs(target, "its digest is not the expected one"))
    }

    /// Decides about an existing file that nothing shows to be the server's.
    package func unknownVersion(_ target: FileTarget) -> Difference {
        if self.rule == .update { return .replace }
        return self.isExact ? .fail(self.differs(target, "it is not known to be the server's file")) : .nextName
    }

    // MARK: Failures

    private func isNoFile(_ target: FileTarget) -> TransferFailure {
        TransferFailure(.fileExists, "\(target.path) exists and is not a regular file", remedy: "choose another name")
    }

    /// The failure because of an existing file that is neither the server's nor may be replaced.
    private func differs(_ target: FileTarget, _ reason: String) -> TransferFailure {
        TransferFailure(
            .fileExists,
            "\(target.path) exists, and \(reason)",
            remedy: "choose another name",
            setting: .existingFiles
        )
    }

    private func exists(_ target: FileTarget) -> TransferFailure {
        TransferFailure(.fileExists, "\(target.path) exists", remedy: "move it away", setting: .existingFiles)
    }

    /// The failure of a transfer whose exact name is taken, or `nil` if it may use another name.
    package func nameIsNotFree(_ target: FileTarget, _ reason: String) -> TransferFailure? {
        guard self.keepsName else { return nil }
        return TransferFailure(
            .fileExists,
            "\(target.path) cannot be written: " + (reason.isEmpty ? "another file has this name" : reason),
            remedy: "move the existing file away, or choose another name",
            setting: .existingFiles
        )
    }
}
