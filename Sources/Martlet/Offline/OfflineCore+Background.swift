// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import TransferEngine

/// A list whose downloads are tasks of a background session.
///
/// The list records the wanted state, the session has the actual one. The download's id, stored as the task's
/// ``TransferTask/persistentInfo``, connects the two. Until the daemon has reported its tasks, no download is touched,
/// so that none gets a second task; meanwhile the session holds back its events, so that none is missed.
extension OfflineCore {
    /// Connects the downloads with the existing tasks once these are known.
    func match(_ background: BackgroundRunner) {
        background.whenOpened { error in
            self.disk.put {
                guard !self.state.withLock({ $0.isClosed || $0.isMatched }) else { return }
                if error == nil || self.session.failure != nil { self.matchNow() } else { self.match(background) }
            }
        }
    }

    private func matchNow() {
        var (tasks, superfluous): ([String: DownloadTask], [DownloadTask]) = ([:], [])
        for task in self.session.currentTasks.download {
            // A task that has ended may have a successor, which takes precedence.
            guard let other = tasks[task.persistentInfo] else {
                tasks[task.persistentInfo] = task
                continue
            }
            let (stays, goes) = self.isLive(other) ? (other, task) : (task, other)
            tasks[task.persistentInfo] = stays
            if self.isLive(goes) { superfluous.append(goes) }
        }
        let ids = self.state.withLock { state in
            for id in state.active { if let task = tasks[id] { self.attach(task, to: id, &state) } }
            state.isMatched = true
            return state.active
        }
        for task in superfluous { task.cancel(keeping: true) }
        for id in ids { self.reconcile(id) }
        self.session.beginDelivery()
        self.scheduleSave()
    }

    /// Continues a download with an existing task.
    private func attach(_ task: DownloadTask, to id: String, _ state: inout State) {
        guard var entry = state.entries[id] else { return }
        if entry.record.standing == .failed {
            // Its failure was delivered but not acknowledged; or another client of the daemon restarted it.
            guard self.isLive(task), entry.resume() else { return }
            state.changed(id)
            self.tellState(id, entry)
        }
        let runner = OfflineRunner(id: id, core: self)
        task.addDelegate(runner, on: .anyThread)
        let isResting = task.state == .suspended
        entry.work = .running(task, runner, isResting ? .rest : .go)
        let (received, expected) = task.facts.withLock { ($0.bytesReceived, $0.bytesExpected) }
        entry.record.received = entry.discards ? 0 : max(entry.record.received, received)
        entry.record.expected = expected ?? entry.record.expected
        state.entries[id] = entry
    }

    private func isLive(_ task: DownloadTask) -> Bool {
        switch task.transferID.flatMap({ self.session.runner.state(of: $0) }) {
        case .running, .waiting, .retrying, .paused: true
        case nil, .finished, .failed, .cancelled: false
        }
    }

    /// Interrupts a download of a session that has failed, until the next opening or the owner's decision.
    func interrupt(_ id: String, _ error: TransferError) {
        self.state.withLock { state in
            guard var entry = state.entries[id], entry.isWanted else { return }
            if case .running = entry.work { return }
            entry.isInterrupted = true
            entry.error = error
            state.entries[id] = entry
            self.tellState(id, entry)
        }
    }

    // MARK: End

    /// Releases the session once the daemon has received all decisions; the daemon continues the transfers.
    func leave(_ background: BackgroundRunner) {
        background.whenOpened { _ in
            // Queued after the calls made when the session was opened, and after all decisions.
            self.disk.put {
                background.close(
                    .leaving([
                        {
                            self.disk.put {
                                self.state.withLock { $0.hasLeft = true }
                                self.closeIfQuiet()
                            }
                        }
                    ])
                )
            }
        }
    }

    /// Releases the tasks of a closed list; the next opening takes them over.
    func letGo() {
        let works = self.state.withLock { state in
            state.isMatched = false
            let works = state.entries.values.map(\.work)
            for id in state.entries.keys { state.entries[id]?.work = .none }
            return works
        }
        self.session.leave()
        // Outside the lock: these may be the last references.
        withExtendedLifetime(works) {}
    }
}
