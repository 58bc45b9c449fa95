// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import FileStorage
internal import Files
internal import HTTPTransport
internal import Martlet
internal import QueueStore
internal import TransferCore
internal import TransferEngine

/// The parts that all lanes share.
struct EngineParts: Sendable {
    let resources: EngineResources
    let notes: UploadNotes
    /// The addresses that transfers may use although they are denied.
    var allowedAddresses = ProxyExceptions()

    var store: DiskStore { self.resources.store }
    var pool: any BlockingPool { self.resources.pool }
}

/// The claimed transfers of one queue, and the engines that run them.
///
/// Confined to the core. Transfers with their own proxies, and those that were staged under earlier settings, have
/// separate engines, which are removed when their last transfer has left. So have dry runs.
final class Lane {
    struct EngineKey: Hashable {
        var epoch: Int
        var proxy: ProxySettings?
        /// Whether it runs dry runs, whose results are the responses.
        var isForDryRuns = false

        /// Whether it is removed when its last transfer has left.
        func isTemporary(in epoch: Int) -> Bool { self.proxy != nil || self.isForDryRuns || self.epoch != epoch }
    }

    /// An engine, and the number of its transfers.
    final class Slot {
        let key: EngineKey
        let engine: TransferEngine
        let observation: TransferEngine.Observation
        var policies: [PolicyKey: SessionPolicy] = [:]
        var load = 0

        init(_ key: EngineKey, _ engine: TransferEngine, _ observation: TransferEngine.Observation) {
            self.key = key
            self.engine = engine
            self.observation = observation
        }
    }

    struct PolicyKey: Hashable {
        var origins: [Origin]
        var credential: Credential?
        var cookieFile: String?
    }

    let session: String?
    /// The transfers that were claimed from the store and are not yet staged.
    var claimed: [GID: Claimed] = [:]
    /// The transfers on an engine, and those whose end is not yet stored.
    var live: [GID: Live] = [:]
    /// The holds of hosts that engines reported; for display.
    var holds: [Origin: HostHold] = [:]
    /// The holds of file systems by directory, for display.
    var fileSystemHolds: [String: HostHold] = [:]
    /// The hold of the network; for display.
    var networkHold: HostHold?
    private(set) var settings: LaneSettings
    private(set) var epoch = 0
    private(set) var slots: [EngineKey: Slot] = [:]
    private var hostLimits: [String: Int]
    let parts: EngineParts
    let outbox: ReportQueue

    init(
        session: String?,
        settings: LaneSettings,
        hostLimits: [String: Int],
        parts: EngineParts,
        outbox: ReportQueue
    ) {
        self.session = session
        self.settings = settings
        self.hostLimits = hostLimits
        self.parts = parts
        self.outbox = outbox
    }

    // MARK: Settings

    /// Changes the settings; limits apply immediately, other settings to transfers that are staged from now on.
    func change(_ settings: LaneSettings, renewsEngines: Bool) {
        var settings = settings
        settings.engine.concurrentTransfers = self.settings.engine.concurrentTransfers
        self.settings = settings
        for slot in self.slots.values {
            slot.engine.setRateLimit(settings.engine.rateLimit)
            if let count = settings.engine.connectionsPerHost { slot.engine.setConnectionsPerHost(count) }
            // They contain the earlier cookies.
            slot.policies = [:]
        }
        if renewsEngines { self.epoch += 1 }
        self.shareLimit()
    }

    /// Sets the maximum number of running transfers.
    func setLimit(_ limit: Int) {
        self.settings.engine.concurrentTransfers = limit
        self.shareLimit()
    }

    /// Divides the limit between the engines, if there are several: each one gets what the others do not use, at least 1.
    ///
    /// An engine of earlier settings starts no more transfers than it runs.
    func shareLimit() {
        let limit = self.settings.engine.concurrentTransfers
        guard self.slots.count > 1 else {
            for slot in self.slots.values { slot.engine.setConcurrentTransfers(limit) }
            return
        }
        let running = self.slots.mapValues { $0.engine.counts.running }
        let sum = running.values.reduce(0, +)
        for (key, slot) in self.slots {
            let own = running[key] ?? 0
            let share = key.epoch == self.epoch ? limit - (sum - own) : min(limit, own)
            slot.engine.setConcurrentTransfers(max(1, share))
        }
    }

    /// Whether engines have free places although transfers wait in them.
    var hasIdlePlaces: Bool { self.slots.values.contains { $0.engine.hasIdlePlaces } }

    /// The number of transfers that have started and are held.
    var heldCount: Int { self.slots.values.reduce(0) { $0 + $1.engine.heldStarted } }

    func setHostLimits(_ limits: [String: Int]) {
        self.hostLimits = limits
        for slot in self.slots.values { slot.engine.setConnectionLimits(ofHosts: limits) }
    }

    // MARK: Transfers

    /// Returns the request plan of a transfer under the lane's current settings.
    func plan(_ transfer: StoredTransfer) throws(ControlError) -> RequestPlan {
        var base = self.settings.downloads
        base.addresses = AddressRule(allowing: self.parts.allowedAddresses)
        return try RequestPlan(
            urls: transfer.urls,
            upload: transfer.upload,
            options: self.settings.defaults.merging(transfer.options),
            directory: transfer.directory,
            base: base,
            baseFields: self.settings.fields
        )
    }

    /// Adds a transfer to an engine.
    ///
    /// - Parameters:
    ///   - claimed: The transfer.
    ///   - known: Its plan, if it was made before with these settings.
    /// - Throws: The reason why it cannot be staged.
    func stage(_ claimed: Claimed, _ known: RequestPlan?) throws(TransferRecord.Failure) {
        let transfer = claimed.transfer
        var plan: RequestPlan
        do throws(ControlError) {
            if let known { plan = known } else { plan = try self.plan(transfer) }
        } catch {
            throw TransferRecord.Failure(.badOption, error.message, remedy: error.remedy)
        }
        var options = plan.request.options
        options.priority = Self.priority(transfer.priority, base: options.priority)
        options.waitsSince = Int64(exactly: transfer.added.rounded(.down))
        plan.request.options = options
        plan.upload?.options.priority = options.priority
        plan.upload?.options.waitsSince = options.waitsSince
        let slot = try self.slot(EngineKey(epoch: self.epoch, proxy: plan.proxy, isForDryRuns: plan.isDryRun))
        let policy = try self.policy(slot, plan)
        var tag = RunTag(id: transfer.id, policy: policy)
        if plan.upload != nil {
            if self.session != nil { tag.answer = AnswerBuffer() }
            try self.prepare(&plan, transfer.id, tag)
        } else {
            plan.request.policy = policy
            plan.request.userInfo = tag
            plan.request.mark = transfer.id.description
            if !transfer.mayBeCut { try self.prepareUnrepeatable(&plan.request, transfer.id) }
            if plan.isConditional, let condition = Self.condition(plan.request, transfer.path) {
                plan.request.conditions.append(condition)
                plan.request.options.ifExists = .overwrite
            }
        }
        do throws(EngineError) {
            let number: TransferID
            if let upload = plan.upload {
                number = try slot.engine.add(upload)
            } else {
                number = try slot.engine.add(plan.request)
            }
            slot.load += 1
            self.live[transfer.id] = Live(claimed, on: slot, number: number, policy: policy)
        } catch {
            switch error.code {
            case .nameTaken: throw TransferRecord.Failure(.fileExists, error.message)
            case .badName: throw TransferRecord.Failure(.badOption, error.message)
            case .closed: throw TransferRecord.Failure(.unknown, error.message)
            }
        }
    }

    /// Returns the engine's priority of a staged transfer; a higher one starts before transfers of other hosts.
    private static func priority(_ priority: Int, base: Priority) -> Priority {
        if priority > 0 { return max(base, .high) }
        return priority < 0 ? .low : base
    }

    /// Withdraws transfers from their engines unless they have started.
    ///
    /// - Returns: The transfers that were withdrawn.
    func withdraw(_ ids: [GID]) -> Set<GID> {
        var gone: Set<GID> = []
        var byEngine: [EngineKey: [TransferID: GID]] = [:]
        for id in ids {
            guard let live = self.live[id] else { continue }
            byEngine[live.slot.key, default: [:]][live.number] = id
        }
        for (key, numbers) in byEngine {
            guard let engine = self.slots[key]?.engine else { continue }
            // In reverse order: withdrawing a transfer must not start the next one, which is withdrawn too.
            for number in engine.withdraw(numbers.keys.sorted(by: >)) {
                guard let id = numbers[number] else { continue }
                gone.insert(id)
                self.left(id)
            }
        }
        return gone
    }

    /// Cancels a transfer in its engine.
    func cancel(_ id: GID, keeping: Bool = true) {
        guard let live = self.live[id] else { return }
        let engine = live.slot.engine
        // Progress samples are up to 200 ms old; this is the last one.
        if let now = engine.progress(of: live.number) {
            live.bytes = now.bytes
            live.total = now.total ?? live.total
        }
        engine.cancel(live.number, keeping: keeping)
    }

    /// Removes a transfer that has left its engine, and stops the engine if it is obsolete and empty.
    func left(_ id: GID) {
        guard let live = self.live.removeValue(forKey: id) else { return }
        live.policy?.ended(live.number)
        let slot = live.slot
        slot.load -= 1
        if slot.load <= 0, slot.key.isTemporary(in: self.epoch) {
            slot.observation.cancel()
            self.slots[slot.key] = nil
            self.shareLimit()
        } else if self.slots.count > 1 {
            self.shareLimit()
        }
    }

    /// Changes the rate limit of a staged or running transfer in bytes per second; `nil` removes it.
    func setRateLimit(_ rate: Int64?, of id: GID) {
        guard let live = self.live[id] else { return }
        live.slot.engine.setRateLimit(rate, of: live.number)
    }

    /// Sets the lowest rate of a staged or running transfer; `nil` removes it.
    func setSpeedFloor(_ floor: SpeedFloor?, of id: GID) {
        guard let live = self.live[id] else { return }
        live.slot.engine.setSpeedFloor(floor, of: live.number)
    }

    /// Returns the current progress of a transfer, or `nil` if no engine has it.
    func progress(of id: GID) -> (bytes: Int64, total: Int64?)? {
        guard let live = self.live[id] else { return nil }
        return live.slot.engine.progress(of: live.number)
    }

    /// Returns the file target of a transfer on an engine, if it is already known.
    func target(of id: GID) -> FileTarget? {
        guard let live = self.live[id] else { return nil }
        return live.slot.engine.target(of: live.number)
    }

    var engines: [TransferEngine] { self.slots.values.map(\.engine) }

    // MARK: Engines

    func policy(_ slot: Slot, _ plan: RequestPlan) throws(TransferRecord.Failure) -> SessionPolicy {
        let wanted = PolicyKey(
            origins: plan.credential == nil ? [] : plan.request.sources.map(\.origin),
            credential: plan.credential,
            cookieFile: plan.cookieFile
        )
        if let known = slot.policies[wanted] { return known }
        var session = self.settings.session
        if let credential = plan.credential {
            for url in plan.request.sources { session.credentials.set(credential, for: url) }
        }
        if let path = plan.cookieFile {
            let cookies = CookieStorage()
            do throws(TransferError) {
                try cookies.load(from: path)
            } catch {
                throw TransferRecord.Failure(.cannotOpen, error.message)
            }
            session.cookies = cookies
        }
        let policy = SessionPolicy(session, onCookies: self.cookieReport)
        // Transfers retain the policies in use; this cache for later transfers must stay bounded.
        if slot.policies.count >= 64 { slot.policies = [:] }
        slot.policies[wanted] = policy
        return policy
    }

    /// Returns the engine of a key, which is started if there is none.
    func slot(_ key: EngineKey) throws(TransferRecord.Failure) -> Slot {
        if let slot = self.slots[key] { return slot }
        var transport = self.settings.transport
        transport.laneCount = 2
        if let proxy = key.proxy { transport.proxy = proxy }
        let engine: TransferEngine
        do {
            engine = try self.parts.resources.makeEngine(self.settings.engine, transport)
        } catch {
            throw TransferRecord.Failure(.badOption, "the connections cannot be configured: \(error)")
        }
        engine.setConnectionLimits(ofHosts: self.hostLimits)
        let observation = engine.observe(.all) { [outbox = self.outbox, session = self.session] event in
            outbox.put(.engine(lane: session, event))
        }
        engine.start()
        let slot = Slot(key, engine, observation)
        self.slots[key] = slot
        self.shareLimit()
        return slot
    }

    private static func condition(_ request: DownloadRequest, _ known: String?) -> (String, String)? {
        let url = request.sources[0]
        let named =
            request.namesByFinalURL
            ? FileName.choose(byFinal: url) : FileName.choose(user: nil, disposition: nil, url: url)
        let name = request.name ?? named
        let path = known ?? FileTarget(directory: request.directory ?? ".", name: name).path
        return FileTime.modified(path).map { ("If-Modified-Since", HTTPDate.format($0)) }
    }
}
