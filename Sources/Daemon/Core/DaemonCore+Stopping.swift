// SPDX-License-Identifier: Apache-2.0
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
    package nonisolated func stop(isForced: Bool) {
        let isFirst = self.snapshot.withLock { snapshot in
            defer { if snapshot.stop == .no { snapshot.stop = .asked } }
            return snapshot.stop == .no
        }
        if isFirst { Task { await self.shutDown(isForced: isForced) } }
    }

    /// Returns when the core has stopped and the store is closed.
    package func waitUntilStopped() async {
        if self.snapshot.withLock({ $0.stop == .done }) { return }
        await withCheckedContinuation { self.stopWaiters.append($0) }
    }

    private func shutDown(isForced: Bool) async {
        self.isStopping = true
        self.machine.hold(.stopping)
        self.pump()
        for state in self.sessions.values { state.reader?.finish() }
        let engines = self.lanes.values.flatMap(\.engines)
        await self.stop(engines, within: isForced ? .milliseconds(500) : .seconds(4))
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
