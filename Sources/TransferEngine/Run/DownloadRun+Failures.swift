internal import Synchronization
internal import TransferCore

/// Handles failed requests: other connections, other sources, fresh links, retries.
extension DownloadRun {
    func exchangeFailed(_ attempt: Attempt, _ error: TransportError) {
        // The next step is decided already; only the rest of an unwanted body is missing.
        if let next = self.state.withLock({ _ in attempt.isOver ? nil : attempt.afterDrain }) {
            return self.afterDrain(attempt, next)
        }
        self.attemptFailed(attempt, Self.failure(error))
    }

    func attemptFailed(_ attempt: Attempt, _ failure: TransferFailure) {
        enum Next {
            case nothing
            case fill
            case commit
            case end(Outcome)
        }
        var failure = failure
        // A non-idempotent request may have been processed: it must not be repeated (RFC 9110 §9.2.2).
        if attempt.isConnected, !Transfer.isIdempotent(self.method(of: attempt)) { failure.isRetryable = false }
        if self.refresh(attempt, after: failure) { return }
        let next: Next = self.state.withLock { [failure] state in
            guard !attempt.isOver, state.phase != .ending else { return .nothing }
            let gotNothing = attempt.bytes == 0
            self.retire(&state, attempt)
            // Another connection delivered the last byte, and the commit is running.
            if state.phase == .committing { return .nothing }
            if state.phase == .active, state.planner?.isComplete ?? false { return .commit }
            if let completed = state.planner?.completed {
                if self.transfer.memory.withLock({ $0.rangesProven }) { state.kept = max(state.kept, completed) }
            }
            self.reclaimPieces(&state)
            let others = state.attempts.count
            if attempt.isPinned, let status = failure.status, [401, 403, 404, 410].contains(status) {
                // The redirect target has expired: request the original URL again.
                state.pinned[attempt.source] = nil
                if state.planner != nil { return .fill }
                return .end(.retry(Self.again(failure)))
            }
            if attempt.isAdditional, attempt.isRefused(failure) { self.engine.connectionRefused(attempt.origin) }
            if self.request.sources.count > 1 {
                let remaining = self.transfer.memory.withLock { memory in
                    memory.badSources.insert(attempt.source)
                    return self.request.sources.count - memory.badSources.count
                }
                if remaining > 0 {
                    // A write to the sink may still be pending: the stream's position is certain only in the next run.
                    if case .stream = state.file { return .end(.retry(Self.again(failure))) }
                    guard state.planner != nil, !state.awaitsFirst else { return .end(.retry(Self.again(failure))) }
                    if others == 0, attempt.isComparing { return .end(.retry(Self.again(failure))) }
                    return .fill
                }
                // No source is left: retry all of them, within the budget.
                self.transfer.memory.withLock { $0.badSources = [] }
            }
            if others > 0 {
                if gotNothing || !failure.isRetryable {
                    // The server refused an additional connection: the others continue.
                    state.advisor.refused(having: others)
                    state.fixedConnections = state.fixedConnections.map { min($0, others) }
                }
                return .fill
            }
            // The refusal of an additional connection is not a failure of the file: an earlier one received its bytes.
            if attempt.isAdditional, attempt.isRefused(failure) { return .end(.retry(Self.again(failure))) }
            let held = state.planner?.completed ?? 0
            let ended = held > 0 ? Self.explainingExpiry(failure) : failure
            return .end(ended.isRetryable ? .retry(ended) : .failed(ended))
        }
        switch next {
        case .nothing: break
        case .commit: self.commit()
        case .fill:
            self.note("\(attempt.url.redacted): \(failure.message); the others continue")
            self.fill(preferring: attempt.lane)
        case .end(let outcome): self.end(outcome, except: attempt)
        }
    }

    /// Adds the most frequent cause of a refusal while bytes are held: an expired link.
    private static func explainingExpiry(_ failure: TransferFailure) -> TransferFailure {
        guard let status = failure.status, [401, 403, 410].contains(status) else { return failure }
        var failure = failure
        failure.message += "; the link may have expired, and what was received is kept"
        failure.remedy = "give a new link under the same name to continue"
        failure.setting = nil
        return failure
    }

    /// Requests a fresh URL from the caller's refresher if the link may have expired.
    ///
    /// - Returns: Whether the failure is handled.
    private func refresh(_ attempt: Attempt, after failure: TransferFailure) -> Bool {
        guard let refresher = self.options.refresher, let status = failure.status, [401, 403, 410].contains(status),
            self.state.withLock({ !attempt.isOver && $0.attempts.count == 1 && $0.phase != .ending })
        else { return false }
        let mayRefresh = self.transfer.memory.withLock { memory in
            memory.refreshes += 1
            return memory.refreshes <= Self.refreshLimit
        }
        guard mayRefresh else { return false }
        self.state.withLock { _ in attempt.isHeld = true }
        let url = attempt.url
        self.line.run {
            do throws(TransferFailure) {
                guard let fresh = try refresher.freshURL(for: url, status: status) else {
                    return self.end(.failed(Self.explainingExpiry(failure)), except: nil)
                }
                self.note("the link was refused (\(status)): continuing from \(fresh.redacted)")
                self.transfer.memory.withLock { memory in
                    memory.freshLinks[attempt.source] = fresh
                    memory.provenSources.remove(attempt.source)
                }
                self.state.withLock { $0.pinned[attempt.source] = nil }
                self.end(.retry(Self.again(failure)), except: nil)
            } catch {
                var failure = error
                if self.state.withLock({ $0.planner?.completed ?? 0 }) > 0 {
                    failure.message += "; what was received is kept"
                }
                self.end(.failed(failure), except: nil)
            }
        }
        return true
    }

    private static let refreshLimit = 3

    /// The same failure, marked as retryable.
    private static func again(_ failure: TransferFailure) -> TransferFailure {
        var failure = failure
        failure.isRetryable = true
        return failure
    }
}

extension Attempt {
    /// Whether the server, or the network, refused the connection rather than the file.
    func isRefused(_ failure: TransferFailure) -> Bool {
        if let status = failure.status { return [403, 408, 429, 500, 502, 503, 504, 509].contains(status) }
        return failure.isRetryable
    }
}
