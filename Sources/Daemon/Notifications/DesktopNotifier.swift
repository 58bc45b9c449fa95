// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
package import Logging
internal import Synchronization
internal import TransferCore

/// Posts the notifications of the shared queue and of background sessions.
///
/// The calls to the session bus block, and run on a queue of this object, one at a time.
package final class DesktopNotifier: Sendable {
    /// Posts one notification and returns its number; throws a ``SessionBus/Problem``.
    typealias Post = @Sendable (DesktopNotification, UInt32) throws(SessionBus.Problem) -> UInt32

    /// The ends of transfers that became durable together.
    struct Report: Sendable {
        /// The session, or `nil` for the shared queue.
        var session: String?
        /// The name of the application; a change takes effect with the next group of notifications.
        var application: String
        var endings: [NotificationBatch.Ending]
        /// Whether no other transfer of the queue waits or runs.
        var isAllDone: Bool
        /// The events of which the user is notified.
        var wanted: Set<TransferNotification>
    }

    private struct State {
        var batches: [String?: NotificationBatch] = [:]
        /// The last problem, which is logged once.
        var problem: SessionBus.Problem?
    }

    private let post: Post
    private let logger: Logger
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "martlet.notifications")
    private let beginning = ContinuousClock.now

    /// Creates a notifier for the session bus of the environment.
    package convenience init(environment: (String) -> String?, logger: Logger) {
        let bus = SessionBus(environment: environment)
        self.init(logger: logger) { (notification, replaced) throws(SessionBus.Problem) in
            try bus.notify(notification, replacing: replaced)
        }
    }

    init(logger: Logger, post: @escaping Post) {
        self.logger = logger
        self.post = post
    }

    /// Nanoseconds since the creation.
    private var now: Int64 {
        let time = (ContinuousClock.now - self.beginning).components
        return time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
    }

    /// Notifies the user of ends, now or together with later ones; returns immediately.
    func report(_ report: Report) {
        let now = self.now
        self.state.withLock { state in
            for (session, batch) in state.batches where session != report.session && batch.isIdle(at: now) {
                state.batches[session] = nil
            }
            if state.batches[report.session]?.isIdle(at: now) ?? true {
                state.batches[report.session] = NotificationBatch(application: report.application)
            }
            state.batches[report.session]?
                .ended(report.endings, isAllDone: report.isAllDone, wanted: report.wanted, at: now)
        }
        self.proceed(report.session)
    }

    private func proceed(_ session: String?) {
        let now = self.now
        switch self.state.withLock({ $0.batches[session]?.next(at: now) }) {
        case .post(let notification, let replaced):
            self.queue.async {
                let number = self.send(notification, replaced)
                let now = self.now
                self.state.withLock { $0.batches[session]?.posted(number, at: now) }
                self.proceed(session)
            }
        case .wait(let until):
            let delay = DispatchTimeInterval.nanoseconds(Int(max(0, until - now)))
            self.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
                self?.state.withLock { $0.batches[session]?.woke() }
                self?.proceed(session)
            }
        case nil: break
        }
    }

    private func send(_ notification: DesktopNotification, _ replaced: UInt32) -> UInt32? {
        do throws(SessionBus.Problem) {
            let number = try self.post(notification, replaced)
            self.state.withLock { $0.problem = nil }
            return number
        } catch {
            let isNew = self.state.withLock { state in
                defer { state.problem = error }
                return state.problem != error
            }
            if isNew { self.log(error) }
            return nil
        }
    }

    private func log(_ problem: SessionBus.Problem) {
        switch problem {
        case .noBus(let text): self.logger.notice("there are no desktop notifications: no session bus: \(text)")
        case .noService:
            self.logger.notice("there are no desktop notifications: no notification service is on the session bus")
        case .failed(let text): self.logger.notice("a desktop notification was not posted: \(text)")
        }
    }
}
