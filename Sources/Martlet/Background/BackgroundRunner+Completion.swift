// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
internal import Control
internal import Logging
internal import Synchronization
internal import TransferCore

/// The end of the events from before the opening, and the program's completion of them.
extension BackgroundRunner {
    /// Notifies the delegates, once there is one, that all events from before the opening were delivered.
    func tellFinishIfDue() {
        guard let session = self.session else { return }
        let members = session.delegates.current
        let due: Backlog? = self.state.withLock { state in
            guard state.mayDeliver, !members.isEmpty, case .open = state.standing, let backlog = state.backlog else {
                return nil
            }
            if case .events(let end) = backlog, state.returned.handled < end { return nil }
            state.backlog = nil
            return backlog
        }
        guard let due else { return }
        let batch = EventsBatch(members.count) { [weak self] in
            if case .events(let end) = due { self?.finishEvents(upTo: end) }
        }
        for member in members {
            let completion = EventsCompletion(self.identifier, self.logger, batch)
            completion.watch()
            member.tell { $0.sessionDidFinishEvents(session) { completion.called() } }
        }
    }

    /// Reports to the daemon that the program has handled the events from before the opening.
    ///
    /// The report survives the end of the program: it is in the spool when this returns. So is the acknowledgement,
    /// which otherwise is sent some time later.
    private func finishEvents(upTo number: Int64) {
        self.state.withLock { state in
            switch state.standing {
            case .failed, .left: return
            case .opening, .open: break
            }
            let acknowledged = self.mode == .automatically ? state.handled.handled : state.wish
            let parameters: JSON = [
                "identifier": .string(self.identifier), "upTo": .integer(number),
                "acknowledged": .integer(acknowledged),
            ]
            self.putChange(.finishEvents(parameters), &state)
        }
        self.sending.send()
    }
}

/// Counts the delegates that have not completed their events.
final class EventsBatch: Sendable {
    private let remaining: Mutex<Int>
    private let onEnd: @Sendable () -> Void

    init(_ count: Int, onEnd: @escaping @Sendable () -> Void) {
        self.remaining = Mutex(count)
        self.onEnd = onEnd
    }

    func completed() {
        let isLast = self.remaining.withLock { remaining in
            remaining -= 1
            return remaining == 0
        }
        if isLast { self.onEnd() }
    }
}

/// One delegate's completion of its events; warns if the delegate does not call it.
final class EventsCompletion: Sendable {
    private let identifier: String
    private let logger: Logger?
    private let batch: EventsBatch
    private let isDone = Atomic(false)
    private let isReported = Atomic(false)

    init(_ identifier: String, _ logger: Logger?, _ batch: EventsBatch) {
        self.identifier = identifier
        self.logger = logger
        self.batch = batch
    }

    deinit { self.report("was released without being called") }

    func called() { if !self.isDone.exchange(true, ordering: .relaxed) { self.batch.completed() } }

    /// Checks after 10 seconds.
    func watch() {
        Task { [weak self] in
            try? await Task.sleep(for: .seconds(10))
            self?.report("has not been called for 10 seconds")
        }
    }

    private func report(_ what: String) {
        guard !self.isDone.load(ordering: .relaxed), !self.isReported.exchange(true, ordering: .relaxed) else { return }
        self.logger?
            .warning(
                "the completion handler of sessionDidFinishEvents \(what)",
                metadata: ["session": "\(self.identifier)"]
            )
    }
}
