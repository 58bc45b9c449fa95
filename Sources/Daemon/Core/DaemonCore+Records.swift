internal import Control
internal import QueueStore

extension TransferRecord {
    /// A transfer as the store has it.
    init(_ stored: StoredTransfer) {
        self.init(
            id: stored.id,
            session: stored.session,
            state: stored.state,
            urls: stored.urls,
            directory: stored.directory,
            added: stored.added,
            options: stored.options
        )
        self.upload = stored.upload
        self.priority = stored.priority
        self.bytes = stored.bytes
        self.total = stored.total
        self.path = stored.path
        self.failure = stored.failure
        self.ended = stored.ended
    }

    /// A transfer that has ended so.
    init(_ stored: StoredTransfer, end: StoredEnd) {
        self.init(stored)
        self.state = end.state
        self.path = end.path
        self.bytes = end.bytes
        self.total = end.total
        self.failure = end.failure
        self.ended = end.at
    }
}

extension DaemonCore {
    /// A transfer that a lane has, as it is now.
    func record(_ lane: Lane, _ entry: LaneQueue.Entry, _ state: TransferRecord.State) -> TransferRecord {
        var record = TransferRecord(entry.transfer)
        record.state = state
        guard let live = lane.live[entry.transfer.id] else { return record }
        record.path = live.path ?? record.path
        record.bytes = live.bytes
        record.total = live.total ?? record.total
        if state == .active {
            record.rate = live.rate
            record.connections = live.connections
        }
        return record
    }

    /// A transfer that was read, with what memory knows beside it.
    func record(_ stored: StoredTransfer) -> TransferRecord {
        let lane = self.lanes[stored.session]
        if stored.state.isEnd { return TransferRecord(stored) }
        guard let lane, var entry = lane.queue.entries[stored.id], entry.hasStarted else {
            var record = TransferRecord(stored)
            if stored.state == .waiting { record.waitingFor = self.waitReason(stored.session) }
            return record
        }
        entry.transfer = stored
        let isCut = entry.phase == .stopping
        var record = self.record(lane, entry, isCut ? stored.state : .active)
        if isCut, stored.state == .waiting { record.waitingFor = self.waitReason(stored.session) }
        return record
    }

    /// Why a queue's transfers wait beside their turn.
    func waitReason(_ session: String?) -> TransferRecord.WaitReason? {
        if self.isStopping { return .stopping }
        if self.isFull { return .diskFull }
        let holds = self.lanes[session]?.queue.holds ?? []
        for reason in [TransferRecord.WaitReason.schedule, .conditions, .held] where holds.contains(reason) {
            return reason
        }
        return self.isInSchedule ? nil : .schedule
    }

    /// Those that run, of a session, of the shared queue, or all; in the order in which they began.
    func active(_ session: String??) -> [TransferRecord] {
        let lanes: [Lane] =
            switch session {
            case .none: Array(self.lanes.values)
            case .some(let one): self.lanes[one].map { [$0] } ?? []
            }
        var found: [(serial: Int, run: UInt64, record: TransferRecord)] = []
        for lane in lanes {
            for entry in lane.queue.entries.values where entry.isActive {
                found.append((lane.serial, entry.run, self.record(lane, entry, .active)))
            }
        }
        found.sort { ($0.serial, $0.run) < ($1.serial, $1.run) }
        return found.map(\.record)
    }
}

extension LaneQueue.Entry {
    /// Whether it is told as active.
    var isActive: Bool { self.hasStarted && self.phase != .stopping }
}
