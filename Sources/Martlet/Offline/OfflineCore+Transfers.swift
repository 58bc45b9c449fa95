// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
internal import Concurrency
internal import TransferCore
internal import Files
internal import Synchronization
internal import TransferEngine

/// The transfers of the downloads: starting and ending tasks, and handling their events.
extension OfflineCore {
    private enum Step {
        case start(TransferRequest, String)
        case go(DownloadTask)
        case rest(DownloadTask)
        case cut(DownloadTask, keeping: Bool)
        case discard(String, deletingFile: Bool)
        case nothing
    }

    /// Performs the next step towards the decided state; on the disk queue.
    func reconcile(_ id: String) {
        if let error = self.session.failure { return self.interrupt(id, error) }
        let step: Step = self.state.withLock { state in
            guard state.isMatched, let entry = state.entries[id] else { return .nothing }
            let isWanted = entry.isWanted && (self.isBackground || !state.isClosing)
            switch entry.work {
            case .running(let task, let runner, let order):
                let next = self.order(entry, isWanted: isWanted)
                guard next != order, order != .end else { return .nothing }
                state.entries[id]?.work = .running(task, runner, next)
                switch next {
                case .go: return .go(task)
                case .rest: return .rest(task)
                case .end: return .cut(task, keeping: !entry.discards)
                }
            case .none:
                if entry.discards { return .discard(entry.record.name, deletingFile: entry.deletesFile) }
                return isWanted ? .start(entry.request, entry.record.name) : .nothing
            }
        }
        switch step {
        case .nothing: return
        case .go(let task): task.resume()
        case .rest(let task): task.suspend()
        case .cut(let task, let keeping): task.cancel(keeping: keeping)
        case .start(let request, let name): self.start(id, request, name)
        case .discard(let name, let deletingFile): self.discard(id, name, deletingFile: deletingFile)
        }
    }

    /// The order for a task; a task of this process cannot be paused, because it would end with the process.
    private func order(_ entry: OfflineEntry, isWanted: Bool) -> OfflineEntry.Order {
        if entry.discards { return .end }
        if isWanted { return .go }
        return self.isBackground && entry.record.standing == .suspended ? .rest : .end
    }

    private func start(_ id: String, _ request: TransferRequest, _ name: String) {
        let target = self.target(name)
        // An existing file may be this download's, complete, from a run that was killed before it recorded that; the
        // server decides.
        var rule = Destination.ExistingFileRule.fail
        do throws(StorageError) {
            let survey = try self.session.store.survey(target)
            if survey.existing != nil, case .none = survey.partial { rule = .keepIfSame }
        } catch {
            // Unknown: a file may exist.
            rule = .keepIfSame
        }
        do throws(TransferError) {
            let task = try self.session.makeDownload(request, .file(target.path, ifExists: rule), isPrivate: false)
            task.persistentInfo = id
            let runner = OfflineRunner(id: id, core: self)
            task.addDelegate(runner, on: .anyThread)
            let now = self.now
            self.state.withLock { state in
                state.entries[id]?.work = .running(task, runner, .go)
                var meter = RateMeter()
                // The first report has a rate, too.
                meter.record(state.entries[id]?.record.received ?? 0, at: now)
                state.entries[id]?.meter = meter
                if state.meter.rate(at: now) == 0 { state.meter.record(state.received, at: now) }
            }
            task.resume()
        } catch {
            self.fail(id, error)
            self.scheduleSave()
        }
    }

    private func discard(_ id: String, _ name: String, deletingFile: Bool) {
        if deletingFile { FileMover.remove(self.target(name).path) }
        let isGone = self.discard(name)
        let isForgotten = self.state.withLock { state in
            state.entries[id]?.discards = false
            // A failed deletion is repeated at the next start.
            guard isGone, state.entries[id]?.isRemoved == true else { return false }
            state.entries[id] = nil
            state.active.removeAll { $0 == id }
            state.changed(id)
            return true
        }
        if isForgotten { self.scheduleSave() } else { self.reconcile(id) }
    }

    /// Deletes the partial file of a name; returns whether it is gone.
    func discard(_ name: String) -> Bool {
        do throws(StorageError) {
            try self.session.store.discardPartial(self.target(name))
            return true
        } catch {
            return false
        }
    }

    // MARK: Events of tasks

    /// Records progress.
    func received(_ progress: TransferProgress, of id: String) {
        let now = self.now
        self.state.withLock { state in
            guard var entry = state.entries[id], !entry.discards else { return }
            let new = progress.bytesReceived - entry.record.received
            entry.record.received = progress.bytesReceived
            entry.record.expected = progress.bytesExpected ?? entry.record.expected
            entry.meter.record(progress.bytesReceived, at: now)
            state.entries[id] = entry
            guard new > 0 else { return }
            state.received += new
            state.meter.record(state.received, at: now)
            let (download, expected) = (self.handle(id, entry), entry.record.expected)
            self.tell(entry) {
                $0.download(download, didWrite: new, total: progress.bytesReceived, expected: expected)
            }
        }
    }

    /// Handles the end of a task; called on the thread of a callback.
    ///
    /// - Parameters:
    ///   - id: The id of the download.
    ///   - result: The result of the task.
    ///   - isLost: Whether the daemon no longer has the transfer.
    ///   - hold: Released once the list on disk has the end, so that the daemon may delete the event.
    func ended(
        _ id: String,
        _ result: Result<DownloadedFile, TransferError>,
        isLost: Bool = false,
        hold: CallOnce? = nil
    ) {
        self.disk.put {
            guard !self.state.withLock({ $0.isClosed }) else { return }
            switch result {
            case .success(let file): self.succeed(id, file)
            case .failure(let error):
                self.fail(id, error, isDecided: !isLost && self.session.failure?.code != error.code)
            }
            if let hold { self.state.withLock { $0.holds.append(hold) } }
            self.reconcile(id)
            self.scheduleSave()
        }
    }

    private func succeed(_ id: String, _ file: DownloadedFile) {
        self.state.withLock { state in
            guard var entry = state.entries[id] else { return }
            entry.work = .none
            self.takeName(&entry, of: file.path)
            entry.record.received = file.size
            entry.record.expected = file.size
            if !entry.isRemoved {
                entry.record.standing = .finished
                entry.record.failure = nil
                entry.discards = false
                state.active.removeAll { $0 == id }
                state.finished.append(id)
                state.untold.append(id)
                self.tellState(id, entry)
            }
            state.entries[id] = entry
            state.changed(id)
            Self.forgetOldest(&state, beyond: max(1, self.finishedLimit))
        }
    }

    /// Handles a failed task; the download fails unless its owner ended the task or the daemon lost it.
    private func fail(_ id: String, _ error: TransferError, isDecided: Bool = true) {
        let known = error.resumeData?.contents.name ?? self.state.withLock { $0.entries[id]?.record.name }
        guard let known else { return }
        let left = self.left(known, self.state.withLock { $0.entries[id]?.record.expected })
        self.state.withLock { state in
            guard var entry = state.entries[id] else { return }
            let wasCut = if case .running(_, _, .end) = entry.work { true } else { false }
            entry.work = .none
            entry.record.name = known
            entry.record.received = entry.discards ? 0 : left.bytes
            entry.record.expected = left.length ?? entry.record.expected
            if isDecided, entry.record.standing == .downloading, !(wasCut && error.code == .cancelled) {
                entry.record.standing = .failed
                entry.record.failure = OfflineRecord.Failure(error)
                entry.error = error
                state.changed(id)
                self.tellState(id, entry)
            }
            state.entries[id] = entry
        }
    }

    /// Adopts the name that the engine chose because another process had taken the wanted one.
    private func takeName(_ entry: inout OfflineEntry, of path: String) {
        guard let name = path.split(separator: "/").last, self.target(String(name)).path == path else { return }
        entry.record.name = String(name)
    }
}

/// Passes the events of a download's task to its list, and keeps the list alive as long as the task.
final class OfflineRunner: TransferDelegate {
    private let id: String
    private let core: OfflineCore

    init(id: String, core: OfflineCore) {
        self.id = id
        self.core = core
    }

    func task(_ task: TransferTask, didMake progress: TransferProgress) { self.core.received(progress, of: self.id) }

    func task(_ task: DownloadTask, didEndWith result: Result<DownloadedFile, TransferError>) {
        let (isLost, number) = task.facts.withLock { ($0.isLost, $0.eventNumber) }
        let hold = number.flatMap { task.session.background?.hold($0) }
        self.core.ended(self.id, result, isLost: isLost, hold: hold)
    }
}
