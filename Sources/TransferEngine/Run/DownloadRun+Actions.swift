// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Synchronization
internal import TransferCore

/// Performing the machine's actions.
extension DownloadRun {
    /// Performs actions in order, and those that result from an action before the next one.
    ///
    /// A loop, because actions can lead to others without an end that the stack has room for.
    ///
    /// - Parameter actions: The actions; empty on return.
    func perform(_ actions: inout [DownloadAction]) {
        var next = 0
        while next < actions.count {
            // Moved out, not copied.
            var action = DownloadAction.started
            swap(&action, &actions[next])
            next += 1
            var following = self.perform(consume action)
            if following.isEmpty { continue }
            if next < actions.count { following += actions[next...] }
            (actions, following, next) = (following, actions, 0)
            following.removeAll(keepingCapacity: true)
            self.state.withLock { $0.machine.reuse(&following) }
        }
        actions.removeAll(keepingCapacity: true)
    }

    private func perform(_ action: consuming DownloadAction) -> [DownloadAction] {
        switch consume action {
        case .send(let plan): self.send(plan)
        case .close(let number):
            if let exchange = self.remove(number) {
                self.transport.execute(onLane: exchange.lane) { exchange.close() }
            }
        case .resume(let number): self.onEventLoop(number) { $0.applyReading() }
        case .endPause(let number): self.onEventLoop(number) { self.endPause($0) }
        case .deferred(let number, let step):
            self.onEventLoop(number) { exchange in
                self.handle { $0.deferredStep(step, number, self.now) }
                exchange.applyReading()
            }
        case .ask(let question, let number): return self.ask(question, number)
        case .refreshLink(let url, let status, let number): self.refreshLink(url, status, number)
        case .release(let origin): self.host.releaseConnection(origin, of: self.transfer.id)
        case .refused(let origin): self.host.connectionRefused(origin)
        case .waitForSlot(let origin, let number): self.waitForSlot(origin, number)
        case .openConnections(let lane, let avoided): self.openConnections(lane, avoided)
        case .slotsReleased(let lane): self.host.connectionsReleased(lane: lane)
        case .survey(let target): return self.survey(target)
        case .reserveName(let directory, let base):
            let target = self.host.takeName(directory: directory, base: base)
            return self.report { $0.nameReserved(target) }
        case .reserveNextName(let directory, let base):
            let target = self.host.takeNextName(directory: directory, base: base)
            return self.report { $0.nameReserved(target) }
        case .publishTarget(let target): self.transfer.memory.withLock { $0.target = target }
        case .compareDigests(let target, let expected): self.compareDigests(target, expected)
        case .openPartial(let target, let claiming): self.openPartial(target, claiming: claiming)
        case .createSmall(let target, let number): return self.createSmall(target, number)
        case .createPartial(let plan): self.createPartial(plan)
        case .copyExisting(let target, let identity, let facts): self.copyExisting(target, identity, facts)
        case .beginExtent(let number, let offset): self.beginExtent(number, at: offset)
        case .recordFacts: self.recordFacts()
        case .recordDifference(let facts): self.recordDifference(facts)
        case .discardPartial(let target): try? self.store.discardPartial(target)
        case .deliverLeftover(let number): self.onEventLoop(number) { self.deliverLeftover($0) }
        case .checkpoint: self.checkpoint()
        case .keepPartial: self.keepPartial()
        case .expectStreamTail(let number, let count):
            let tail = self.transfer.memory.withLock { $0.streamTail.bytes.suffix(Int(count)) }
            self.onEventLoop(number) { $0.expected = Array(tail) }
        case .beginStreamDigests(let algorithms):
            let digests = self.store.beginDigests(algorithms)
            self.transfer.memory.withLock { $0.streamDigests = digests }
        case .beginPartDigests(let number, let algorithms):
            let digests = self.store.beginDigests(algorithms)
            self.onEventLoop(number) { $0.digests = digests }
        case .finishPartDigests(let number): self.finishPartDigests(number)
        case .finishStreamDigests:
            let digests = self.transfer.memory.withLock { $0.streamDigests }?.digests() ?? [:]
            return self.report { $0.streamDigested(digests, self.now) }
        case .commitSmall(let target, let options): return self.commitSmall(target, options)
        case .commitPartial(let target, let length, let options): self.commitPartial(target, length, options)
        case .end(let ending): self.end(ending)
        case .started:
            if self.events.wants(.states) {
                let path = self.state.withLock { $0.machine.path }
                self.events.emit(self.transfer.event(.started(path: path)))
            }
        case .respond(let head, let expected):
            if self.events.wants(.responses) { self.respond(head, expected) }
        case .progress(let progress): self.events.emit(self.transfer.event(.progress(progress)))
        case .note(let text):
            if self.events.wants(.notes) { self.events.emit(self.transfer.event(.note(text))) }
        case .warn(let text):
            if self.events.wants(.states) { self.events.emit(self.transfer.event(.warning(text))) }
        }
        return []
    }

    private func respond(_ head: ResponseHead, _ expected: Int64?) {
        let (path, resumedFrom) = self.state.withLock { ($0.machine.path, $0.machine.resumedFrom) }
        let response = ReceivedResponse(
            status: head.status,
            fields: head.fields,
            expected: expected,
            path: path,
            resumedFrom: resumedFrom
        )
        self.events.emit(self.transfer.event(.response(response)))
    }

    var file: RunFile { self.state.withLock { $0.file } }

    private func exchange(_ number: Int) -> DownloadExchange? {
        self.state.withLock { state in state.exchanges.first { $0.number == number } }
    }

    private func remove(_ number: Int) -> DownloadExchange? {
        self.state.withLock { state in
            state.exchanges.firstIndex { $0.number == number }.map { state.exchanges.remove(at: $0) }
        }
    }

    /// Runs `work` on a request's event loop: immediately if the caller is on it.
    func onEventLoop(_ number: Int, _ work: @escaping @Sendable (DownloadExchange) -> Void) {
        guard let exchange = self.exchange(number) else { return }
        self.transport.execute(onLane: exchange.lane) { work(exchange) }
    }

    func failed(_ error: StorageError) { self.handle { $0.failed(TransferFailure(error)) } }

    // MARK: Requests

    /// Reads the held bytes of the overlap, then starts the request.
    private func send(_ plan: FetchPlan) {
        let exchange = DownloadExchange(self, plan)
        let file: RunFile? = self.state.withLock { state in
            // The run may have ended after the machine created the request.
            guard state.machine.contains(plan.number) else { return nil }
            state.exchanges.append(exchange)
            return state.file
        }
        guard let file else { return }
        let isRepeatable = self.shared.options.mayBeRepeated || RequestMethod.isIdempotent(plan.method)
        if let note = self.download.request.noteUnrepeatable, !isRepeatable {
            self.state.withLock { $0.isNoted = true }
            self.line.run {
                do throws(StorageError) {
                    try note()
                } catch {
                    return self.failed(error)
                }
                self.transport.execute(onLane: plan.lane) { self.start(exchange) }
            }
        } else if plan.waitsForClosing || (plan.overlap != nil && self.readsOverlapFromDisk) {
            self.line.run {
                do throws(StorageError) {
                    if let overlap = plan.overlap { exchange.expected = try self.read(overlap, from: file) }
                } catch {
                    return self.failed(error)
                }
                self.transport.execute(onLane: plan.lane) { self.start(exchange) }
            }
        } else {
            if let overlap = plan.overlap { exchange.expected = self.streamTail(overlap) }
            self.transport.execute(onLane: plan.lane) { self.start(exchange) }
        }
    }

    private var readsOverlapFromDisk: Bool {
        if case .file = self.shared.options.destination {
            true
        } else {
            self.transfer.memory.withLock { $0.download.diversion != nil }
        }
    }

    private func read(_ overlap: ByteRange, from file: RunFile) throws(StorageError) -> [UInt8] {
        switch file {
        case .partial(let partial): return try partial.read(overlap)
        case .none where self.readsOverlapFromDisk:
            return try self.store.readExisting(self.state.withLock { $0.machine.target }, overlap)
        case .none, .small: return self.streamTail(overlap)
        }
    }

    private func streamTail(_ overlap: ByteRange) -> [UInt8] {
        let count = Int(overlap.upperBound - overlap.lowerBound)
        return Array(self.transfer.memory.withLock { $0.streamTail.bytes.suffix(count) })
    }

    private func start(_ exchange: DownloadExchange) {
        let (isWanted, count) = self.state.withLock { state in
            (state.machine.contains(exchange.number), state.machine.requestCount)
        }
        guard isWanted, !exchange.isClosed else { return }
        guard self.host.pacesRequests, !exchange.isPermitted else {
            return exchange.start(self.exchangeRequest(exchange.plan, count), on: self.transport)
        }
        let again: @Sendable () -> Void = { self.transport.execute(onLane: exchange.lane) { self.start(exchange) } }
        switch self.host.permit(exchange.plan.flow.url, for: self.transfer.id, lane: exchange.lane, again) {
        case .granted: exchange.start(self.exchangeRequest(exchange.plan, count), on: self.transport)
        case .delayed(let delay):
            exchange.isPermitted = true
            self.time.schedule(after: delay, again)
        case .later: break
        case .refused(let error): self.exchangeFailed(exchange, error)
        }
    }

    private func exchangeRequest(_ plan: FetchPlan, _ count: Int) -> ExchangeRequest {
        ExchangeRequest(
            method: plan.method,
            url: plan.flow.url,
            fields: self.download.fields(for: plan, of: self.transfer.origin) { self.requestFacts(plan) },
            body: plan.sendsContent ? self.download.request.body : nil,
            connectTimeout: self.shared.options.connectTimeout.inNanoseconds,
            readQuantum: self.host.readQuantum(for: self.transfer, attempts: count),
            cachePolicy: self.download.request.cachePolicy,
            addresses: self.shared.options.addresses
        )
    }

    func requestFacts(_ plan: FetchPlan) -> RequestFacts {
        var facts = RequestFacts(
            id: self.transfer.id,
            userInfo: self.download.request.userInfo,
            method: plan.method,
            flow: plan.flow,
            source: self.download.request.sources[plan.source]
        )
        facts.isFirstSource = plan.source == 0
        return facts
    }

    private func ask(_ question: PolicyQuestion, _ number: Int) -> [DownloadAction] {
        guard let exchange = self.exchange(number) else {
            return self.report { $0.policyDecided(.proceed, number, self.now) }
        }
        let plan = exchange.plan
        let decision = self.shared.options.decide(
            question,
            about: self.requestFacts(plan),
            policy: self.policy,
            own: plan.isOwn(self.transfer.origin) ? self.download.request.fields : nil
        ) { decision in
            self.onEventLoop(number) { _ in self.handle { $0.policyDecided(decision, number, self.now) } }
        }
        guard let decision else { return [] }
        return self.report { $0.policyDecided(decision, number, self.now) }
    }

    private func refreshLink(_ url: HTTPURL, _ status: Int, _ number: Int) {
        guard let refresher = self.shared.options.refresher else { return }
        self.line.run {
            do throws(TransferFailure) {
                let fresh = try refresher.freshURL(for: url, status: status)
                self.handle { $0.linkRefreshed(fresh, number) }
            } catch {
                self.handle { $0.linkRefreshFailed(error, number) }
            }
        }
    }

    // MARK: Connection slots

    private func waitForSlot(_ origin: Origin, _ number: Int) {
        self.host.whenConnectionIsFree(origin, for: self.transfer.id) {
            self.transport.execute(onLane: self.lane) {
                self.handle { $0.slotFreed(origin, for: number, self.now) }
            }
        }
    }

    private func openConnections(_ lane: Int, _ avoided: Int?) {
        while let origin = self.state.withLock({ $0.machine.nextConnection(avoiding: avoided) }) {
            guard self.host.acquireConnection(origin, for: self.transfer.id) else { return }
            self.handle { $0.slotAcquired(origin, lane: lane, avoiding: avoided, self.now) }
        }
    }

    // MARK: Ending

    /// Closes all exchanges on their event loops, so that no callback runs later, then the file.
    private func end(_ ending: DownloadEnding) {
        if let kept = ending.kept, self.events.wants(.progress) {
            self.events.emit(self.transfer.event(.progress(kept)))
        }
        let exchanges = self.state.withLock { state in
            defer { state.exchanges = [] }
            return state.exchanges
        }
        guard !exchanges.isEmpty else { return self.closeFile(ending) }
        let closing = CallOnce(after: exchanges.count) { self.closeFile(ending) }
        for exchange in exchanges {
            self.transport.execute(onLane: exchange.lane) {
                exchange.close()
                closing.now()
            }
        }
    }

    private func closeFile(_ ending: DownloadEnding) {
        // A running operation may be creating or writing the file; it must end first.
        let withdraw = self.withdrawal(of: ending.outcome)
        if self.isLineBusy || self.blocks(ending.file) || withdraw != nil {
            self.line.run {
                self.closeFileNow(ending)
                withdraw?()
                self.ended(ending.outcome)
            }
        } else {
            self.ended(ending.outcome)
        }
    }

    /// Removes the note of a request that must not be repeated, if it was not sent.
    private func withdrawal(of outcome: RunOutcome) -> (@Sendable () -> Void)? {
        let isUnneeded = self.state.withLock { $0.isNoted && !$0.machine.hasSentUnrepeatable }
        switch outcome {
        case .finished, .failed, .cancelled(keeping: false): return nil
        case .retry, .paused, .stopped, .cancelled: return isUnneeded ? self.download.request.withdrawNote : nil
        }
    }

    /// Whether this way of closing the file blocks.
    private func blocks(_ ending: DownloadEnding.FileEnding) -> Bool {
        switch ending {
        case .none: false
        case .discardEarlier: true
        case .keep, .discard, .setAside, .keepSmall: if case .none = self.file { false } else { true }
        }
    }

    private func closeFileNow(_ ending: DownloadEnding) {
        var ending = ending
        let file: RunFile = self.state.withLock { state in
            defer { state.file = .none }
            if case .keep = ending.file { ending.file = state.machine.endingOfWrongBytes ?? .keep }
            return state.file
        }
        file.close(ending, in: self.store)
    }

    private func ended(_ outcome: RunOutcome) {
        switch outcome {
        case .finished, .failed, .cancelled: break
        case .retry, .paused, .stopped:
            let history = self.state.withLock { $0.machine.history }
            self.transfer.memory.withLock { $0.download = history }
        }
        let last: RunOutcome? = self.state.withLock { state in
            state.outcome = outcome
            return state.takeOutcome()
        }
        if let last { self.host.runEnded(self, last) }
    }
}
