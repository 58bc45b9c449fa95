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
        let batch = EventsBatch(members.count) { [weak self] isExplicit in
            if case .events(let end) = due { self?.finishEvents(upTo: isExplicit ? end : 0) }
        }
        for member in members {
            let completion = EventsCompletion(self.identifier, self.logger, batch)
            completion.watch()
            member.tell { $0.sessionDidFinishEvents(session) { completion.called() } }
        }
    }

    /// Reports to the daemon that the program has handled events: those up to a number, and the acknowledged ones.
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
                "identifier": .string(self.identifier), "upTo": .integer(max(number, acknowledged)),
                "acknowledged": .integer(acknowledged),
            ]
            self.putChange(.finishEvents(parameters), &state)
        }
        self.sending.send()
    }
}

/// Counts the delegates that have not completed their events.
final class EventsBatch: Sendable {
    private struct State {
        var remaining: Int
        var isExplicit = true
    }

    private let state: Mutex<State>
    private let onEnd: @Sendable (_ isExplicit: Bool) -> Void

    init(_ count: Int, onEnd: @escaping @Sendable (_ isExplicit: Bool) -> Void) {
        self.state = Mutex(State(remaining: count))
        self.onEnd = onEnd
    }

    /// A delegate completed its events; implicitly, if it does not implement the method.
    func completed(isImplicit: Bool) {
        let state = self.state.withLock { state in
            state.remaining -= 1
            if isImplicit { state.isExplicit = false }
            return state
        }
        if state.remaining == 0 { self.onEnd(state.isExplicit) }
    }
}

/// One delegate's completion of its events; warns if the delegate does not call it.
final class EventsCompletion: Sendable {
    /// Whether the default implementation of the delegate's method calls: then the program has not said that it has
    /// handled more than it has acknowledged.
    @TaskLocal static var isImplicit = false

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

    func called() {
        if !self.isDone.exchange(true, ordering: .relaxed) { self.batch.completed(isImplicit: Self.isImplicit) }
    }

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
