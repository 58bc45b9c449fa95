// SPDX-License-Identifier: Apache-2.0
import Control
import Daemon
import TransferTesting

/// The user's requests, one after another.
extension DaemonLife {
    /// Makes the next request after its delay.
    func next() {
        guard let daemon, daemon.process.isAlive else { return }
        guard self.nextStep < self.terms.steps.count else {
            self.phase = .ending
            self.phaseBegan = self.scheduler.now
            return self.await()
        }
        let step = self.terms.steps[self.nextStep]
        self.scheduler.schedule(after: step.delay, in: daemon.process) { [unowned self] in
            self.scheduler.perform(as: nil) { self.take(step, daemon) }
        }
    }

    private func take(_ step: DaemonTerms.Step, _ daemon: WorldDaemon) {
        guard daemon.process.isAlive else { return }
        self.nextStep += 1
        if case .stop = step.kind { return self.stop() }
        guard let request = self.request(step) else { return self.next() }
        self.make(request, daemon) { [unowned self] in self.next() }
    }

    private func request(_ step: DaemonTerms.Step) -> DaemonRequest? {
        switch step.kind {
        case .add(let count, let isPaused, let atFront, let extras):
            let ids = (0..<count).compactMap { _ in self.newTransfer() }
            return .add(ids, isPaused: isPaused, atFront: atFront, extras.options)
        case .pause: return self.act(.pause, on: self.chosen(step) { $0.goals.contains(.run) && $0.end == nil }, step)
        case .resume:
            return self.act(.resume, on: self.chosen(step) { $0.goals.contains(.pause) && $0.end == nil }, step)
        case .remove(let deletes):
            return self.chosen(step) { $0.goals != [.absent] && $0.goals != [.remove] && $0.end == nil }
                .map { .act(.remove(deletesPartial: deletes), $0) }
        case .retry:
            return self.chosen(step) { $0.end == .failed || $0.goals == [.remove] }.map { .act(.retry, $0) }
        case .forget:
            return self.chosen(step) { $0.goals != [.absent] && ($0.end != nil || $0.goals == [.remove]) }
                .map { .act(.forget, $0) }
        case .priority(let priority): return self.unfinished(step).map { .act(.setPriority(priority), $0) }
        case .limit(let rate):
            return self.unfinished(step)?.first.map { .option($0, .maxDownloadLimit, "\(rate)") }
        case .mark(let number): return self.unfinished(step)?.first.map { .option($0, .header, "X-Mark: \(number)") }
        case .pauseAll: return .actOnAll(.pause)
        case .resumeAll: return .actOnAll(.resume)
        case .move(let offset, let origin):
            return self.unfinished(step)?.first.map { .move($0, by: offset, from: origin) }
        case .concurrent(let count): return .concurrent(count)
        case .hostLimit(let count): return .hostLimit(count)
        case .schedule(let wish): return .schedule(self.schedule(wish))
        case .save: return .save
        case .list, .stop: return .list
        }
    }

    private func schedule(_ wish: DaemonTerms.ScheduleWish) -> Schedule? {
        let now = DaemonSchedules.minute(ofSeconds: self.scheduler.wallNow)
        func inDay(_ minute: Int) -> Int { DaemonSchedules.minuteOfDay(minute) }
        switch wish {
        case .always: return nil
        case .opens(let start, let length, let isOnThatDay):
            return Schedule(
                start: inDay(now + start),
                end: inDay(now + start + length),
                days: isOnThatDay ? [DaemonSchedules.weekday(now + start)] : []
            )
        case .closes(let start, let length):
            return Schedule(start: inDay(now + start + length), end: inDay(now + start))
        }
    }

    private func unfinished(_ step: DaemonTerms.Step) -> [GID]? {
        self.chosen(step) { $0.goals.isSubset(of: [.run, .pause]) && $0.end == nil }
    }

    private func chosen(_ step: DaemonTerms.Step, _ isFit: (DaemonLedger.Entry) -> Bool) -> [GID]? {
        let fit = self.ledger.ids.filter { self.ledger.entries[$0].map(isFit) ?? false }
        guard !fit.isEmpty else { return nil }
        return (0..<min(step.count, fit.count)).map { fit[(step.choice + $0) % fit.count] }
    }

    /// An action on some transfers, now and then with one that has finished.
    private func act(_ action: TransferAction, on ids: [GID]?, _ step: DaemonTerms.Step) -> DaemonRequest? {
        let finished = self.ledger.ids.first { self.ledger.entries[$0]?.goals == [.run] && self.isFinished($0) }
        if step.choice % 3 == 0, let finished { return .actWrongly(action, (ids ?? []) + [finished]) }
        return ids.map { .act(action, $0) }
    }

    private func isFinished(_ id: GID) -> Bool { self.ledger.entries[id]?.end == .finished }

    private func newTransfer() -> GID? {
        let number = self.ledger.ids.count + 1
        let path = "/file\(number).bin"
        guard let id = GID(rawValue: 0x5EED_0000_0000_0000 + UInt64(number)) else { return nil }
        self.site.put(path, DaemonTerms.resource(using: &self.scheduler.random))
        self.ledger.name(id, path: path)
        return id
    }

    // MARK: Calls

    /// Makes a request; `then` is called after a response.
    func make(_ request: DaemonRequest, _ daemon: WorldDaemon, then: @escaping () -> Void) {
        self.trace.add("user", request.text(self.ledger.number))
        self.pending = request
        self.ledger.endedMeanwhile = []
        if case .schedule(let schedule) = request {
            self.schedules.set(self.ledger.schedule.union([schedule]), at: self.scheduler.now)
        }
        if case .list = request {
            self.lastSeen = []
            return daemon.call { (core) throws(ControlError) in
                try await core.list(ListQuery())
            } then: { [unowned self] result in
                guard self.answered(request, result.map { _ in }) else { return then() }
                if case .success(let records) = result { self.saw(records) }
                then()
            }
        }
        let paths = self.ledger.entries.mapValues(\.path)
        daemon.call { (core) throws(ControlError) in
            try await Self.perform(request, core, paths)
        } then: { [unowned self] result in
            _ = self.answered(request, result)
            then()
        }
    }

    private static func perform(
        _ request: DaemonRequest,
        _ core: DaemonCore,
        _ paths: [GID: String]
    ) async throws(ControlError) {
        switch request {
        case .add(let ids, let isPaused, let atFront, let options):
            let transfers = ids.map { id in
                NewTransfer(
                    id: id,
                    urls: ["http://site.example\(paths[id] ?? "/")"],
                    options: options,
                    isPaused: isPaused
                )
            }
            _ = try await core.add(transfers, at: atFront ? 0 : nil)
        case .act(let action, let ids), .actWrongly(let action, let ids):
            try await core.perform(action, on: .ids(ids))
        case .actOnAll(let action): try await core.perform(action, on: .all(session: nil))
        case .move(let id, let offset, let origin): _ = try await core.move(id, by: offset, from: origin)
        case .option(let id, let name, let value):
            try await core.changeOptions(id, TransferOptions([name.rawValue: [value]]))
        case .concurrent(let count):
            try await core.changeGlobalOptions(TransferOptions(["max-concurrent-downloads": ["\(count)"]]))
        case .hostLimit(let count): try await core.setHostLimit("site.example", count)
        case .schedule(let schedule): try await core.setSchedule(schedule)
        case .save: try await core.save()
        case .list: break
        }
    }

    /// Notes a response; returns whether the request was performed.
    private func answered(_ request: DaemonRequest, _ result: Result<Void, ControlError>) -> Bool {
        self.pending = nil
        self.answeredAt = self.scheduler.now
        if case .list = request {} else { self.heard.changedAt = self.scheduler.now }
        defer { self.schedules.set(self.ledger.schedule, at: self.scheduler.now) }
        switch result {
        case .success:
            if case .actWrongly = request { self.fail("'\(request.text(self.ledger.number))' is not refused") }
            self.ledger.done(request)
            return true
        case .failure(let error):
            self.trace.add("user", "is refused: \(error.code) \(error.message)")
            self.result.count("refused: \(error.code)")
            switch error.code {
            case .wrongState, .stopping: break
            case .notFound:
                if case .act(_, let ids) = request, ids.allSatisfy({ self.isCertain($0) }) {
                    self.fail("a transfer is not found: \(error.message)")
                }
            case .diskFull,
                .storage where self.faults.hasDatabaseTrouble:
                // A commit that failed may have reached the disk.
                self.ledger.maybeDone(request)
            default: self.fail("'\(request.text(self.ledger.number))' is refused: \(error.code) \(error.message)")
            }
            return false
        }
    }

    private func isCertain(_ id: GID) -> Bool { self.ledger.entries[id]?.goals.contains(.absent) == false }
}
