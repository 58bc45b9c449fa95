// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Performs the machine's actions on the model's files, as `DownloadRun` and `DiskStore` do on real ones.
extension ModelRun {
    func perform(_ action: DownloadAction) {
        let now = Self.now
        switch action {
        case .send(let plan):
            guard self.machine.contains(plan.number) else { return }
            self.check(plan.method == "GET", "a request by \(plan.method)")
            self.exchanges.append(ModelExchange(plan))
            self.effect()
        case .close(let number): self.exchanges.removeAll { $0.number == number }
        case .endPause(let number): _ = self.machine.resumed(number, now)
        case .resume, .deliverLeftover: break
        case .deferred(let number, let step): self.perform(self.machine.deferredStep(step, number, now))
        case .release: self.slots -= 1
        case .waitForSlot(let origin, let number):
            self.afterwards {
                self.slots += 1
                self.handle { $0.slotFreed(origin, for: number, now) }
            }
        case .openConnections(let lane, let avoided):
            while let origin = self.machine.nextConnection(avoiding: avoided) {
                guard self.slots < self.scale.connections else { return }
                self.slots += 1
                self.perform(self.machine.slotAcquired(origin, lane: lane, avoiding: avoided, now))
            }
        case .survey(let target): self.perform(self.machine.surveyed(self.survey(target), now))
        case .reserveName, .reserveNextName, .compareDigests, .copyExisting, .ask, .refreshLink, .expectStreamTail,
            .beginStreamDigests, .finishStreamDigests:
            self.check(false, "an action that one file over a free name does not need: \(action)")
        case .openPartial(let target, _): self.afterwards { self.openPartial(target) }
        case .createSmall:
            self.file = .small(ModelPartial(facts: ResourceFacts(url: "")))
            _ = self.machine.smallCreated(now)
        case .createPartial(let plan): self.createPartial(plan)
        case .beginExtent(let number, let offset):
            if let index = self.index(of: number) { self.exchanges[index].position = offset }
        case .recordFacts: self.record(self.machine.facts)
        case .recordDifference(let facts): self.record(self.machine.facts ?? facts)
        case .discardPartial(let target):
            if let partial = self.disk.partials[target.name], !partial.isNamed, self.finished == nil {
                let older = self.disk.partials[Self.name]?.bytes ?? 0
                self.check(target.name != Self.name && partial.bytes <= older, "more bytes are deleted than kept")
            }
            self.disk.partials[target.name] = nil
            self.effect()
        case .checkpoint: self.effect()
        case .keepPartial: self.file = .none
        case .beginPartDigests: break
        case .finishPartDigests(let number): self.finishPartDigests(number)
        case .commitSmall(let target, let options): self.commitSmall(target, options)
        case .commitPartial(let target, let length, let options):
            self.afterwards { self.commitPartial(target, length, options) }
        case .end(let ending):
            self.check(self.ending == nil, "the run ends twice")
            self.ending = ending
            self.exchanges = []
            self.afterwards { self.close(ending) }
        case .refused, .slotsReleased, .publishTarget, .started, .respond, .progress, .note, .warn: break
        }
    }

    private func survey(_ target: FileTarget) -> FileSurvey {
        guard let partial = self.disk.partials[target.name] else { return FileSurvey(existing: nil, partial: .none) }
        guard partial.isNamed else {
            return FileSurvey(existing: nil, partial: .ours(partial.facts, written: partial.bytes))
        }
        return FileSurvey(
            existing: ExistingFile(isRegular: true, size: partial.bytes, modified: 0),
            partial: .committed
        )
    }

    private func openPartial(_ target: FileTarget) {
        self.keepLonger(target)
        guard self.ending == nil, let partial = self.disk.partials[target.name] else {
            return self.check(self.ending != nil, "a missing partial file is opened")
        }
        self.file = .partial(target.name)
        self.handle { $0.partialOpened(partial.facts, extents: partial.extents, Self.now) }
    }

    /// Keeps the second partial file that a killed run has left, if it has more bytes.
    private func keepLonger(_ target: FileTarget) {
        let newer = OlderPartial.beside(target).name
        guard self.ending == nil, let second = self.disk.partials[newer], let first = self.disk.partials[target.name],
            second.bytes > first.bytes
        else { return }
        self.move(newer, to: target.name, second)
    }

    /// Moves a partial file and its journal: the older data goes, then the journal is replaced, then the data is renamed.
    private func move(_ old: String, to new: String, _ partial: ModelPartial) {
        self.disk.partials[new]?.ranges = []
        self.effect()
        self.disk.partials[old] = nil
        self.disk.partials[new] = ModelPartial(facts: partial.facts)
        self.effect()
        self.disk.partials[new] = partial
        self.effect()
    }

    private func createPartial(_ plan: PartialPlan) {
        let current = self.file
        self.file = .none
        let letter = self.index(of: plan.request).flatMap { self.exchanges[$0].response?.letter }
        self.afterwards {
            if case .partial(let name) = current {
                if case .discard = plan.current {
                    if let old = self.disk.partials[name] { self.judgeReplacement(of: old, by: letter, plan) }
                    self.disk.partials[name] = nil
                }
                self.effect()
            }
            guard self.machine.wantsFile else { return }
            if let old = self.disk.partials[plan.target.name] {
                self.check(old.bytes == 0, "a partial file with bytes is replaced by an empty one")
            }
            self.disk.partials[plan.target.name] = ModelPartial(facts: plan.facts.value)
            self.file = .partial(plan.target.name)
            self.effect()
            self.handle { $0.partialCreated(Self.now) }
        }
    }

    private func record(_ facts: ResourceFacts?) {
        guard case .partial(let name) = self.file, let facts else { return }
        self.disk.partials[name]?.facts = facts
        self.effect()
    }

    private func finishPartDigests(_ number: Int) {
        guard let index = self.index(of: number), let response = self.exchanges[index].response else {
            return self.perform(self.machine.partDigested([:], count: -1, number, Self.now))
        }
        if response.letter.partDigest == .wrong { self.sawWrongDigest = true }
        let digest = response.letter.version.partDigest
        self.perform(self.machine.partDigested([.sha256: digest], count: response.digestCount, number, Self.now))
    }

    // MARK: The end of the file

    private func commitSmall(_ target: FileTarget, _ options: CommitOptions) {
        guard case .small(let small) = self.file else { return self.check(false, "no small file is open") }
        guard Self.digest(of: small, small.bytes, agreesWith: options) else {
            self.sawWrongDigest = true
            self.file = .none
            return self.perform(self.machine.commitFailed(StorageError(.digestMismatch, "the digest differs")))
        }
        self.judgeFile(small, small.bytes)
        self.file = .none
        self.perform(self.machine.committed(digest: nil, Self.now))
    }

    private func commitPartial(_ target: FileTarget, _ length: Int64, _ options: CommitOptions) {
        guard self.machine.isCommitting, case .partial(let name) = self.file, var partial = self.disk.partials[name]
        else { return }
        guard partial.covers(0..<length) else {
            self.check(false, "an incomplete file is to get its name")
            return self.handle { $0.commitFailed(StorageError(.inputOutput, "not all bytes were written")) }
        }
        guard Self.digest(of: partial, length, agreesWith: options) else {
            self.sawWrongDigest = true
            self.disk.partials[name] = nil
            self.file = .none
            self.effect()
            return self.handle { $0.commitFailed(StorageError(.digestMismatch, "the digest differs")) }
        }
        self.judgeFile(partial, length)
        partial.isNamed = true
        self.disk.partials[name] = partial
        self.effect()
        self.disk.partials[name] = nil
        self.file = .none
        self.effect()
        self.handle { $0.committed(digest: nil, Self.now) }
    }

    private static func digest(of file: ModelPartial, _ length: Int64, agreesWith options: CommitOptions) -> Bool {
        let versions = Set(file.ranges.map(\.version))
        var digest = ModelVersion.noDigest
        if versions.count == 1, let version = versions.first,
            file.ranges.allSatisfy({ $0.shift == 0 && !$0.isCompressed })
        {
            digest = version.digest
        }
        return options.expected.allSatisfy { $0.algorithm != .sha256 || $0.bytes == digest }
    }

    private func close(_ ending: DownloadEnding) {
        switch (ending.file, self.file) {
        case (.none, _): break
        case (.discardEarlier(let target), _): self.disk.partials[target.name] = nil
        case (.keepSmall(let target, let facts, let received), .small(let small)):
            var partial = ModelPartial(facts: facts)
            partial.ranges = small.ranges
            self.check(partial.bytes == received, "\(received) of \(partial.bytes) bytes of a small file are kept")
            self.disk.partials[target.name] = partial
        case (_, .small(let small)):
            self.check(small.bytes < 16 << 10 || self.isWrong, "a small file's bytes are deleted")
        case (.keep, .partial): self.keepOne(ending)
        case (.discard, .partial(let name)), (.setAside, .partial(let name)):
            let bytes = self.disk.partials[name]?.bytes ?? 0
            self.check(bytes == 0 || self.isWrong, "\(bytes) bytes are deleted at the end of a run")
            self.disk.partials[name] = nil
            self.keepOne(ending)
        case (.keepSmall, _), (.keep, .none), (.discard, .none), (.setAside, .none): break
        }
        self.file = .none
        self.effect()
        if case .finished(let completion) = ending.outcome, !completion.skipped { self.judgeCompletion(completion) }
    }

    private var isWrong: Bool { self.sawWrongDigest }

    /// Keeps the longer of two partial files.
    private func keepOne(_ ending: DownloadEnding) {
        guard let older = ending.older else { return }
        let newer = self.disk.partials[older.newer.name]?.bytes ?? 0
        let isLonger = newer > self.disk.partials[older.target.name]?.bytes ?? 0
        self.check(ending.newerIsLonger == isLonger || self.isWrong, "the shorter of two partial files is kept")
        if ending.newerIsLonger, let partial = self.disk.partials[older.newer.name] {
            self.move(older.newer.name, to: older.target.name, partial)
        }
        self.disk.partials[older.newer.name] = nil
    }
}
