// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import Martlet
internal import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Events of engines.
extension DaemonCore {
    /// Handles the reports of engines and the store, and performs the resulting effects.
    ///
    /// - Returns: The number of reports.
    @discardableResult
    func drain() -> Int {
        var heard = 0
        self.unreported = []
        while true {
            var items = self.outbox.take()
            guard !items.isEmpty else { break }
            heard += items.count
            // Taken from the end: a report is large, and this moves it.
            items.reverse()
            while let item = items.popLast() {
                switch consume item {
                case .engine(let session, let event): if let lane = self.lanes[session] { self.heard(lane, event) }
                case .answer(let apply): apply(self)
                }
            }
        }
        self.pump()
        self.publish()
        if let events = self.unreported.take(), !events.isEmpty { self.broadcast.send(events) }
        let answered = self.answered
        self.answered = []
        for answer in answered { answer() }
        return heard
    }

    private func heard(_ lane: Lane, _ event: TransferEvent) {
        switch event.kind {
        case .held(let hold): return self.held(lane, hold)
        case .released(let hold): return self.released(lane, hold)
        default: break
        }
        guard let tag = event.userInfo as? RunTag, let live = lane.live[tag.id], live.number == event.id else { return }
        let id = tag.id
        self.recordDetail(id, event, live)
        switch event.kind {
        case .started(let path):
            if !path.isEmpty { live.path = path }
            live.began()
            let isFirst = self.machine.started(lane.session, id.rawValue)
            // Also after a wait that was reported.
            self.pass(lane.session, id, ["kind": "started", "id": .string(id.description)])
            guard isFirst else { return self.tellChange(lane, live) }
            live.told = .active
            if self.isHeard(.started) { self.tell(.started(self.record(lane, live.transfer, .active))) }
        case .response(let info): self.answered(lane, live, event, info)
        case .progress(let progress):
            live.progressed(progress, at: self.uptime)
            self.tellChange(lane, live)
            // Immediately, not at the next periodic check: observers wait for the first bytes.
            self.pass(lane.session, id, Self.progress(id, live, at: self.uptime))
        case .finished(let completion):
            self.snapshot.withLock { $0.receivedBytes += completion.received }
            if !completion.path.isEmpty { live.path = completion.path }
            self.ended(lane, live.transfer, completion: completion, answer: tag.answer?.bytes)
        case .failed(let failure):
            if let path = event.target?.path { live.path = path }
            self.ended(
                lane,
                live.transfer,
                failure: TransferRecord.Failure(
                    failure.code,
                    failure.message,
                    remedy: failure.remedy(naming: Self.option),
                    status: failure.status
                ),
                response: failure.response
            )
        case .cancelled:
            if let path = event.target?.path { live.path = path }
            guard let entry = self.machine.cancelled(lane.session, id.rawValue) else { return }
            self.cancelled(lane, live, entry)
        case .retrying(let failure, let attempt, let delay):
            live.failed(failure, attempt: attempt, next: self.now + delay / .seconds(1), at: self.now)
            if lane.session != nil { self.pass(lane.session, id, self.waiting(live, failure, delay)) }
            self.machine.retrying(lane.session, id.rawValue)
            self.tellChange(lane, live)
        case .paused, .note, .warning, .drained, .missed, .held, .released: break
        }
    }

    // MARK: Changes of states

    /// Reports the state of a started transfer, if it has changed since the last report.
    private func tellChange(_ lane: Lane, _ live: Lane.Live) {
        guard self.isHeard(.changed), live.retry != nil || live.told != .active,
            let entry = self.machine.entry(live.transfer.id.rawValue, in: lane.session), entry.isActive
        else { return }
        let record = self.record(lane, live.transfer, .active)
        guard record.state != live.told else { return }
        live.told = record.state
        self.tell(.changed(record))
    }

    /// Reports the states of the transfers that wait for their next attempt: their hosts were held or released.
    private func tellChanges(_ lane: Lane) {
        guard self.isHeard(.changed) else { return }
        for live in lane.live.values where live.retry != nil { self.tellChange(lane, live) }
    }

    /// Reports that a transfer was stopped and waits in the queue.
    private func tellStopped(_ live: Lane.Live) {
        guard self.isHeard(.changed) else { return }
        var record = self.record(live.transfer)
        record.path = live.path ?? record.path
        record.bytes = live.bytes
        record.total = live.total ?? record.total
        self.tell(.changed(record))
    }

    // MARK: Holds of hosts

    private func held(_ lane: Lane, _ hold: HostHold) {
        if let directory = hold.directory {
            self.configuration.logger.notice("\(hold.place) is \(hold.cause): \(hold.message)")
            lane.fileSystemHolds[directory] = hold
            return self.tellChanges(lane)
        }
        guard let origin = hold.origin else {
            lane.networkHold = hold
            return self.tellChanges(lane)
        }
        if lane.holds[origin] == nil {
            self.configuration.logger.notice("\(hold.place) is held: \(hold.cause)")
        }
        lane.holds[origin] = hold
        self.machine.hostHeld(lane.session, HostKey(origin).rawValue)
        self.tellChanges(lane)
    }

    private func released(_ lane: Lane, _ hold: HostHold) {
        if let directory = hold.directory {
            self.configuration.logger.notice("\(hold.place) takes files again")
            lane.fileSystemHolds[directory] = nil
            return self.tellChanges(lane)
        }
        guard let origin = hold.origin else {
            lane.networkHold = nil
            return self.tellChanges(lane)
        }
        if lane.holds.removeValue(forKey: origin) != nil {
            self.configuration.logger.notice("\(hold.place) is released")
        }
        self.machine.hostReleased(lane.session, HostKey(origin).rawValue)
        self.tellChanges(lane)
    }

    /// The causes of the holds of file systems, such as "full", the oldest first.
    var heldFileSystems: [String] {
        guard self.lanes.values.contains(where: { !$0.fileSystemHolds.isEmpty }) else { return [] }
        for lane in self.lanes.values { lane.readFileSystemHolds() }
        return self.lanes.values.flatMap(\.fileSystemHolds.values).sorted { $0.since < $1.since }.map(\.cause)
    }

    /// Returns the session event of a transfer that waits after a failed attempt.
    private func waiting(_ live: Lane.Live, _ failure: TransferFailure, _ delay: Duration) -> JSON {
        let hold = (try? HTTPURL(live.transfer.urls.first ?? "")).flatMap { live.slot.engine.hold(of: $0) }
        let reason = WaitReason(
            after: failure,
            hold: hold,
            nextAttempt: Int64((self.now + delay / .seconds(1)).rounded(.up))
        )
        let error = TransferRecord.Failure(
            failure.code,
            failure.message,
            remedy: failure.remedy(naming: Self.option),
            status: failure.status
        )
        return [
            "kind": "waiting", "id": .string(live.transfer.id.description), "reason": reason.json, "error": error.json,
        ]
    }

    /// Returns the remedy that names the daemon's option for a failure's setting.
    private static func option(_ setting: TransferFailure.Setting) -> String {
        switch setting {
        case .existingFiles: "set 'if-exists'"
        case .runningDownloads: "set 'if-running' to 'wait'"
        case .outageTimeout: "set a longer 'outage-timeout'"
        case .addresses: "if it is meant, allow it with --allow-addresses, or add it over the Unix socket"
        case .lowestRate: "lower 'lowest-speed-limit'"
        case .resourceTimeout: "set a longer 'resource-timeout'"
        case .connectTimeout: "set a longer 'connect-timeout'"
        case .trust: "trust the certificate authority of the server"
        case .credentials: "set 'http-user' and 'http-passwd'"
        case .clientCertificate: "the server asks for a client certificate, which only martlet get and put have"
        case .concurrency: "lower 'max-concurrent-downloads'"
        }
    }

    /// An engine cancelled a transfer, whose state is already stored.
    private func cancelled(_ lane: Lane, _ live: Lane.Live, _ entry: QueueLane.Entry) {
        let transfer = live.transfer
        let id = transfer.id
        lane.left(id)
        if entry.hasStarted, entry.wish == .waits, !self.isStopping { self.tellStopped(live) }
        // The note of a request that was interrupted otherwise stays: its outcome is unknown.
        if case .removed = entry.wish, !transfer.mayBeCut { self.parts.notes.clear(id) }
        if entry.hasStarted { self.recordStop(id, entry.wish, live) }
        if entry.hasStarted, live.bytes > 0 || live.path != transfer.path {
            // The progress of a paused transfer is shown from the store, and its removal deletes the file there.
            let progress = (id: id, bytes: live.bytes, total: live.total, path: live.path)
            self.later(
                { (writer) throws(QueueStoreError) in try writer.setProgress([progress]) },
                isAwaited: true,
                done: { core, _ in core.wake(id) }
            )
        } else {
            self.wake(id)
        }
        if entry.wish == .waits { self.pass(lane.session, id, ["kind": "waiting", "id": .string(id.description)]) }
    }

    private func answered(
        _ lane: Lane,
        _ live: Lane.Live,
        _ event: TransferEvent,
        _ info: TransferEvent.ResponseInfo
    ) {
        let id = live.transfer.id
        if !info.path.isEmpty { live.path = info.path }
        if let expected = info.expected { live.total = expected }
        if live.slot.key.isForDryRuns {
            live.found = info.fields["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
        }
        guard lane.session != nil, !live.hasResponse else { return }
        live.hasResponse = true
        let response: [JSON.Member] = [
            .init("status", .integer(Int64(info.status))), .init("url", .string(event.url)),
            .init("fields", .array(info.fields.map { [.string($0.name), .string($0.value)] })),
        ]
        if live.transfer.upload != nil { live.response = .object(response) }
        let json = JSON.object(
            [.init("kind", "response"), .init("id", .string(id.description))] + response
                + [.init("total", .optional(info.expected)), .init("resumedFrom", .integer(info.resumedFrom))]
        )
        self.pending.items.append(.init(session: lane.session, id: id, event: json, before: live.transfer))
        self.machine.recorded()
    }
}
