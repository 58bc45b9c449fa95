// SPDX-License-Identifier: Apache-2.0
package import Control
internal import QueueStore
internal import TransferCore
internal import TransferEngine

extension DaemonCore {
    /// Returns the attempts, the last response and the log of a transfer.
    ///
    /// After a restart, only a failed transfer has its last attempts.
    package func details(_ id: GID) async throws(ControlError) -> TransferDetails {
        let found = try await self.read { (reader) throws(QueueStoreError) in try reader.transfer(id) }
        guard let found else { throw ControlError(.notFound, "the transfer \(id) does not exist") }
        if let details = self.history.details(of: id, since: found.added) { return details }
        var attempts = found.attempts
        if let last = attempts.indices.last, let failure = found.failure { attempts[last].message = failure.message }
        return TransferDetails(attempts: attempts)
    }

    /// Records an event of an engine.
    func recordDetail(_ id: GID, _ event: TransferEvent, _ live: Lane.Live) {
        let detail: TransferHistory.Event
        switch event.kind {
        case .started: detail = .started(url: event.url)
        case .response(let info):
            detail = .response(
                status: info.status,
                expected: info.expected,
                resumedFrom: info.resumedFrom,
                fields: info.fields
            )
        case .retrying(let failure, let attempt, let delay):
            self.recordResponse(id, failure)
            detail = .retrying(failure.message, attempt: attempt, delay: delay, bytes: live.bytes)
        case .note(let text), .warning(let text): detail = .note(text)
        case .finished(let completion):
            detail = .finished(
                bytes: completion.bytes,
                duration: completion.duration,
                isSkipped: completion.skipped
            )
        case .failed(let failure): return self.recordResponse(id, failure)
        case .progress, .paused, .cancelled, .drained, .missed, .held, .released: return
        }
        self.history.record(id, detail, at: self.now)
    }

    /// Records the response that caused a failure; engines report only those without a failure.
    private func recordResponse(_ id: GID, _ failure: TransferFailure) {
        guard let head = failure.response?.head else { return }
        let detail = TransferHistory.Event.response(
            status: head.status,
            expected: head.fields["Content-Length"].flatMap { Int64($0) },
            resumedFrom: 0,
            fields: head.fields
        )
        self.history.record(id, detail, at: self.now)
    }

    /// Records that an engine released a transfer before its end.
    func recordStop(_ id: GID, _ wish: QueueLane.Wish, _ live: Lane.Live) {
        let text: EventText =
            switch wish {
            case .paused: .paused
            case .waits: self.waitReason(of: live.transfer.session).map { .stopped($0.text) } ?? .stopped()
            case .removed: .removed
            }
        self.history.record(id, .ended(text, bytes: live.bytes), at: self.now)
    }
}
