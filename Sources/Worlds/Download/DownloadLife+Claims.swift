// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// What is reported of a finished download, and the limits that the user set, are judged here.
extension DownloadLife {
    /// Judges what a completion says of a file that is one version.
    func judgeClaims(_ completion: TransferCompletion, _ bytes: [UInt8], of job: DownloadWishes.Job) {
        if let digest = completion.digest, digest != SimulatedContent(bytes).sha256 {
            self.result.fail("\(completion.path) has another digest than the reported one")
        }
        if self.wishes.options.reportDigest != nil, completion.digest == nil, !completion.skipped {
            self.result.fail("\(completion.path) was fetched, and its digest is not reported")
        }
        if let command, completion.received > command.received, self.twin == nil {
            self.result.fail("\(completion.received) bytes are said to be received, and \(command.received) were")
        }
        if completion.verifiedLength, !completion.skipped, job.site.quirks.isEmpty, job.site.contents.count == 1,
            bytes.count != job.site.size
        {
            self.result.fail("\(completion.path) has \(bytes.count) of \(job.site.size) bytes, and is said to be whole")
        }
    }

    /// A liar's file is mixed: the report does not say that one response or a digest shows that it is not.
    func judgeEvidence(_ completion: TransferCompletion) {
        guard !completion.skipped, let consistency = completion.consistency,
            [.singleResponse, .digest].contains(consistency)
        else { return self.result.count("mixed by a liar") }
        self.result.fail("\(completion.path) is mixed, and reported as \(consistency.rawValue)")
    }

    /// Whether every retry counts: nothing in this world is an outage, a shortage or a wait for another process.
    var hasOnlyCountedRetries: Bool {
        self.twinDelay == nil && !self.faults.hasFaults && self.network.outages.isEmpty
            && self.network.shortageOneIn == 0 && self.network.shortage.isEmpty && self.actions.isEmpty
            && self.pauseAtFailure == nil
            && self.sites.count < 3 && self.sharedHost == nil
    }

    /// A skipped file is the one that the site has now, unless nothing shows that it is an earlier one.
    ///
    /// - Parameters:
    ///   - completion: The end.
    ///   - bytes: The content of the file.
    ///   - site: Its site, whose next version is served since this run started.
    func judgeCurrent(_ completion: TransferCompletion, _ bytes: [UInt8], _ site: Site) {
        // A file that is to be resumed is compared at its end: versions that differ in their heads are not told apart.
        let rule = self.wishes.options.ifExists
        guard site.kind == .again, case .steps = site.schedule, site.steps > 0, rule != .skip, rule != .resume,
            self.hands.isEmpty, self.twinDelay == nil, site.quirks.isEmpty
        else { return }
        let current = site.steps % site.contents.count
        guard !site.contents[current].equals(bytes) else { return self.result.count("current") }
        // A digest decides without a request.
        if let job = self.wishes.jobs.first(where: { $0.site === site }), let wanted = job.checksum, wanted != current {
            return
        }
        guard completion.skipped else {
            return self.result.fail("\(completion.path) was fetched, and is an earlier version")
        }
        let versions = Set(site.contents.indices.filter { site.contents[$0].equals(bytes) })
        // Without a record there are only the length and the time.
        let hasRecord = self.disk.features.attributes && self.killed == 0 && !self.faults.hasFaults
        let isShown = site.shown.contains { now in
            now.version == current
                && site.shown.contains { old in
                    guard versions.contains(old.version) else { return false }
                    let isSameTime = now.modified != nil && now.modified == old.modified
                    // The file has the time of its download, which is later than that of any version.
                    let isUnrecorded = old.tag == nil || !hasRecord
                    let isLater = isUnrecorded && old.modified == nil && now.modified != nil
                    return now.isOneVersion(with: old) || !hasRecord && isSameTime || isLater
                }
        }
        if isShown { return self.result.count("taken for current by a liar's validators") }
        self.result.fail("\(completion.path) is an earlier version, and is said to be current")
    }

    /// A site asked to be asked again after some seconds.
    func asked(_ seconds: Int64, _ request: ServerRequest) {
        guard self.sites.count == 1, self.wishes.mostConnections == 1, self.twinDelay == nil, seconds > 0,
            self.sites[0].hosts.count == 1, seconds <= 30
        else { return }
        self.notBefore = (self.scheduler.now + seconds * 1_000_000_000, request.process)
    }

    /// A program has decided about a retry: after its delay, or not at all.
    func decided(_ process: Int, _ delay: Int64?) {
        self.notBefore = nil
        guard let delay, self.sites.count == 1, self.wishes.mostConnections == 1, self.twinDelay == nil,
            self.network.outages.isEmpty
        else { return }
        self.notBefore = (self.scheduler.now + delay, process)
    }

    /// Judges the time between two requests of one process to a host.
    func judgeInterval(_ request: ServerRequest) {
        let interval = self.wishes.configuration.politeness.hostInterval
        guard interval > 0, self.twinDelay == nil, !self.faults.hasFaults else { return }
        let last = self.lastRequests.updateValue((self.scheduler.now, request.process), forKey: request.url.host)
        // A request is permitted when its transfer starts, and sent after what that needs of the disk and the network.
        let margin = 2 * self.network.roundTrip + 60_000_000
        guard let last, last.process == request.process else { return }
        let between = self.scheduler.now - last.time
        guard between < interval - margin else { return }
        self.result.fail(
            "two requests to \(request.url.host) are \(between / 1_000_000) ms apart, not \(interval / 1_000_000)"
        )
    }

    /// Judges the number of requests that a host answers at once.
    func judgeLimits(_ request: ServerRequest) {
        // The requests of a process that was killed end when the server finds out; a limit that is lowered ends none.
        // After an outage, a host is probed and others continue.
        guard self.killed == 0, self.twin == nil, self.actions.isEmpty, self.network.outages.isEmpty else { return }
        let active = self.network.others(of: request.url.host)
        if let limit = self.wishes.configuration.connectionsPerHost, active > limit {
            self.result.fail("\(request.url.host) answers \(active) requests at once, and the limit is \(limit)")
        }
        // A file with several servers has a connection to each; a run whose host is silent lends its place.
        guard self.sites.allSatisfy({ $0.urls.count == 1 }), !self.network.hasBeenSilent() else { return }
        let all = self.sites.flatMap(\.hosts).reduce(into: Set<String>()) { $0.insert($1) }
        let sum = all.reduce(0) { $0 + self.network.others(of: $1) }
        let most = self.wishes.configuration.concurrentTransfers * self.wishes.mostConnections
        if sum > most { self.result.fail("\(sum) requests are answered at once, and the limits allow \(most)") }
    }

    /// Which version each part of a file is of.
    static func parts(_ bytes: [UInt8], _ site: Site) -> String {
        var parts: [(version: String, start: Int)] = []
        let step = 512
        for start in stride(from: 0, to: bytes.count, by: step) {
            let block = bytes[start..<min(start + step, bytes.count)]
            let version =
                site.contents
                .firstIndex { content in
                    content.bytes.count >= block.endIndex && content.bytes[block.indices] == block
                }
                .map { "version \($0)" } ?? "none"
            if parts.last?.version != version { parts.append((version, start)) }
        }
        return parts.map { "\($0.version) from \($0.start)" }.joined(separator: ", ")
    }
}
