// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore
internal import TransferEngine

extension TransferRecord {
    /// Creates the record of a stored transfer.
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

    /// Creates the record of a transfer with its end.
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
    /// Returns the current record of a transfer on a lane; if `state` is `active`, with the exact state.
    func record(_ lane: Lane, _ stored: StoredTransfer, _ state: TransferRecord.State) -> TransferRecord {
        var record = TransferRecord(stored)
        record.state = state
        guard let live = lane.live[stored.id] else { return record }
        record.path = live.path ?? record.path
        record.bytes = live.bytes
        record.total = live.total ?? record.total
        guard state == .active else { return record }
        record.rate = live.rate(at: self.uptime)
        record.connections = live.connections
        guard live.retry != nil || record.rate == 0 && live.connections == 0 else { return record }
        self.explain(&record, stored, lane)
        if record.hold != nil {
            record.state = .held
        } else if let retry = live.retry {
            record.state = .retrying
            record.retry = retry
        }
        return record
    }

    /// Returns the record of a stored transfer, with the state and progress that are in memory.
    func record(_ stored: StoredTransfer) -> TransferRecord {
        if stored.state.isEnd { return TransferRecord(stored) }
        let lane = self.lanes[stored.session]
        guard let lane, let entry = self.machine.entry(stored.id.rawValue, in: stored.session), entry.hasStarted else {
            var record = TransferRecord(stored)
            if stored.state == .waiting { self.explain(&record, stored, lane) }
            return record
        }
        guard entry.isActive else {
            var record = self.record(lane, stored, stored.state)
            if stored.state == .waiting { self.explain(&record, stored, lane) }
            return record
        }
        return self.record(lane, stored, .active)
    }

    /// The reason why no transfer of a queue starts; `nil` if they may.
    func waitReason(of session: String?) -> TransferRecord.WaitReason? {
        let holds = self.machine.holds(of: session)
        let reasons: [(QueueMachine.Hold, TransferRecord.WaitReason)] = [
            (.stopping, .stopping), (.databaseFull, .diskFull), (.schedule, .schedule), (.conditions, .conditions),
            (.paused, .held),
        ]
        return reasons.first { holds.contains($0.0) }?.1 ?? (self.isInSchedule ? nil : .schedule)
    }

    /// Sets the reason why a transfer waits, other than its place in the queue.
    private func explain(_ record: inout TransferRecord, _ stored: StoredTransfer, _ lane: Lane?) {
        record.waitingFor = self.waitReason(of: stored.session)
        guard record.waitingFor == nil else { return }
        if let file = lane?.live[stored.id]?.awaitedFile {
            record.waitingFor = .host
            record.hold = TransferRecord.Hold(
                host: file.path,
                reason: TransferFailure.Code.inUse.rawValue,
                code: TransferFailure.Code.inUse.rawValue,
                cause: "",
                message: "another process is downloading '\(file.path)'",
                since: file.since,
                nextTry: nil
            )
            return
        }
        guard let hold = lane?.hold(of: stored) else { return }
        record.waitingFor = .host
        record.hold = TransferRecord.Hold(
            host: hold.place,
            reason: hold.reason.rawValue,
            code: hold.code.rawValue,
            cause: hold.cause,
            message: hold.message.isEmpty ? hold.cause : hold.message,
            since: Double(hold.since),
            nextTry: hold.nextTry.map { Double($0) }
        )
    }

    /// Returns the started transfers of a session, of the shared queue, or of all; in the order of their claims.
    func started(_ session: String??) -> [TransferRecord] {
        let lanes: [Lane] =
            switch session {
            case .none: self.lanes.values.sorted { $0.session ?? "" < $1.session ?? "" }
            case .some(let one): self.lanes[one].map { [$0] } ?? []
            }
        var found: [(order: UInt64, record: TransferRecord)] = []
        for lane in lanes {
            for (id, live) in lane.live {
                guard let entry = self.machine.entry(id.rawValue, in: lane.session), entry.isActive else { continue }
                found.append((entry.order, self.record(lane, live.transfer, .active)))
            }
        }
        found.sort { $0.order < $1.order }
        return found.map(\.record)
    }
}
