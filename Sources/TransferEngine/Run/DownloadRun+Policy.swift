internal import Synchronization
internal import TransferCore

/// Calls the transfer's policy and applies its decisions.
extension DownloadRun {
    /// The method to use after a redirect (RFC 9110 §15.4: a POST becomes a GET at 301, 302 and 303).
    func method(of attempt: Attempt, redirectedBy status: Int) -> String {
        let method = attempt.isRewritten ? "GET" : self.request.method
        switch status {
        case 303: return method == "HEAD" ? method : "GET"
        case 301, 302: return method == "POST" ? "GET" : method
        default: return method
        }
    }

    var policy: (any TransferPolicy)? { self.request.policy }

    func requestFacts(_ attempt: Attempt) -> RequestFacts {
        RequestFacts(
            id: self.transfer.id,
            userInfo: self.request.userInfo,
            method: self.method(of: attempt),
            url: attempt.url,
            source: self.request.sources[attempt.source],
            refusals: attempt.refusals
        )
    }

    /// Requests a decision about the first acceptable response, once for each transfer, then takes the response.
    func decide(
        _ attempt: Attempt,
        _ head: ResponseHead,
        _ length: Int64?,
        then take: @escaping @Sendable () -> ReadDecision
    ) -> ReadDecision {
        guard self.policy != nil, !self.transfer.memory.withLock({ $0.isResponseDecided }) else { return take() }
        return self.ask(.response(head, length: length), attempt) { decision in
            // Set only now: a decision that arrives after the end of the run is ignored and requested again.
            self.transfer.memory.withLock { $0.isResponseDecided = true }
            switch decision {
            case .proceed, .refuse, .repeat: break
            case .divert(let diversion): self.divert(to: diversion)
            case .cancel:
                self.end(.cancelled(keeping: false), except: attempt)
                return .close
            }
            return take()
        }
    }

    /// Redirects a body from memory to a file.
    private func divert(to diversion: Diversion) {
        let base = diversion.name ?? self.transfer.baseName
        let target = self.engine.takeName(directory: diversion.directory, base: base)
        let isDiverted = self.state.withLock { state in
            guard case .stream = state.file, state.phase == .active else { return false }
            state.file = .none
            state.phase = .opening
            state.planner = nil
            state.target = target
            state.baseName = base
            state.isNamedByUser = diversion.name != nil
            state.ifExists = diversion.ifExists
            state.isDiverted = true
            return true
        }
        guard isDiverted else { return }
        self.transfer.memory.withLock { memory in
            memory.diversion = diversion
            memory.target = target
        }
    }
}
