// SPDX-License-Identifier: Apache-2.0
internal import Concurrency
package import Control
internal import Logging
internal import QueueStore
internal import Synchronization
internal import TransferCore
internal import TransferEngine

extension DaemonCore {
    /// Writes unsaved progress and the file of `save-session`; returns when all earlier changes are durable.
    package func save() async throws(ControlError) {
        let progress = self.progressToStore()
        try await self.change({ (writer) throws(QueueStoreError) in
            if !progress.isEmpty { try writer.setProgress(progress) }
        })
        try await self.saveSession()
    }

    /// Starts stopping; returns immediately.
    ///
    /// Requests that must not be repeated are completed first, for at most 10 seconds.
    ///
    /// - Parameter isForced: Whether to interrupt them, also those for which an earlier call waits.
    package nonisolated func stop(isForced: Bool) {
        let isFirst = self.snapshot.withLock { snapshot in
            defer { if snapshot.stop == .no { snapshot.stop = .asked } }
            return snapshot.stop == .no
        }
        if isFirst {
            Task { await self.shutDown(isForced: isForced) }
        } else if isForced {
            Task { await self.stopWaiting() }
        }
    }

    private func stopWaiting() {
        self.isStopForced = true
        self.completion?.now()
    }

    /// Returns when the core has stopped and the store is closed.
    package func waitUntilStopped() async {
        if self.snapshot.withLock({ $0.stop == .done }) { return }
        await withCheckedContinuation { self.stopWaiters.append($0) }
    }

    /// The maximum time for requests that must not be repeated.
    private static let completionTime = Duration.seconds(10)

    private func shutDown(isForced: Bool) async {
        self.isStopping = true
        if isForced { self.isStopForced = true }
        self.machine.hold(.stopping)
        self.pump()
        for state in self.sessions.values { state.reader?.finish() }
        let engines = self.lanes.values.flatMap(\.engines)
        await self.completeUnrepeatable(engines)
        await self.stop(engines, within: self.isStopForced ? .milliseconds(500) : .seconds(4))
        self.drain()
        let progress = self.progressToStore()
        // Even without progress: after this transaction the results of earlier ones are known, and later ends follow.
        do throws(QueueStoreError) {
            try await self.store.write { (writer) throws(QueueStoreError) in
                if !progress.isEmpty { try writer.setProgress(progress) }
            }
        } catch {
            self.configuration.logger.warning("progress was not stored: \(error.message)")
        }
        // The store closes after all enqueued transactions, including ends that occurred in the meantime.
        self.drain()
        await self.saveSessionLogged()
        await self.store.close()
        self.drain()
        self.hasStopped = true
        self.timer?.cancel()
        self.endSignals()
        for task in self.work { task.cancel() }
        for waiters in self.leaveWaiters.values { for waiter in waiters { waiter.resume() } }
        self.leaveWaiters = [:]
        for waiters in self.orderWaiters.values { for waiter in waiters { waiter.resume() } }
        self.orderWaiters = [:]
        self.broadcast.finish()
        self.snapshot.withLock { $0.stop = .done }
        for waiter in self.stopWaiters { waiter.resume() }
        self.stopWaiters = []
    }

    /// Completes the requests in progress that must not be repeated, while all others are stopped.
    private func completeUnrepeatable(_ engines: [TransferEngine]) async {
        let count = self.unrepeatableCount
        guard count > 0, !self.isStopForced else { return }
        self.configuration.logger.notice(
            "requests that must not be repeated are completed first, for at most 10 s; a second signal ends that",
            metadata: ["requests": "\(count)"]
        )
        await withCheckedContinuation { continuation in
            let end = CallOnce { continuation.resume() }
            self.completion = end
            let timer = Task {
                await self.configuration.clock.sleep(Self.completionTime)
                end.now()
            }
            Task {
                await withTaskGroup(of: Void.self) { stops in
                    for engine in engines { stops.addTask { await engine.stop(completingUnrepeatable: true) } }
                }
                end.now()
                timer.cancel()
            }
        }
        self.completion = nil
    }

    /// The number of running transfers whose requests must not be repeated.
    private var unrepeatableCount: Int {
        self.lanes.values.reduce(0) { count, lane in
            count
                + lane.live.count { id, live in
                    !live.transfer.mayBeCut && self.machine.entry(id.rawValue, in: lane.session)?.phase == .running
                }
        }
    }

    /// Stops engines, and returns after `limit` even if a disk does not respond.
    private nonisolated func stop(_ engines: [TransferEngine], within limit: Duration) async {
        await withCheckedContinuation { continuation in
            // Not a task group around both: it would wait for an engine that never stops.
            let end = CallOnce { continuation.resume() }
            let timer = Task {
                await self.configuration.clock.sleep(limit)
                end.now()
            }
            Task {
                await withTaskGroup(of: Void.self) { stops in
                    for engine in engines { stops.addTask { await engine.stop() } }
                }
                end.now()
                timer.cancel()
            }
        }
    }
}
