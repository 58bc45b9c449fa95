// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import TransferCore

/// Adding transfers; starting, closing and stopping the queue.
extension TransferEngine {
    /// Adds a download.
    ///
    /// - Returns: The transfer's id. Adding a URL twice creates two transfers.
    /// - Throws: ``EngineError``: `closed` after `close()`, `badName` if the requested name is not valid, `nameTaken`
    ///   if the name must be exact and another transfer uses it.
    @discardableResult
    package func add(_ request: consuming DownloadRequest) throws(EngineError) -> TransferID {
        let shared = request.shared
        let (directory, name) = try Self.place(request)
        if shared.options.rateLimit != nil { self.throttles.store(true, ordering: .relaxed) }
        let base = name ?? FileName.choose(user: nil, disposition: nil, url: request.sources[0])
        let isFile: Bool = if case .file = shared.options.destination { true } else { false }
        let origin = request.sources[0].origin
        var terms = EngineMachine.Terms(origin: origin, shared.options)
        if let since = shared.options.waitsSince { terms.waitsSince = self.time(ofWallTime: since) }
        terms.isDurable = shared.options.durable
        terms.gate = self.transport.proxy(for: request.sources[0])
        terms.mayProbe = RequestMethod.isIdempotent(request.method) || shared.options.mayBeRepeated
        if request.sources.count > 1 { terms.mirrors = self.mirrors(of: request.sources) }
        if case .fixed(let count) = shared.options.connections { terms.fixedConnections = max(1, count) }
        let nameIsExact = request.nameIsExact
        let download = Transfer.Download(request)
        let result: Result<TransferID, EngineError> = self.state.withLock { state in
            guard !state.machine.isClosed else { return .failure(Self.closed) }
            var reserved = FileTarget(directory: directory, name: base)
            if isFile, nameIsExact, !state.machine.isNameFree(reserved) {
                let message = "another transfer is writing \(reserved.path); wait for it, or choose another file name"
                return .failure(EngineError(.nameTaken, message))
            }
            if isFile, name != nil, state.machine.isNameOwned(reserved) {
                let message =
                    "\(reserved.path) is the partial file or the journal of another transfer; choose another file name"
                return .failure(EngineError(.nameTaken, message))
            }
            if isFile { reserved = state.machine.takeName(directory: directory, base: base) }
            let id = state.machine.add(terms)
            state.transfers[id] = Transfer(
                id: id,
                download: download,
                origin: origin,
                reserved: reserved,
                baseName: base,
                isNamedByUser: name != nil
            )
            return .success(id)
        }
        let id = try result.get()
        self.drive()
        return id
    }

    /// The hosts of a download's sources other than that of the first one.
    private func mirrors(of sources: [HTTPURL]) -> [EngineMachine.MirrorHost] {
        var known: Set<Origin> = [sources[0].origin]
        return sources.filter { known.insert($0.origin).inserted }
            .map { EngineMachine.MirrorHost(origin: $0.origin, gate: self.transport.proxy(for: $0)) }
    }

    /// Adds an upload.
    ///
    /// - Returns: The transfer's id.
    /// - Throws: ``EngineError`` with code `closed` after `close()`.
    @discardableResult
    package func add(_ request: UploadRequest) throws(EngineError) -> TransferID {
        let upload = Transfer.Upload(request)
        if upload.request.options.rateLimit != nil { self.throttles.store(true, ordering: .relaxed) }
        let origin = upload.request.url.origin
        var terms = EngineMachine.Terms(origin: origin, upload.request.options)
        // Robots rules are for crawlers, which do not upload.
        terms.obeysRobots = false
        terms.mayProbe = upload.request.mayProbe
        if let since = upload.request.options.waitsSince { terms.waitsSince = self.time(ofWallTime: since) }
        terms.gate = self.transport.proxy(for: upload.request.url)
        let id: TransferID? = self.state.withLock { state in
            guard !state.machine.isClosed else { return nil }
            let id = state.machine.add(terms)
            state.transfers[id] = Transfer(id: id, upload: upload, origin: origin)
            return id
        }
        guard let id else { throw Self.closed }
        self.drive()
        return id
    }

    private func time(ofWallTime seconds: Int64) -> Int64 {
        self.time.now - min(max(0, self.time.wallNow.subtracting(clamping: seconds)), 1 << 32) * 1_000_000_000
    }

    private static let closed = EngineError(.closed, "the queue is closed and accepts no more transfers")

    /// Closes the queue: no more transfers can be added, and it is drained when the last one has ended.
    package func close() { self.handle { $0.machine.close() } }

    /// Starts running transfers.
    package func start() { self.handle { $0.machine.start() } }

    /// Stops the running transfers, keeping what can be resumed; returns when all of them have stopped.
    ///
    /// Waiting transfers stay in the queue, but the engine starts no more of them.
    ///
    /// - Parameter completesUnrepeatable: Whether requests in progress that must not be repeated are completed first;
    ///   ``beginStopping(completingUnrepeatable:)`` ends that.
    package func stop(completingUnrepeatable completesUnrepeatable: Bool = false) async {
        self.beginStopping(completingUnrepeatable: completesUnrepeatable)
        await self.wait(for: .stopped)
        for reference in self.subscribers.withLock({ $0 }) { reference.subscriber?.finish() }
    }

    /// Begins to stop as ``stop(completingUnrepeatable:)`` does, and returns at once.
    package func beginStopping(completingUnrepeatable completesUnrepeatable: Bool = false) {
        let runs = self.handle { state in
            state.machine.stop()
            return state.runs.values
        }
        for run in runs {
            if completesUnrepeatable { run.stopAfterRequest() } else { run.interrupt(.stopped) }
        }
    }

    /// Returns when the closed queue is empty, or the engine has been stopped.
    ///
    /// Also waits until abandoned uploads are deleted at their servers, for at most 10 seconds.
    package func waitUntilDrained() async { await self.wait(for: .drained) }

    /// Returns when at most `count` transfers are waiting, or the engine is being stopped; for adding long lists.
    package func waitUntilWaiting(atMost count: Int) async { await self.wait(for: .waiting(atMost: count)) }

    /// Returns when ``needsMore(than:limit:)`` holds, or the engine is being stopped.
    package func waitUntilNeedsMore(than count: Int, limit: Int) async {
        await self.wait(for: .starving(atMost: count, limit: limit))
    }

    /// Whether more transfers should be added: few are waiting, or slots are free that no waiting transfer may take,
    /// because its host is held or at its connection limit.
    ///
    /// - Parameters:
    ///   - count: With at most this many waiting transfers, more should always be added.
    ///   - limit: With more waiting transfers than this, none should be added.
    /// - Returns: Whether more should be added; also true while the engine is being stopped.
    package func needsMore(than count: Int, limit: Int) -> Bool {
        self.state.withLock { $0.machine.isStarving(atMost: count, limit: limit) }
    }

    /// Returns the directory and the file name of a request, with the folders in the name moved to the directory.
    private static func place(_ request: DownloadRequest) throws(EngineError) -> (directory: String, name: String?) {
        let directory = request.directory ?? request.shared.options.directory
        guard let given = request.name else { return (directory, nil) }
        let parts = given.split(separator: "/", omittingEmptySubsequences: true)
        guard let last = parts.last, last != ".", last != "..", !given.hasSuffix("/") else {
            throw EngineError(.badName, "'\(given)' is not a file name; end it with a name")
        }
        guard last.utf8.count <= FileName.longest, !given.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw EngineError(
                .badName,
                "'\(last.prefix(40))…' is not a file name: at most \(FileName.longest) bytes, no control characters"
            )
        }
        let folders = given.dropLast(last.utf8.count)
        if folders.isEmpty { return (directory, String(last)) }
        let path = folders.hasSuffix("/") && folders.count > 1 ? String(folders.dropLast()) : String(folders)
        if path.hasPrefix("/") || directory == "." || directory.isEmpty { return (path, String(last)) }
        return (FileTarget(directory: directory, name: path).path, String(last))
    }
}

extension EngineMachine.Terms {
    fileprivate init(origin: Origin, _ options: borrowing DownloadOptions) {
        self.init(origin: origin)
        self.priority = options.priority
        self.retries = options.retries
        self.retryWait = options.retryWait.inNanoseconds
        self.totalTimeout = options.totalTimeout.inNanoseconds
        self.maximumRetryAfter = options.maximumRetryAfter.map { $0.components.seconds }
        self.outageTimeout = options.outageTimeout?.inNanoseconds
        self.countsOutages = options.retriesIncludeOutages
    }
}
