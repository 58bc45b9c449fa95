internal import Synchronization
internal import TransferCore

/// Making an upload's requests.
extension UploadRun {
    /// How a request came about, beside its step.
    struct Way {
        var url: HTTPURL?
        var hops = 0
        var isRewritten = false
        var refusals = 0
        var isSecond = false
        /// See ``UploadAttempt/refusal``.
        var refusal: TransferFailure?
    }

    /// Makes a request as soon as a connection to its host is free.
    func launch(_ step: UploadStep, _ way: Way = Way()) {
        let url = way.url ?? self.url(of: step)
        if url.scheme == .http, self.request.url.scheme == .https, !self.options.allowsDowngrade {
            let failure = TransferFailure(.redirects, "the upload's resource \(url.redacted) is not encrypted")
            return self.end(.failed(failure), except: nil)
        }
        let origin = url.origin
        let (isEnding, left): (Bool, Origin?) = self.state.withLock { state in
            if state.phase == .ending { return (true, nil) }
            guard let held = state.heldSlot, held != origin else { return (false, nil) }
            state.heldSlot = nil
            return (false, held)
        }
        if isEnding { return }
        if let left { self.engine.releaseConnection(left, of: self.transfer.id) }
        if self.state.withLock({ $0.heldSlot == origin }) { return self.prepare(step, url, way) }
        self.engine.whenConnectionIsFree(origin, for: self.transfer.id) {
            let isLive = self.state.withLock { state in
                guard state.phase != .ending else { return false }
                state.heldSlot = origin
                return true
            }
            guard isLive else { return self.engine.releaseConnection(origin, of: self.transfer.id) }
            self.prepare(step, url, way)
        }
    }

    private func url(of step: UploadStep) -> HTTPURL {
        switch step.place {
        case .endpoint: self.request.url
        case .collection: self.request.collection ?? self.request.url
        case .resource(let url): url
        }
    }

    /// Has what is about to happen noted, where it must not happen twice.
    private func prepare(_ step: UploadStep, _ url: HTTPURL, _ way: Way) {
        guard !step.isRepeatable, !way.isRewritten, let note = self.request.noteUnrepeatable else {
            return self.prepareDigest(step, url, way)
        }
        self.line.run {
            do throws(StorageError) {
                try note()
            } catch {
                return self.end(.failed(TransferFailure(error)), except: nil)
            }
            self.prepareDigest(step, url, way)
        }
    }

    /// Computes the digest that goes along, where one does.
    private func prepareDigest(_ step: UploadStep, _ url: HTTPURL, _ way: Way) {
        guard let algorithm = step.checksum, let range = step.content, let parts = self.state.withLock({ $0.parts })
        else {
            return self.engine.transport.execute(onLane: self.lane) { self.start(step, url, way, digest: nil) }
        }
        self.line.run {
            let digest: String?
            do throws(TransferFailure) {
                digest = try self.digest(algorithm, of: range, in: parts)
                    .map { "\(algorithm.rawValue) \(Base64.encode($0))" }
            } catch {
                return self.end(.failed(error), except: nil)
            }
            self.engine.transport.execute(onLane: self.lane) { self.start(step, url, way, digest: digest) }
        }
    }

    /// Computes the digest of a part of the content; blocks.
    func digest(
        _ algorithm: DigestAlgorithm,
        of range: Range<Int64>,
        in parts: SourceParts
    ) throws(TransferFailure) -> [UInt8]? {
        let digests = self.engine.store.beginDigests([algorithm])
        var offset = range.lowerBound
        var buffer = [UInt8](repeating: 0, count: Int(min(1 << 20, range.upperBound - offset)))
        while offset < range.upperBound {
            let next = min(offset + Int64(buffer.count), range.upperBound)
            let count = Int(next - offset)
            var failure: TransferFailure?
            buffer.withUnsafeMutableBytes { space in
                let space = UnsafeMutableRawBufferPointer(rebasing: space[..<count])
                do throws(TransferFailure) { try parts.read(offset..<next, into: space) } catch { failure = error }
                if failure == nil { digests.update(UnsafeRawBufferPointer(space)) }
            }
            if let failure { throw failure }
            offset = next
        }
        return digests.digests()[algorithm]
    }

    /// Starts a request; on the lane.
    private func start(_ step: UploadStep, _ url: HTTPURL, _ way: Way, digest: String?) {
        let attempt: UploadAttempt? = self.state.withLock { state in
            guard state.phase == .active, let slot = state.heldSlot else { return nil }
            state.heldSlot = nil
            let attempt = UploadAttempt(
                self,
                step,
                url: url,
                lane: self.lane,
                slot: slot,
                hops: way.hops,
                isRewritten: way.isRewritten,
                now: self.now
            )
            attempt.refusals = way.refusals
            attempt.isSecond = way.isSecond
            attempt.refusal = way.refusal
            attempt.digest = digest
            state.attempt = attempt
            if let content = step.content, !way.isRewritten {
                state.base = content.lowerBound
                state.underWay = 0
                attempt.stretch = self.stretch(content, state)
            }
            return attempt
        }
        guard let attempt else { return }
        let request = self.exchangeRequest(attempt)
        let exchange = self.engine.transport.start(request, onLane: self.lane, receiver: attempt)
        let isOver = self.state.withLock { _ in
            attempt.exchange = exchange
            return attempt.isOver
        }
        if isOver { exchange.cancel() }
    }

    private func stretch(_ range: Range<Int64>, _ state: State) -> UploadStretch? {
        switch self.request.content {
        // A protocol's request may carry nothing of the stream.
        case .stream(let stream): return range.isEmpty ? nil : UploadStretch(self, lane: self.lane, stream)
        case .parts:
            guard !range.isEmpty, let parts = state.parts else { return nil }
            return UploadStretch(self, lane: self.lane, parts, range)
        }
    }

    private func exchangeRequest(_ attempt: UploadAttempt) -> ExchangeRequest {
        let step = attempt.step
        let describes = step.describesContent && !attempt.isRewritten
        var fields = self.request.fields(of: step, at: attempt.url, describes: describes, self.requestFacts(attempt))
        if let digest = attempt.digest { fields.append("Upload-Checksum", digest) }
        var request = ExchangeRequest(
            method: attempt.method,
            url: attempt.url,
            fields: fields,
            connectTimeout: self.options.connectTimeout.inNanoseconds
        )
        if let stretch = attempt.stretch {
            request.content = stretch
            if self.asksFirst(stretch.length) { request.continueTimeout = self.request.askTimeout.inNanoseconds }
        } else if step.content != nil, !attempt.isRewritten {
            request.body = []
        }
        return request
    }

    private func asksFirst(_ length: Int64?) -> Bool {
        guard let least = self.request.asksFrom, !self.transfer.memory.withLock({ $0.upload.refusesExpect }) else {
            return false
        }
        return length.map { $0 >= least } ?? true
    }

    func requestFacts(_ attempt: UploadAttempt) -> RequestFacts {
        RequestFacts(
            id: self.transfer.id,
            userInfo: self.transfer.userInfo,
            method: attempt.method,
            url: attempt.url,
            source: self.request.url,
            refusals: attempt.refusals
        )
    }

    // MARK: What the content tells

    /// The kernel has taken bytes of a request's content.
    func sent(_ count: Int, of stretch: UploadStretch, _ now: Int64) {
        self.state.withLock { state in
            state.sent += Int64(count)
            guard let attempt = state.attempt, attempt.stretch === stretch else { return }
            state.underWay += Int64(count)
            attempt.lastActivity = now
        }
    }

    /// A request's content waits for its source or for the rate limit, or no more.
    func hold(_ stretch: UploadStretch, _ isHeld: Bool) {
        let now = self.now
        if isHeld, case .stream = self.request.content {
            self.transfer.memory.withLock { $0.upload.isStreamTaken = true }
        }
        self.state.withLock { state in
            guard let attempt = state.attempt, attempt.stretch === stretch else { return }
            attempt.isSourceHeld = isHeld
            attempt.lastActivity = now
        }
    }
}

extension UploadRequest {
    /// The fields of one of its requests.
    ///
    /// - Parameters:
    ///   - step: The request.
    ///   - url: Where it goes; what is the caller's own goes to the origin of ``url`` only.
    ///   - describes: Whether it carries the content itself, with the fields that describe it.
    ///   - facts: What the policy is told of it.
    /// - Returns: The fields, without those of the connection and of the content's framing.
    func fields(of step: UploadStep, at url: HTTPURL, describes: Bool, _ facts: RequestFacts) -> HTTPFields {
        let isOwnOrigin = url.origin == self.url.origin
        var fields = HTTPFields()
        fields.reserve(bytes: 256, lines: 12)
        for (name, value) in self.options.fields + self.fields {
            guard isOwnOrigin || RequestFields.travels(name) else { continue }
            guard describes || !name.lowercased().hasPrefix("content-") else { continue }
            guard !step.fields.contains(where: { $0.name.lowercased() == name.lowercased() }) else { continue }
            fields.append(name, value)
        }
        if describes, !fields.contains("Content-Type") { fields.append("Content-Type", self.type) }
        for field in step.fields { fields.append(field.name, field.value) }
        if let policy {
            for (name, value) in policy.fields(for: facts) where !fields.contains(name) { fields.append(name, value) }
        } else if let user = self.url.user, isOwnOrigin, !fields.contains("Authorization") {
            fields.append("Authorization", "Basic " + Base64.encode("\(user):\(self.url.password ?? "")".utf8))
        }
        if !fields.contains("Accept") { fields.append("Accept", "*/*") }
        return fields
    }
}
