// SPDX-License-Identifier: Apache-2.0
/// Handles failed requests: other connections, other sources, fresh links, retries.
extension DownloadMachine {
    /// The exchange failed.
    package mutating func requestFailed(
        _ failure: TransferFailure,
        _ number: DownloadAction.RequestNumber,
        _ now: Int64
    ) -> [DownloadAction] {
        guard let index = self.index(of: number) else { return [] }
        // The next step is already decided; only the rest of an unwanted body is missing.
        if !self.endDraining(index, now) { self.fail(index, failure, now) }
        return self.takeActions()
    }

    mutating func fail(_ index: Int, _ failure: TransferFailure, _ now: Int64) {
        let request = self.requests[index]
        var failure = failure
        if failure.evidence?.cause == .errors { failure.evidence?.peer = request.origin }
        // A non-idempotent request may have been processed: it must not be repeated (RFC 9110 §9.2.2), also if it has led
        // to another one.
        if self.hasSentUnrepeatable { failure.isRetryable = false }
        // Another connection has delivered the last byte.
        if self.isCommitting { return self.retire(index) }
        if self.refreshLink(index, after: failure) { return }
        self.retire(index)
        let lane = request.lane
        var held: Int64 = 0
        var isSegmented = false
        if case .fetching(let fetching) = self.phase {
            if fetching.planner.isComplete {
                if self.mayCommit(fetching) { return self.commit(now) }
                return self.end(failure.isRetryable ? .retry(failure) : .failed(failure))
            }
            held = fetching.planner.completed
            isSegmented = !fetching.isStream
            if self.history.ranges.isProven { self.kept = max(self.kept, held) }
        }
        self.reclaimPieces()
        let others = self.requests.count
        let isGone = failure.status.map { [401, 403, 404, 410].contains($0) } ?? false
        if request.isPinned, isGone {
            // The redirect target has expired: request the original URL again.
            self.pinned[request.source] = nil
            if isSegmented { return self.continueElsewhere(request, failure, lane, now) }
            return self.end(.retry(Self.again(failure)))
        }
        if request.isAdditional, FetchRequest.isRefused(failure) { self.emit(.refused(request.origin)) }
        if self.terms.sources.count > 1 {
            self.history.sources.bad.insert(request.source)
            if self.history.sources.bad.count < self.terms.sources.count {
                // A write to the sink may still be pending: the stream's position is certain only in the next run.
                guard isSegmented, others > 0 || !request.isComparing else {
                    return self.end(.retry(Self.again(failure)))
                }
                return self.continueElsewhere(request, failure, lane, now)
            }
            // No source is left: retry all of them, within the budget.
            self.history.sources.bad = []
        }
        if others > 0 {
            // The server refused an additional connection: the others continue.
            if request.bytes == 0 || !failure.isRetryable { self.connections.refused(having: others) }
            return self.continueElsewhere(request, failure, lane, now)
        }
        // The refusal of an additional connection is not a failure of the file: an earlier one received its bytes. Nor is that
        // of a redirect's target if another connection has taken bytes: the link may have expired while it waited.
        if request.isAdditional && FetchRequest.isRefused(failure)
            || request.flow.hops > 0 && isGone && self.connections.hasTaken
        {
            return self.end(.retry(Self.again(failure)))
        }
        let ended = held > 0 ? Self.explainingExpiry(failure) : failure
        self.end(ended.isRetryable ? .retry(ended) : .failed(ended))
    }

    private mutating func continueElsewhere(
        _ request: FetchRequest,
        _ failure: TransferFailure,
        _ lane: Int,
        _ now: Int64
    ) {
        self.note("\(request.url.redacted): \(failure.message); the other connections continue")
        self.openConnections(lane: lane, now)
    }

    /// Adds the most frequent cause of a refusal while bytes are held: an expired link.
    private static func explainingExpiry(_ failure: TransferFailure) -> TransferFailure {
        guard let status = failure.status, [401, 403, 410].contains(status) else { return failure }
        var failure = failure
        failure.message += "; the link may have expired; the received data is kept"
        failure.remedy = "use a new link with the same file name to continue"
        failure.setting = nil
        return failure
    }

    /// The same failure, marked as retryable.
    private static func again(_ failure: TransferFailure) -> TransferFailure {
        var failure = failure
        failure.isRetryable = true
        return failure
    }

    // MARK: Expired links

    /// Requests a fresh URL from the caller if the link may have expired.
    ///
    /// - Returns: Whether the failure is handled.
    private mutating func refreshLink(_ index: Int, after failure: TransferFailure) -> Bool {
        guard self.terms.hasRefresher, let status = failure.status, [401, 403, 410].contains(status),
            self.requests.count == 1
        else { return false }
        self.history.sources.refreshes += 1
        guard self.history.sources.refreshes <= Self.refreshLimit else { return false }
        self.requests[index].isPaused = true
        self.requests[index].stage = .refreshing(failure)
        self.emit(.refreshLink(self.requests[index].url, status: status, self.requests[index].number))
        return true
    }

    private static var refreshLimit: Int { 3 }

    /// The caller supplied a fresh URL, or none.
    package mutating func linkRefreshed(
        _ fresh: HTTPURL?,
        _ number: DownloadAction.RequestNumber
    ) -> [DownloadAction] {
        guard let index = self.index(of: number), case .refreshing(let failure) = self.requests[index].stage else {
            return []
        }
        guard let fresh else {
            self.end(.failed(Self.explainingExpiry(failure)))
            return self.takeActions()
        }
        let source = self.requests[index].source
        self.note("the link was refused (\(failure.status ?? 0)): continuing from \(fresh.redacted)")
        self.history.sources.freshLinks[source] = fresh
        self.history.sources.proven.remove(source)
        self.end(.retry(Self.again(failure)))
        return self.takeActions()
    }

    /// The caller could not supply a fresh URL.
    package mutating func linkRefreshFailed(
        _ failure: TransferFailure,
        _ number: DownloadAction.RequestNumber
    ) -> [DownloadAction] {
        guard self.contains(number) else { return [] }
        var failure = failure
        if (self.fetching?.heldBytes ?? 0) > 0 { failure.message += "; the received data is kept" }
        self.end(.failed(failure))
        return self.takeActions()
    }
}
