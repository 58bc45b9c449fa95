// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Concurrency
internal import Control
internal import HTTPTransport
internal import Logging
internal import Synchronization
internal import TransferEngine

/// Delivery of the daemon's events, and their acknowledgement.
extension BackgroundRunner {
    // MARK: Transfers found in the daemon

    /// Makes tasks for unknown transfers, and ends the tasks whose transfers the daemon no longer has.
    func adopt(_ records: [TransferRecord], isFirst: Bool) {
        guard let session = self.session else { return }
        var known: Set<TransferID> = []
        for record in records {
            let id = TransferID(record.id.rawValue)
            known.insert(id)
            let isKnown = self.state.withLock { state in
                guard var entry = state.entries[id] else { return false }
                if !state.outbox.concerns(id) { entry.state = BackgroundTransfer.state(record.state) }
                entry.bytes = max(entry.bytes, record.bytes)
                entry.total = record.total ?? entry.total
                state.entries[id] = entry
                return true
            }
            // After a lost connection an ended transfer is listed because its end, already delivered, is not
            // acknowledged yet.
            if !isKnown, isFirst || !record.state.isEnd { self.adopt(record, id, session) }
        }
        let lost = self.state.withLock { state in
            state.entries.keys.filter { !known.contains($0) && !state.outbox.isAdding($0) }
        }
        for id in lost {
            let task = self.state.withLock { $0.entries[id]?.task }
            task?.facts.withLock { $0.isLost = true }
            let error = TransferError(
                .daemonUnavailable,
                "the daemon no longer knows the transfer",
                remedy: "add it again; it resumes after the bytes already received"
            )
            self.end(id, error)
        }
    }

    private func adopt(_ record: TransferRecord, _ id: TransferID, _ session: TransferSession) {
        let request: TransferRequest
        do throws(TransferError) {
            request = try BackgroundTransfer.request(record)
        } catch {
            self.logger?
                .warning("a transfer of a background session has no usable URL", metadata: ["id": "\(record.id)"])
            return
        }
        let extra = BackgroundTransfer.Extra(record.options[.userInfo])
        let task = session.registry.adopt(extra.number) { number -> TransferTask in
            if let upload = record.upload { return Self.task(upload, number, request, session) }
            let (destination, place) = BackgroundTransfer.place(record, isTemporary: extra.isTemporary)
            return DownloadTask(
                id: number,
                request: request,
                session: session,
                isPrivate: false,
                destination: destination,
                place: place
            )
        }
        task.facts.withLock { facts in
            facts.isAdopted = true
            if record.upload == nil {
                facts.bytesReceived = record.bytes
                facts.bytesTold = record.bytes
                facts.bytesExpected = record.total
            } else {
                facts.bytesSent = record.bytes
                facts.bytesToSend = record.total
            }
            facts.description = record.options[.description] ?? ""
            facts.persistentInfo = extra.info
            facts.earliestBegin = extra.begin
        }
        let isHeld = record.state == .paused && extra.begin != nil
        task.control.withLock {
            $0 = isHeld ? .held(id) : record.state == .paused ? .paused(id) : .submitted(id)
        }
        self.state.withLock { state in
            state.entries[id] = Entry(
                task: task,
                state: BackgroundTransfer.state(record.state),
                bytes: record.bytes,
                total: record.total
            )
        }
        if isHeld { task.beginLater(0) }
    }

    private static func task(
        _ upload: UploadSource,
        _ number: Int,
        _ request: TransferRequest,
        _ session: TransferSession
    ) -> UploadTask {
        UploadTask(
            id: number,
            request: request,
            session: session,
            isPrivate: false,
            body: BackgroundTransfer.body(upload),
            resumption: Resumption(name: upload.resumption) ?? .automatic,
            checksum: upload.checksum.flatMap { DigestAlgorithm(rawValue: $0) },
            record: nil
        )
    }

    // MARK: Events

    /// Delivers one event.
    func received(_ number: Int64, _ event: JSON) async {
        if number > 0 {
            let isNew = self.state.withLock { state in
                guard state.returned.came(number) else { return false }
                _ = state.handled.came(number)
                return true
            }
            guard isNew else { return }
        }
        // Releases the event when the last call for it has returned.
        let hold = number > 0 ? CallOnce { [weak self] in self?.returned(number) } : nil
        guard let session = self.session, let kind = event["kind"]?.string,
            let gid = event["id"]?.string.flatMap({ GID($0) })
        else { return }
        let id = TransferID(gid.rawValue)
        guard let task = self.state.withLock({ $0.entries[id]?.task }) else { return }
        if number > 0 { task.facts.withLock { $0.eventNumber = number } }
        let members = task.hearers
        await self.tell(kind, number, event, id, task)
        guard let hold else { return }
        // Queued after the calls for this event: when these run, those have returned.
        for member in members { member.keep(hold) }
        session.handlers.put { withExtendedLifetime(hold) {} }
    }

    private func tell(_ kind: String, _ number: Int64, _ event: JSON, _ id: TransferID, _ task: TransferTask) async {
        switch kind {
        case "started":
            task.facts.withLock { $0.waiting = nil }
            self.moved(id, task, to: .running)
        case "waiting":
            self.moved(id, task, to: .waiting)
            if let reason = event["reason"], !reason.isNull {
                task.waits(WaitReason(reason, event["error"].map { BackgroundTransfer.failure($0) }))
            }
        case "paused": self.moved(id, task, to: .paused)
        case "progress": self.progressed(event, id, task)
        case "cookies":
            if let url = event["url"]?.string.flatMap({ try? HTTPURL($0) }) {
                let values = (event["values"]?.array ?? []).compactMap(\.string)
                task.session.policy.keep(cookies: values, from: url, of: task)
            }
        case "response":
            task.tell(Self.response(event, to: task))
            task.resumed(at: event["resumedFrom"]?.integer ?? 0, expected: event["total"]?.integer)
        case "finished":
            let path = event["path"]?.string ?? ""
            var completion = TransferEvent.Completion(
                path: path,
                bytes: event["bytes"]?.integer ?? 0,
                received: event["received"]?.integer ?? 0,
                duration: .zero,
                skipped: event["skipped"]?.bool ?? false
            )
            completion.notModified = event["notModified"]?.bool ?? false
            task.isOver.store(true, ordering: .releasing)
            self.forget(id)
            if number > 0, (task as? DownloadTask)?.place.isTemporary == true {
                let file = self.hold(number)
                task.facts.withLock { $0.hold = file }
            }
            if let upload = task as? UploadTask {
                completion.sent = event["sent"]?.integer
                // An earlier run of the program may have received and acknowledged the response event.
                if let response = event["response"], !response.isNull {
                    upload.recall(Self.response(response, to: task))
                }
                upload.take(answer: event["body"]?.string.flatMap { Base64.decode($0.utf8) } ?? [])
            }
            task.succeed(completion)
        case "failed":
            task.isOver.store(true, ordering: .releasing)
            self.forget(id)
            let failure = Self.failure(event, of: task)
            task.tellResponse(of: failure)
            let error = TransferError(failure)
            await self.end(task, error, event["path"]?.string)
        case "removed":
            task.isOver.store(true, ordering: .releasing)
            self.forget(id)
            await self.end(task, .cancelled, event["path"]?.string)
        default: break
        }
    }

    /// The failure in an event, with the response that caused it, if one did.
    private static func failure(_ event: JSON, of task: TransferTask) -> TransferFailure {
        var failure = BackgroundTransfer.failure(event["error"])
        if let response = event["response"], !response.isNull {
            let url = response["url"]?.string.flatMap { try? HTTPURL($0) } ?? task.request.url
            failure.response = FailedResponse(
                url: url,
                head: Self.head(response),
                prefix: event["body"]?.string.flatMap { Base64.decode($0.utf8) } ?? []
            )
        }
        return failure
    }

    private static func head(_ event: JSON) -> ResponseHead {
        var fields = HeaderFields()
        for pair in event["fields"]?.array ?? [] {
            if let name = pair[0]?.string, let value = pair[1]?.string { fields.append(name, value) }
        }
        return ResponseHead(
            status: Int(clamping: event["status"]?.integer ?? 0),
            fields: fields,
            framing: .none
        )
    }

    private static func response(_ event: JSON, to task: TransferTask) -> TransferResponse {
        let head = Self.head(event)
        let url = event["url"]?.string.flatMap { try? HTTPURL($0) } ?? task.request.url
        // For an upload `total` is the size of the request's content.
        let length = task is UploadTask ? head.fields["Content-Length"].flatMap { Int64($0) } : event["total"]?.integer
        return TransferResponse(url: url, head: head, expectedLength: length)
    }

    private func progressed(_ event: JSON, _ id: TransferID, _ task: TransferTask) {
        let bytes = event["bytes"]?.integer ?? 0
        let total = event["total"]?.integer
        let rate = event["rate"]?.double ?? 0
        self.state.withLock { state in
            state.entries[id]?.bytes = bytes
            if let total { state.entries[id]?.total = total }
            if !state.outbox.concerns(id) { state.entries[id]?.state = .running }
        }
        let left = total.flatMap { rate > 0 ? Double(max(0, $0 - bytes)) / rate : nil }
        var progress = TransferEvent.Progress(
            bytes: bytes,
            total: total,
            rate: rate,
            secondsLeft: left,
            connections: 1
        )
        progress.sent = event["sent"]?.integer
        progress.acknowledged = event["acknowledged"]?.integer
        task.received(TransferEvent(id: id, url: "", userInfo: nil, kind: .progress(progress)))
    }

    /// Updates the task of a transfer that was paused or resumed by another client of the daemon.
    private func moved(_ id: TransferID, _ task: TransferTask, to new: TransferState) {
        let isElsewhere = self.state.withLock { state in
            guard !state.outbox.concerns(id) else { return false }
            state.entries[id]?.state = new
            return true
        }
        guard isElsewhere else { return }
        task.control.withLock { phase in
            switch (phase, new) {
            case (.submitted, .paused): phase = .paused(id)
            case (.paused, .running), (.paused, .waiting): phase = .submitted(id)
            default: break
            }
        }
    }

    // MARK: Ends

    private func forget(_ id: TransferID) { self.state.withLock { _ = $0.entries.removeValue(forKey: id) } }

    /// Ends a task with an error that has resume data.
    ///
    /// The search for the partial file may block, so it runs on the pool.
    private func end(_ task: TransferTask, _ error: TransferError, _ path: String?) async {
        guard let task = task as? DownloadTask, let path, let slash = path.lastIndex(of: "/"),
            slash != path.index(before: path.endIndex)
        else {
            return task.endInBackground(error)
        }
        let target = FileTarget(
            directory: slash == path.startIndex ? "/" : String(path[..<slash]),
            name: String(path[path.index(after: slash)...])
        )
        let data = await withCheckedContinuation { continuation in
            SharedRuntime.pool.run { continuation.resume(returning: ResumeData.survey(target, of: task)) }
        }
        task.endInBackground(TransferError(error, resumeData: data))
    }

    /// Ends a transfer that the daemon does not have.
    func end(_ id: TransferID, _ error: TransferError) {
        let task = self.state.withLock { $0.entries.removeValue(forKey: id)?.task }
        task?.endInBackground(error)
    }

    // MARK: Acknowledgement

    /// Releases an event whose calls have returned.
    private func returned(_ number: Int64) {
        self.state.withLock { state in
            state.returned.release(number)
            state.handled.release(number)
        }
        self.tellFinishIfDue()
        self.sending.send()
    }

    /// Releases an event whose file was taken.
    private func taken(_ number: Int64) {
        self.state.withLock { $0.handled.release(number) }
        self.sending.send()
    }

    /// Adds a hold to an event that is being delivered.
    ///
    /// - Returns: The hold, or `nil` if the event is already handled.
    func hold(_ number: Int64) -> CallOnce? {
        let isHeld = self.state.withLock { $0.handled.hold(number) }
        guard isHeld else { return nil }
        return CallOnce { [weak self] in self?.taken(number) }
    }

    /// Records the program's acknowledgement of events.
    func acknowledge(upTo number: Int64) {
        self.state.withLock { state in state.wish = max(state.wish, min(number, state.returned.received)) }
        self.sending.send()
    }

    /// Allows the delivery of events.
    func beginDelivery() {
        let isFirst = self.state.withLock { state in
            defer { state.mayDeliver = true }
            return !state.mayDeliver
        }
        if isFirst { self.delivering.send() }
        self.tellFinishIfDue()
    }
}

extension TransferTask {
    /// Ends the task with an error of the daemon or of the connection to it.
    func endInBackground(_ error: TransferError) {
        self.isOver.store(true, ordering: .releasing)
        self.fail(error)
    }
}
