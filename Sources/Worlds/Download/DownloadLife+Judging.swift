// SPDX-License-Identifier: Apache-2.0
import Platform
import TransferCore
import TransferEngine

/// The judge of a download world.
extension DownloadLife {
    /// Judges the end of one transfer, when it is reported.
    func judge(_ ending: Command.Ending, isTwin: Bool) {
        let job = self.wishes.jobs[ending.job]
        switch ending.kind {
        case .finished(let completion): self.judge(completion, of: job, process: ending.process)
        case .failed(let failure): self.judge(failure, of: job, isTwin: isTwin)
        case .cancelled: self.result.count("cancelled")
        }
    }

    /// Judges a request when it arrives: none comes while its transfer is paused, or before the time that was asked for.
    func judge(_ request: ServerRequest) {
        let now = self.scheduler.now
        self.judgeLimits(request)
        self.judgeInterval(request)
        // Bytes on their way at the beginning of the pause may still arrive.
        let margin = 3 * self.network.roundTrip + 10_000_000
        if self.pause.contains(now - margin), self.pause.contains(now), self.runs == 1 {
            self.result.fail("a request came while its transfer was paused")
        }
        if let notBefore, notBefore.process == request.process, now < notBefore.time {
            self.result.fail("a request came before the time that Retry-After or the program named")
        }
        self.notBefore = nil
    }

    /// A transfer of the command has ended.
    func finished(_ ending: Command.Ending, of command: Command) {
        guard case .finished(let completion) = ending.kind, !completion.skipped, self.losesPowerAtEnd,
            self.wishes.options.durable || completion.bytes > 1 << 20, self.powerLosses == 0,
            !self.faults.hasCallFaults,
            // A kill between a failed sync and its record in the journal leaves what the kernel has dropped.
            self.killed == 0 || !self.faults.hasFailingSync,
            let bytes = self.disk.contents(completion.path)
        else { return }
        self.durable[completion.path] = bytes
        self.kill(command)
    }

    /// After a loss of power, what was synced before it was reported is still there.
    func judgeDurable() {
        for (path, bytes) in self.durable where self.disk.contents(path) != bytes {
            self.result.fail("\(path) was synced and reported as finished, and is lost with the power")
        }
    }

    /// Whether nothing in this world may make a transfer fail.
    var isTolerable: Bool {
        let shortage = self.network.shortage.upperBound - self.network.shortage.lowerBound
        let gateway = self.sharedHost?.outage ?? 0
        let outages = self.network.outages.reduce(shortage + gateway) { $0 + $1.time.upperBound - $1.time.lowerBound }
        // A host that is overloaded after an outage is still out of order.
        let busy = outages == 0 ? 0 : self.sites.map { Int64($0.busy.count * $0.busy.seconds) }.max() ?? 0
        let patience = self.wishes.options.outageTimeout?.components.seconds ?? 0
        return self.sites.allSatisfy { $0.isHonest && $0.quirks.isEmpty } && !self.wishes.mayFail
            && !self.faults.hasFaults && self.hands.isEmpty && self.twinDelay == nil && self.actions.isEmpty
            && self.pauseAtFailure == nil
            && self.network.shortageOneIn == 0 && outages + busy * 1_000_000_000 < patience * 500_000_000
            && self.network.outages.count <= 1
            // The errors of fewer URLs may be their own.
            && (gateway == 0 || self.sites.count { $0.hosts.count == 1 } >= 3 && self.killed == 0)
            // Nor are the probes of a URL free whose responses are cut later.
            && (gateway == 0 || self.sites.allSatisfy { $0.mostCuts < 2 })
    }

    // MARK: Files

    private func judge(_ completion: TransferCompletion, of job: DownloadWishes.Job, process: Int) {
        self.result.count(completion.skipped ? "skipped" : "finished")
        let site = job.site
        guard let bytes = self.disk.contents(completion.path) else {
            return self.result.fail("\(completion.path) is said to be finished, and does not exist")
        }
        self.judgeCurrent(completion, bytes, site)
        if completion.skipped, !self.hands.isEmpty || self.twinDelay != nil || site.kind == .again {
            return self.judgeSkipped(completion.path, bytes, site)
        }
        if Int64(bytes.count) != completion.bytes {
            self.result.fail("\(completion.path) has \(bytes.count) bytes, and is said to have \(completion.bytes)")
        }
        let version = site.contents.firstIndex { $0.equals(bytes) }
        let isRight = version != nil && (job.checksum == nil || version == job.checksum)
        // The loss of a sync remains unknown if the disk takes no note of it and the process is killed.
        if !isRight, self.faults.hidesLosses, self.powerLosses > 0 { return self.result.count("lost by the disk") }
        if isRight {
            self.result.count("right")
            self.judgeClaims(completion, bytes, of: job)
        } else if completion.skipped, self.powerLosses > 0, !self.wishes.options.durable, bytes.count <= 1 << 20 {
            // Up to 1 MiB, files are synced only if the user asks for it (Docs/Limitations.md).
            return self.result.count("damaged by a power loss, and taken for complete")
        } else if !self.isPage(bytes, site) {
            self.judgeMixed(completion, bytes, of: job)
        }
        let couldVerify = job.checksum != nil || site.didSendDigest
        if completion.verified, !couldVerify {
            self.result.fail("\(completion.path) is said to be verified, without a digest")
        }
        if !completion.verified, job.checksum != nil, !completion.skipped {
            self.result.fail("\(completion.path) was not verified, although a digest is given")
        }
        if !completion.skipped, completion.consistency == nil {
            self.result.fail("\(completion.path) was fetched, and has no consistency")
        }
        let isOther = !self.hands.isEmpty || self.twinDelay != nil || self.powerLosses > 0 || site.kind == .again
        // A name that the user gave gets a number only with `--if-exists rename` or `--if-running rename`.
        let mayNumber = self.wishes.options.ifExists == .rename || self.wishes.options.ifRunning == .rename
        if job.isExact, !mayNumber, !completion.path.hasSuffix("/\(job.expectedName)") {
            self.result.fail("\(completion.path) is not \(job.expectedName), which the user asked for")
        }
        // After a kill right behind the commit, weak validators do not show that the file is the server's, if the length is
        // hidden; nor do strong ones that were not recorded with it.
        // Without both ways to give a name in one step, a kill can leave a journal with a second name.
        let features = self.disk.features
        let isShown = features.attributes && site.showsVersion(hasRecord: true)
        let hasNames = self.killed == 0 || features.renameWithoutReplacing && isShown
        if !isOther, hasNames, self.runs == 1 || site.isHonest, self.faults.isOnlyShortage, self.wishes.jobs.count == 1,
            self.wishes.options.ifExists != .rename,
            !completion.path.hasSuffix("/\(job.expectedName)"), !completion.skipped
        {
            self.result.fail("\(completion.path) got another name than \(job.expectedName), which was free")
        }
        // Others take names, and damaged files keep theirs, but not as many as there are attempts.
        let parts = completion.path.split(separator: "/").last?.split(separator: ".") ?? []
        if let number = parts.dropFirst().first.flatMap({ Int($0) }), number > 9 {
            self.result.fail("\(completion.path): other programs have taken fewer than \(number) names")
        }
        if site.isHonest, !isRight { self.result.fail("an honest site's file is wrong") }
    }

    /// Another file may be left as it is: it is a program's, or a version.
    private func judgeSkipped(_ path: String, _ bytes: [UInt8], _ site: Site) {
        let isKnown = self.hands.foreign[path] == bytes || site.contents.contains { $0.equals(bytes) }
        // The other process, or an earlier one, may have joined the bytes of versions that a comparison does not distinguish.
        let isComparable = site.difference == .everywhere || site.difference == .length
        guard !isKnown, isComparable, self.powerLosses == 0, !site.isLiar, !self.isPage(bytes, site) else { return }
        self.result.fail("\(path) was skipped, and is neither another program's file nor a version")
    }

    /// Whether a file is what the site sent instead of the resource.
    private func isPage(_ bytes: [UInt8], _ site: Site) -> Bool {
        if Site.page.equals(bytes) { return self.sites.contains { $0.used.contains(.loginPage) } }
        if bytes.isEmpty { return site.used.contains(.emptyPage) || site.used.contains(.noContent) }
        if site.used.contains(.untilClose) || site.used.contains(.shortLength) {
            // A length that is too short, or an end that looks like the end of the body, cannot be seen.
            return site.contents.contains { content in content.bytes.starts(with: bytes) }
        }
        return false
    }

    /// A finished file is not a version: only lies excuse that.
    private func judgeMixed(_ completion: TransferCompletion, _ bytes: [UInt8], of job: DownloadWishes.Job) {
        let site = job.site
        if job.checksum == nil {
            // A validator that is repeated after a difference excuses nothing, unless another process may have found that.
            let isNew = !site.isDifferenceKnown || self.twinDelay != nil
            let excuses = site.kind != .repeats || site.tag == .firstLater && isNew
            if excuses, site.isDeceptive(bytes) { return self.judgeEvidence(completion) }
            // A process that was killed, or could do nothing more on the disk, right after it gave the name could not say so.
            let wasNamed = completion.skipped && (self.killed > 0 || self.faults.hasFaults)
            let isSaid = completion.consistency == .overlap || wasNamed
            if isSaid, site.difference != .everywhere, site.difference != .length {
                return self.result.count("mixed, and said so")
            }
        }
        let parts = Self.parts(bytes, site)
        self.result.fail(
            "\(completion.path) is mixed (consistency \(completion.consistency?.rawValue ?? "none")): \(parts)"
        )
    }

    /// Judges the directory: nothing of others was touched, and nothing is left.
    func judgeFiles() {
        for (path, bytes) in self.hands.foreign.sorted(by: { $0.key < $1.key }) {
            let mayReplace =
                self.wishes.options.ifExists == .resume
                && (self.hands.ofResource.contains(path) || self.hands.late.contains(path))
                || self.wishes.options.ifExists == .overwrite && !path.hasSuffix(".part") && !path.hasSuffix(".journal")
                || self.wishes.options.ifExists == .update && self.mayUpdate(path)
            // With a digest, a partial file that does not belong to its journal is tried, and set aside if it is wrong.
            let isTried = path.hasSuffix(".part") && self.wishes.jobs.contains { $0.checksum != nil }
            if !mayReplace, !isTried, self.disk.contents(path) != bytes {
                self.result.fail("\(path) was another program's, and was changed")
            }
        }
        if !self.deletable.isEmpty, self.killed == 0, !self.faults.hasFaults, self.hands.isEmpty, self.twinDelay == nil,
            self.last.count == 1
        {
            for name in self.disk.names(inDirectory: Self.directory)
            where name.hasSuffix(".part") || name.hasSuffix(".journal") {
                self.result.fail("\(name) is left of a transfer that was cancelled")
            }
        }
        let isDone = self.last.allSatisfy { $0?.isDone ?? false } && self.twinDelay == nil
        for name in self.disk.names(inDirectory: Self.directory)
        where self.hands.foreign["\(Self.directory)/\(name)"] == nil {
            let isPartial = name.hasSuffix(".part") || name.hasSuffix(".part.journal")
            // Under a name that another program has taken meanwhile, the partial file stays for a later run.
            if isPartial, isDone, self.runs == 1, self.powerLosses == 0, !self.faults.hasFaults, !self.hands.hadFinal {
                self.result.fail("\(name) is left although everything is finished")
            }
        }
    }

    /// Whether an update may replace a file of another program: one that it has found, not one that took the name later.
    private func mayUpdate(_ path: String) -> Bool {
        let isLate =
            self.hands.late.contains(path) && self.runs == 1 && self.wishes.additions == 0
            && self.starts <= self.sites.count
        return !isLate && !path.hasSuffix(".part") && !path.hasSuffix(".journal")
    }

    // MARK: Failures

    /// Whether a finished file may have been damaged by a loss of power, and is continued.
    private var hasTornFinal: Bool {
        self.powerLosses > 0 && !self.wishes.options.durable && self.wishes.options.ifExists == .resume
    }

    private func judge(_ failure: TransferFailure, of job: DownloadWishes.Job, isTwin: Bool) {
        self.result.count("failed: \(failure.code.rawValue)")
        // The wrong file was set aside, and its history with it.
        if failure.code == .checksumMismatch { job.site.restarts = (0, false) }
        // A journal that a power loss has torn is in the way of a name that must not change. So is a file that was finished
        // right before a kill, if nothing shows that it is the server's.
        let isShown = job.site.showsVersion(hasRecord: self.disk.features.attributes)
        let isInTheWay =
            failure.code == .fileExists
            && (self.powerLosses > 0 && (job.isExact || self.wishes.options.ifExists == .update)
                || self.killed > 0 && job.isExact && !isShown)
        if self.isTolerable, !isInTheWay, failure.code != .cannotResume || !self.hasTornFinal {
            self.result.fail("a transfer from an honest site failed: \(failure.code.rawValue), \(failure.message)")
        }
        if failure.message.isEmpty { self.result.fail("a failure has no message: \(failure.code.rawValue)") }
        if !self.isTrue(failure, of: job) {
            self.result.fail("the reason of a failure is not true: \(failure.code.rawValue), \(failure.message)")
        }
    }

    /// A download restarts: the third time because of another version, the note names the versions of the address.
    func restarts(_ site: Site, _ note: String) {
        if note.contains(" changed from ") { site.restarts.count += 1 }
        if note.contains("serves several versions") { site.restarts.areExplained = true }
        guard site.alternates, Set(site.versionOfNode).count == 2, site.restarts.count == 3,
            !site.restarts.areExplained, self.killed == 0, !self.faults.hasFaults, self.hands.isEmpty
        else { return }
        self.result.fail("the third restart does not name the versions of the address: \(note)")
    }

    /// Whether something happened in the world that a failure's code names.
    private func isTrue(_ failure: TransferFailure, of job: DownloadWishes.Job) -> Bool {
        let (site, met, disk) = (job.site, self.network.met, self.faults.met)
        let isOther = self.twinDelay != nil
        let statuses = site.statuses.union(self.sharedHost?.statuses ?? [])
        func hasStatus(_ range: ClosedRange<Int>) -> Bool { statuses.contains { range.contains($0) } }
        switch failure.code {
        case .timeout:
            return met.contains(.connectTimeout) || self.wishes.options.totalTimeout != .zero || self.isSlow(site)
        case .notFound: return site.statuses.contains(404) || site.statuses.contains(410)
        case .tooSlow: return self.wishes.options.speedFloor != nil
        case .nameResolution: return met.contains(.nameResolution) || met.contains(.unknownName)
        case .connectionRefused: return met.contains(.refused)
        case .hostUnreachable: return met.contains(.unreachable)
        case .connectionReset:
            // A host that resets connections for some files counts as unreachable for all of it.
            return met.contains(.reset)
                || self.sharedHost != nil && self.sites.contains { $0.used.contains(.breaksFirst) }
        case .network:
            return !met.isDisjoint(with: [.connect, .broken, .truncated, .localResource, .reset])
        case .noSpace:
            // A user who waits for the disk without a limit sees no full disk, unless a single call failed.
            if self.wishes.configuration.waitsForFileSystems, !self.faults.hasCallFaults { return false }
            return disk.contains(ENOSPC) || disk.contains(EDQUOT) || self.faults.wasLimited
        case .fileExists:
            // A file has its name before the sync of its directory fails.
            return self.hands.hadFinal || isOther || self.runs > 1 || site.kind == .again || !disk.isEmpty
                || !self.hands.isEmpty && (job.isExact || self.wishes.options.ifExists == .update)
        case .inUse: return isOther
        case .cannotOpen, .cannotCreate, .fileIO, .cannotCreateDirectory:
            return !disk.isEmpty || self.faults.wasLimited || !self.hands.isEmpty
        case .badResponse:
            // An address that alternates between versions is named as the reason.
            if failure.message.contains("already restarted"), site.alternates,
                !failure.message.contains("serves several versions")
            {
                return false
            }
            return !site.used.isEmpty || hasStatus(400...599) || site.ifRange != 0 || site.contents.count > 1
                || site.kind == .tags || site.urls.count > 1 || site.tag == .node
        case .cannotResume:
            return self.hands.hadFinal || self.hasTornFinal || site.shortensRanges || site.ifRange != 0
                || !site.used.isEmpty
                || site.contents.count > 1
                || site.kind == .tags
        case .redirects: return hasStatus(300...303) || hasStatus(305...399)
        // A program is asked for another link after 410, too; its refusal is the reason.
        case .authentication: return hasStatus(401...407) || statuses.contains(410) && self.wishes.refusesLinks
        case .overloaded: return hasStatus(429...599)
        case .checksumMismatch:
            return site.didSendDigest
                || job.checksum != nil && (site.contents.count > 1 || !site.used.isEmpty || !self.hands.isEmpty)
        case .unknown, .tlsHandshake, .certificateExpired, .certificateWrongHost, .certificateUnknownAuthority,
            .certificate, .badOption, .tooLarge, .robotsDenied, .addressDenied:
            return false
        }
    }

    private func isSlow(_ site: Site) -> Bool {
        !site.used.isDisjoint(with: [.silent, .stalls, .drips, .hesitates]) || !self.network.outages.isEmpty
            || site.rate < 10_000 || self.wishes.configuration.rateLimit != nil
    }

    // MARK: The end

    /// Judges the whole world, after the last piece of work.
    func finish() {
        if self.scheduler.steps >= Self.mostSteps {
            self.result.fail("the world does not end: \(self.command?.unfinished ?? "no process")")
        } else if let command {
            self.result.fail("nothing happens any more, and the command has not ended: \(command.unfinished)")
        }
        if let command { self.dispose(command) }
        if let twin { self.dispose(twin) }
        self.judgeFiles()
        self.judgeHonest()
        self.result.count("worlds")
        self.result.count("runs", self.runs)
        self.result.count("requests", self.network.requests)
        self.result.count("kills", self.killed)
        self.result.count("power losses", self.powerLosses)
    }

    /// From honest sites everything arrives, and hardly anything twice.
    private func judgeHonest() {
        guard self.sites.allSatisfy(\.isHonest), !self.wishes.mayFail, !self.faults.hasFaults, self.hands.isEmpty,
            self.twinDelay == nil, self.wasCancelled.isEmpty, self.network.outages.isEmpty,
            self.network.shortageOneIn == 0
        else { return }
        for (job, ending) in self.last.enumerated() where self.sites[job].quirks.isEmpty {
            if !(ending?.isDone ?? false), self.runs < Self.mostRuns {
                self.result.fail("job \(job) of an honest site did not arrive")
            }
        }
        self.result.count("honest worlds")
        for site in self.sites where site.quirks.isEmpty {
            self.result.count("honest bytes", Int(site.bytesSent))
            self.result.count("honest size", site.size)
            let isSmall = site.size <= 256 << 10
            // Each piece is requested in one: nothing remains of it for another request.
            let isCalm = self.killed == 0 && site.cuts == 0 && self.actions.isEmpty && self.pauseAtFailure == nil
            if isCalm, site.shortestRange < 1024, !isSmall {
                self.result.fail("\(site.shortestRange) bytes were requested alone")
            }
            // Up to 256 KiB a kill loses everything, because there is no journal, and a cut what is not worth another
            // request; a power loss what was not synced.
            let lost = Int64(isSmall ? (self.killed + site.cuts) * site.size : self.powerLosses * site.size)
            // A kill before a write loses what was being written by each connection.
            let pieces = Int64(self.killed * self.network.piece * self.wishes.mostConnections)
            let cuts = Int64(isSmall ? 0 : site.cuts) * 1024 + (isSmall ? 0 : pieces)
            // A connection that gives up a part of its piece has some of it on the way.
            let splits = Int64(4 * self.network.piece * max(self.wishes.mostConnections - 1, site.urls.count - 1))
            // Bytes continued from another mirror, or without a strong validator, are compared first.
            // Each run compares a finished file that a loss of power has damaged once more, until the user moves it away.
            let refusals = self.hasTornFinal ? self.endings.count { $0.isRefusedResumption } : 0
            // So is one that was finished before a kill, and once more for each cut.
            let compared = self.killed + refusals + site.cutComparisons
            let existing =
                Int64(self.wishes.options.ifExists == .resume ? compared << 18 : 0)
                + Int64(refusals * self.network.piece)
            // A file of a hidden length that was complete before a kill is not known to be so; one that has got its name
            // is overwritten, or the next one gets another name, also where no attribute says of which version it is; one
            // that was cancelled begins again.
            let hasNewName =
                [.overwrite, .rename].contains(self.wishes.options.ifExists) || !self.disk.features.attributes
            let isRepeated = site.hidesLength || hasNewName || !self.deletable.isEmpty
            let again = Int64(isRepeated ? self.killed * site.size : 0)
            let ranges = site.shortensRanges ? site.size / Int(site.cap - (1 << 16)) + 1 : 0
            // By a clock that is behind, Last-Modified is in the future, and identifies nothing.
            let isCompared = site.urls.count > 1 || self.clock.steps.contains { $0.change < 0 }
            let comparisons =
                existing + again + Int64(isCompared ? (site.cuts + site.urls.count + self.killed + ranges) << 16 : 0)
            let allowed =
                Int64(Double(site.size) * 1.05) + lost + cuts + splits + comparisons + Int64(self.network.piece)
            if site.bytesSent > allowed {
                self.result.fail("\(site.bytesSent) bytes were sent for \(site.size), and \(allowed) are allowed")
            }
        }
    }
}
