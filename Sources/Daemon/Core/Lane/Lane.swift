internal import Control
internal import FileStorage
internal import HTTPTransport
internal import Martlet
internal import QueueStore
internal import TransferAssembly
internal import TransferCore
internal import TransferEngine

/// What all lanes' engines run on.
struct EngineParts: Sendable {
    let loops: SharedLoops
    let store: DiskStore
    let pool: NIOBlockingPool
    let notes: UploadNotes
}

/// One lane: what it has taken, and the engines that run it.
///
/// Confined to the core. Transfers with proxies of their own, and those that were begun under earlier settings, have
/// engines beside the usual one; these go away when they have nothing left.
final class Lane {
    /// How far a transfer has come.
    struct Live {
        var engine: EngineKey
        var number: TransferID
        var policy: SessionPolicy?
        var path: String?
        var bytes: Int64
        var total: Int64?
        var rate: Int64 = 0
        var connections = 0
        var hasResponse = false
        /// Of an upload in a session: the response, for whoever hears of its end alone.
        var response: JSON?
        /// Of an upload: the bytes that the server has said it has, and those sent in this run.
        var acknowledged: Int64?
        var sent: Int64?
        var speed: SpeedWatch?
        /// Why the core ends it, where it does.
        var failure: TransferRecord.Failure?
    }

    struct EngineKey: Hashable {
        var epoch: Int
        var proxy: ProxySettings?
    }

    private struct Slot {
        var engine: TransferEngine
        var observation: TransferEngine.Observation
        var policies: [PolicyKey: SessionPolicy] = [:]
        var load = 0
    }

    private struct PolicyKey: Hashable {
        var origins: [Origin]
        var credential: Credential?
        var cookieFile: String?
    }

    let session: String?
    /// Tells it from earlier lanes of the session.
    let serial: Int
    var queue: LaneQueue
    var live: [GID: Live] = [:]
    /// How often what has not begun was taken back of late, and whether that is going to be done.
    var reorders = Frequency(limit: 10, in: .seconds(1))
    var isReorderPlanned = false
    private(set) var settings: LaneSettings
    private var epoch = 0
    private var slots: [EngineKey: Slot] = [:]
    private var hostLimits: [String: Int]
    private let parts: EngineParts
    private let outbox: Outbox

    init(
        session: String?,
        serial: Int,
        settings: LaneSettings,
        hostLimits: [String: Int],
        parts: EngineParts,
        outbox: Outbox
    ) {
        self.session = session
        self.serial = serial
        self.settings = settings
        self.hostLimits = hostLimits
        self.parts = parts
        self.outbox = outbox
        self.queue = LaneQueue(limit: settings.engine.concurrentTransfers)
    }

    // MARK: Settings

    /// Takes other settings: limits at once, the rest for what begins from now on.
    func change(_ settings: LaneSettings, renewsEngines: Bool) {
        self.settings = settings
        self.queue.limit = settings.engine.concurrentTransfers
        for slot in self.slots.values {
            slot.engine.setConcurrentTransfers(settings.engine.concurrentTransfers)
            slot.engine.setRateLimit(settings.engine.rateLimit)
        }
        if renewsEngines { self.epoch += 1 }
    }

    func setHostLimits(_ limits: [String: Int]) {
        self.hostLimits = limits
        for slot in self.slots.values { slot.engine.setConnectionLimits(ofHosts: limits) }
    }

    // MARK: Transfers

    /// Gives a transfer to an engine.
    ///
    /// - Throws: Why it cannot be made.
    func stage(_ entry: LaneQueue.Entry) throws(StagingFailure) {
        let transfer = entry.transfer
        var plan: RequestPlan
        do throws(ControlError) {
            plan = try RequestPlan(
                urls: transfer.urls,
                upload: transfer.upload,
                options: self.settings.defaults.merging(transfer.options),
                directory: transfer.directory,
                base: self.settings.downloads,
                baseFields: self.settings.fields
            )
        } catch {
            throw StagingFailure(.badOption, error.message, remedy: error.remedy)
        }
        let key = EngineKey(epoch: self.epoch, proxy: plan.proxy)
        let policy = try self.policy(key, plan)
        var tag = RunTag(id: transfer.id, run: entry.run, policy: policy)
        if plan.upload != nil {
            if self.session != nil { tag.answer = AnswerBuffer() }
            try self.prepare(&plan, transfer.id, tag)
        } else {
            plan.request.policy = policy
            plan.request.userInfo = tag
            plan.request.mark = transfer.id.description
            if plan.isConditional, let condition = Self.condition(plan.request, transfer.path) {
                plan.request.conditions.append(condition)
                plan.request.options.ifExists = .overwrite
            }
        }
        guard let engine = self.slots[key]?.engine else { return }
        do throws(EngineError) {
            let number: TransferID
            if let upload = plan.upload {
                number = try engine.add(upload)
            } else {
                number = try engine.add(plan.request)
            }
            self.slots[key]?.load += 1
            self.live[transfer.id] = Live(
                engine: key,
                number: number,
                policy: policy,
                path: transfer.path,
                bytes: transfer.bytes,
                total: transfer.total,
                speed: plan.lowestSpeed.map { SpeedWatch(lowest: $0) }
            )
        } catch {
            switch error.code {
            case .nameTaken: throw StagingFailure(.fileExists, error.message)
            case .badName: throw StagingFailure(.badOption, error.message)
            case .closed: throw StagingFailure(.unknown, error.message)
            }
        }
    }

    /// Asks an engine for a transfer.
    func giveBack(_ id: GID, keeping: Bool = true) {
        guard let live = self.live[id], let engine = self.slots[live.engine]?.engine else { return }
        // Its samples are up to 200 ms old, and this is the last look.
        if let now = engine.progress(of: live.number) {
            self.live[id]?.bytes = now.bytes
            self.live[id]?.total = now.total ?? live.total
        }
        engine.cancel(live.number, keeping: keeping)
    }

    /// A transfer has left its engine, and the store knows.
    func left(_ id: GID) {
        guard let live = self.live.removeValue(forKey: id) else { return }
        live.policy?.ended(live.number)
        guard var slot = self.slots.removeValue(forKey: live.engine) else { return }
        slot.load -= 1
        if slot.load <= 0, live.engine.proxy != nil || live.engine.epoch != self.epoch {
            slot.observation.cancel()
        } else {
            self.slots[live.engine] = slot
        }
    }

    /// Changes the rate of a transfer that an engine has.
    func setRateLimit(_ rate: Int64?, of id: GID) {
        guard let live = self.live[id] else { return }
        self.slots[live.engine]?.engine.setRateLimit(rate, of: live.number)
    }

    /// How far a transfer has come, at this moment.
    func progress(of id: GID) -> (bytes: Int64, total: Int64?)? {
        guard let live = self.live[id] else { return nil }
        return self.slots[live.engine]?.engine.progress(of: live.number)
    }

    /// Where the file of a transfer that an engine has will be, as far as that is known.
    func target(of id: GID) -> FileTarget? {
        guard let live = self.live[id] else { return nil }
        return self.slots[live.engine]?.engine.target(of: live.number)
    }

    var engines: [TransferEngine] { self.slots.values.map(\.engine) }

    // MARK: Uploads

    /// Lets an upload's request go on from what is known of it.
    ///
    /// - Throws: Where it was begun by a daemon that died, and must not be made twice.
    private func prepare(_ plan: inout RequestPlan, _ id: GID, _ tag: RunTag) throws(StagingFailure) {
        let notes = self.parts.notes
        guard plan.upload?.method == "PUT" || !notes.isLost(id) else {
            throw StagingFailure(
                .cannotResume,
                "the daemon ended while the upload's \(plan.upload?.method ?? "") was under way: the server may have it",
                remedy: "look whether the server has it; if not, retry the transfer"
            )
        }
        plan.upload?.journal = notes.journal(of: id)
        plan.upload?.noteUnrepeatable = { () throws(StorageError) in try notes.begun(id) }
        plan.upload?.policy = tag.policy
        plan.upload?.userInfo = tag
        plan.upload?.receiver = tag.answer
    }

    /// Lets the server of an upload that no engine has forget what it has of it.
    func giveUp(_ transfer: StoredTransfer) {
        guard
            var plan = try? RequestPlan(
                urls: transfer.urls,
                upload: transfer.upload,
                options: self.settings.defaults.merging(transfer.options),
                directory: transfer.directory,
                base: self.settings.downloads,
                baseFields: self.settings.fields
            )
        else { return }
        let key = EngineKey(epoch: self.epoch, proxy: plan.proxy)
        guard let policy = try? self.policy(key, plan) else { return }
        self.parts.notes.clear(transfer.id)
        try? self.prepare(&plan, transfer.id, RunTag(id: transfer.id, run: 0, policy: policy))
        if let upload = plan.upload { self.slots[key]?.engine.giveUp(upload) }
    }

    // MARK: Engines

    private func policy(_ key: EngineKey, _ plan: RequestPlan) throws(StagingFailure) -> SessionPolicy {
        try self.makeSlot(key)
        let wanted = PolicyKey(
            origins: plan.credential == nil ? [] : plan.request.sources.map(\.origin),
            credential: plan.credential,
            cookieFile: plan.cookieFile
        )
        if let known = self.slots[key]?.policies[wanted] { return known }
        var session = self.settings.session
        if let credential = plan.credential {
            for url in plan.request.sources { session.credentials.set(credential, for: url) }
        }
        if let path = plan.cookieFile {
            let cookies = CookieStorage()
            do throws(TransferError) {
                try cookies.load(from: path)
            } catch {
                throw StagingFailure(.cannotOpen, error.message)
            }
            session.cookies = cookies
        }
        let policy = SessionPolicy(session)
        // Those in use are kept by their transfers; what is kept here for the next ones must not grow.
        if self.slots[key]?.policies.count ?? 0 >= 64 { self.slots[key]?.policies = [:] }
        self.slots[key]?.policies[wanted] = policy
        return policy
    }

    private func makeSlot(_ key: EngineKey) throws(StagingFailure) {
        guard self.slots[key] == nil else { return }
        var transport = self.settings.transport
        transport.laneCount = 2
        if let proxy = key.proxy { transport.proxy = proxy }
        let engine: TransferEngine
        do {
            engine = try LiveEngine.make(
                self.settings.engine,
                transport: transport,
                on: self.parts.loops,
                store: self.parts.store,
                pool: self.parts.pool
            )
        } catch {
            throw StagingFailure(.badOption, "the connections cannot be set up: \(error)")
        }
        engine.setConnectionLimits(ofHosts: self.hostLimits)
        let interest: TransferEvent.Interest =
            self.session == nil ? [.states, .progress] : [.states, .responses, .progress]
        let observation = engine.observe(interest) { [outbox = self.outbox, session = self.session] event in
            outbox.put(.engine(lane: session, event))
        }
        engine.start()
        self.slots[key] = Slot(engine: engine, observation: observation)
    }

    private static func condition(_ request: DownloadRequest, _ known: String?) -> (String, String)? {
        let name = request.name ?? FileName.choose(user: nil, disposition: nil, url: request.sources[0])
        let path = known ?? FileTarget(directory: request.directory ?? ".", name: name).path
        return FileTime.modified(path).map { ("If-Modified-Since", HTTPDate.format($0)) }
    }
}

/// Why a transfer cannot be given to an engine.
struct StagingFailure: Error {
    var failure: TransferRecord.Failure

    init(_ code: TransferFailure.Code, _ message: String, remedy: String = "") {
        self.failure = TransferRecord.Failure(code, message, remedy: remedy)
    }
}
