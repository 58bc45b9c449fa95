// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Logging
internal import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

/// Ends of transfers, which are stored before they are reported.
extension DaemonCore {
    /// Records the end of a transfer that finished or failed, to be stored.
    func ended(
        _ lane: Lane,
        _ transfer: StoredTransfer,
        completion: TransferEvent.Completion? = nil,
        answer: [UInt8]? = nil,
        failure: TransferRecord.Failure? = nil,
        response: FailedResponse? = nil
    ) {
        let id = transfer.id
        guard self.machine.entry(id.rawValue, in: lane.session).map({ $0.phase != .ended }) ?? false else { return }
        guard self.machine.ended(lane.session, id.rawValue) else {
            // The transfer was removed: that end is already stored.
            lane.left(id)
            return self.wake(id)
        }
        let live = lane.live[id]
        // A dry run receives nothing: its result is the length in the response.
        let length = live?.found ?? completion?.bytes
        var end = StoredEnd(
            id: id,
            state: completion == nil ? .failed : .finished,
            path: live?.path ?? transfer.path,
            bytes: length ?? live?.bytes ?? transfer.bytes,
            total: length ?? live?.total ?? transfer.total,
            failure: failure,
            at: self.now
        )
        if let failure {
            self.history.record(id, .ended(.failed(failure.text), bytes: end.bytes), at: end.at)
            end.attempts = self.history.attemptsToStore(of: id, since: transfer.added)
        }
        end.standing = live?.standing
        var event: JSON?
        if lane.session != nil {
            if let completion {
                event = Self.finished(id, completion, answer, live?.response)
            } else {
                event = Self.failed(id, failure, end.path, response)
            }
        }
        self.pending.items.append(.init(session: lane.session, id: id, end: end, event: event, before: transfer))
        self.machine.recorded()
        self.wake(id)
    }

    /// Returns the session event of a finished transfer; for an upload it includes the server's response.
    private static func finished(
        _ id: GID,
        _ completion: TransferEvent.Completion,
        _ answer: [UInt8]?,
        _ response: JSON?
    ) -> JSON {
        var members: [JSON.Member] = [
            .init("kind", "finished"), .init("id", .string(id.description)), .init("path", .string(completion.path)),
            .init("bytes", .integer(completion.bytes)), .init("received", .integer(completion.received)),
        ]
        if let answer {
            members.append(.init("sent", .optional(completion.sent)))
            members.append(.init("response", response ?? .null))
            members.append(.init("body", .string(Base64.encode(answer))))
        } else {
            members.append(.init("skipped", .bool(completion.skipped)))
            members.append(.init("notModified", .bool(completion.notModified)))
        }
        return .object(members)
    }

    /// Returns the session event of a failed transfer, with the response that caused the failure, if one did.
    private static func failed(
        _ id: GID,
        _ failure: TransferRecord.Failure?,
        _ path: String?,
        _ response: FailedResponse?
    ) -> JSON {
        var members: [JSON.Member] = [
            .init("kind", "failed"), .init("id", .string(id.description)), .init("error", failure?.json ?? .null),
            .init("path", .optional(path)),
        ]
        if let response {
            let fields = JSON.array(response.head.fields.map { [.string($0.name), .string($0.value)] })
            members.append(
                .init(
                    "response",
                    [
                        "status": .integer(Int64(response.head.status)),
                        "url": .string(response.url.withoutUserInfo), "fields": fields,
                    ]
                )
            )
            members.append(.init("body", .string(Base64.encode(response.prefix))))
        }
        return .object(members)
    }

    // MARK: Storing

    /// Stores the recorded ends and events, one batch at a time; later ones form the next batch.
    func storeRecords() {
        var batch = self.pending
        self.pending = EndBatch()
        for index in batch.items.indices where batch.items[index].event != nil {
            // A late event must not create a deleted session again.
            guard let session = batch.items[index].session, self.sessions[session] == nil else { continue }
            batch.items[index].event = nil
        }
        let written = batch
        let touched = Set(batch.items.lazy.filter { $0.end != nil }.map(\.session))
        self.later(
            { (writer) throws(QueueStoreError) in try written.write(writer) },
            touching: { _ in touched },
            done: { core, result in core.stored(written, result) }
        )
    }

    private func stored(_ batch: EndBatch, _ result: Result<[EndBatch.Outcome], QueueStoreError>) {
        switch result {
        case .success(let outcomes):
            if self.isFull { self.configuration.logger.notice("the queue's disk has free space again") }
            self.machine.stored()
            self.storeWorks()
            for (item, outcome) in zip(batch.items, outcomes) { self.settle(item, outcome) }
            self.notify(batch, outcomes)
        case .failure(let error):
            guard error.code != .closed else { return }
            if error.code == .full, !self.isFull {
                self.configuration.logger.error(
                    "the queue's disk is full; the queue is held until space is free"
                )
            }
            let text = error.code == .full ? "the queue's disk is full" : error.message
            self.snapshot.withLock { $0.trouble = text }
            self.pending.items = batch.items + self.pending.items
            self.machine.storingFailed(
                isFull: error.code == .full,
                now: self.uptime,
                pause: Int64(self.configuration.fullRetry * 1e9)
            )
        }
    }

    private func settle(_ item: EndBatch.Item, _ outcome: EndBatch.Outcome) {
        if let session = item.session, outcome.number > 0 {
            self.stored(session, outcome.number, isEnd: item.end != nil)
        }
        guard let end = item.end else { return }
        let lane = self.lanes[item.session]
        // Before the end is reported: it is stored, so no request can be repeated any more.
        if !item.before.mayBeCut { self.parts.notes.clear(item.id) }
        if outcome.before != nil {
            self.endedInAll += 1
            if self.isHeard(end.state == .finished ? .finished : .failed) {
                let record = TransferRecord(lane?.live[item.id]?.transfer ?? item.before, end: end)
                self.tell(end.state == .finished ? .finished(record) : .failed(record))
            }
        }
        self.machine.endStored(item.session, item.id.rawValue)
        lane?.left(item.id)
        self.wake(item.id)
    }
}
