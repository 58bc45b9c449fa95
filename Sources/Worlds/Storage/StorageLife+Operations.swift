// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
import Platform
import TransferCore
import TransferEngine

extension StorageLife {
    private static let longest: Int64 = 40_000

    /// Makes one operation; what it promises is noted before and after.
    func operate() {
        let name = self.chance.pick(Self.names)
        let choice = self.chance.draw(0...99)
        if self.open != nil, choice < 70 { return self.operateOnOpenFile(choice) }
        // The next process continues the files of an earlier one, if nothing speaks against it.
        if self.open == nil, choice < 55, self.models[name]?.partial != nil { return self.resume(name) }
        switch choice {
        case 0..<20: self.create(name)
        case 20..<30: self.resume(name)
        case 30..<50: self.small(name)
        case 50..<55: self.discard(name)
        case 55..<62: self.move(name, to: Self.names[name == "f" ? 1 : 0])
        case 62..<70: self.copy(name)
        case 70..<76: self.putOther(name)
        case 76..<85: self.intrude()
        default: self.create(name)
        }
    }

    func attempt(_ text: String, _ body: () throws(StorageError) -> Void) -> StorageError? {
        self.trace.add("process \(self.process)", text)
        do throws(StorageError) {
            try body()
            self.end.count(text.split(separator: " ").first.map(String.init) ?? "")
            return nil
        } catch {
            self.trace.add("process \(self.process)", "  fails: \(error.message)")
            self.end.count("failures")
            return error
        }
    }

    func update(_ name: String, _ change: (inout StorageModel) -> Void) {
        if var model = self.models[name] {
            change(&model)
            self.models[name] = model
        }
    }

    /// Makes the facts of a version; the path of the URL has so many characters more.
    static func facts(_ version: Int, _ length: Int64, padding: Int = 0) -> ResourceFacts {
        let url = "http://a.test/f" + String(decoding: [UInt8](repeating: 0x78, count: padding), as: UTF8.self)
        return ResourceFacts(url: url, length: length, entityTag: "\"\(version)\"")
    }

    // MARK: Partial files

    private func create(_ name: String) {
        self.open = nil
        let version = self.makeVersion()
        let length = self.chance.draw(1...Self.longest)
        // Facts of more than a sector can be torn, and of more than a page be written in parts.
        let padding = self.chance.pick([0, 600, 1500, 3000, 5000])
        // The earlier content may be replaced from now on.
        self.update(name) { $0.partial = nil }
        let failure = self.attempt("creates \(name), version \(version), \(length) bytes") { () throws(StorageError) in
            let facts = Self.facts(version, length, padding: padding)
            self.open = (name, try self.store.createPartial(self.target(name), facts: facts))
        }
        guard failure == nil else { return }
        self.update(name) { $0.partial = .init(version: version, length: length) }
    }

    private func resume(_ name: String) {
        self.open = nil
        // A download does not open what its survey has found to be finished.
        if let survey = try? self.store.survey(self.target(name)), case .committed = survey.partial { return }
        let failure = self.attempt("opens \(name)") { () throws(StorageError) in
            self.open = (name, try self.store.openPartial(self.target(name)))
        }
        guard failure == nil, let file = self.open?.file else { return }
        self.checkBelieved(name, file)
        // Bytes that it does not believe are written again, perhaps under earlier facts.
        self.update(name) { model in
            if let bases = model.partial?.bases { model.partial?.bases = Self.bases(bases, file.initialExtents, file) }
        }
        // An empty one gets a new mark in its journal and in its attribute, which are not synced.
        self.update(name) { if $0.partial?.written.isEmpty == true { $0.partial?.isAnchored = false } }
        // Bytes that it believes count as durable from now on.
        if self.chance.draw(0...2) > 0, !self.disk.isDead(self.process) { self.checkpoint(name, file) }
    }

    private func discard(_ name: String) {
        if self.open?.name == name { self.open = nil }
        self.update(name) { $0.partial = nil }
        _ = self.attempt("discards \(name)") { () throws(StorageError) in
            try self.store.discardPartial(self.target(name))
        }
    }

    private func move(_ name: String, to other: String) {
        self.open = nil
        // The caller has found the partial file to be its own.
        guard let survey = try? self.store.survey(self.target(name)), case .ours = survey.partial,
            self.disk.exists(self.path(name + ".part"))
        else { return }
        let moved = self.models[name]?.partial
        for name in [name, other] {
            self.update(name) {
                $0.partial = nil
                $0.mayLookForeign = true
            }
        }
        let failure = self.attempt("moves \(name) to \(other)") { () throws(StorageError) in
            try self.store.movePartial(self.target(name), to: self.target(other))
        }
        guard failure == nil else { return }
        for name in [name, other] { self.update(name) { $0.mayLookForeign = false } }
        self.update(other) { $0.partial = moved }
    }

    private func copy(_ name: String) {
        guard let finals = self.models[name]?.finals, finals.count == 1, case .bytes(let bytes) = finals[0],
            !bytes.isEmpty,
            let version = (1..<self.nextVersion)
                .first(where: { StorageModel.bytes($0, 0..<Int64(bytes.count)) == bytes })
        else { return }
        self.open = nil
        self.update(name) { $0.partial = nil }
        let length = Int64(bytes.count) + 1000
        let rewriting = self.rewriting(name)
        let failure = self.attempt("copies \(name)") { () throws(StorageError) in
            let facts = Self.facts(version, length)
            let target = self.target(name)
            guard let file = try self.store.survey(target).existing?.file else {
                throw StorageError(.cannotOpen, "\(name) is gone")
            }
            self.intrusion = rewriting
            self.open = (name, try self.store.copyExisting(target, unchangedSince: file, facts: facts))
        }
        guard failure == nil else { return }
        self.update(name) {
            let written = 0..<Int64(bytes.count)
            $0.partial = .init(version: version, length: length, written: [written], bases: [(written, 0)])
        }
        if let file = self.open?.file { self.checkBelieved(name, file) }
    }

    private func operateOnOpenFile(_ choice: Int) {
        guard let (name, file) = self.open, let partial = self.models[name]?.partial else {
            self.open = nil
            return
        }
        switch choice {
        case 0..<25: self.write(name, file, partial, self.range(partial))
        case 25..<33: self.checkpoint(name, file)
        case 33..<45: self.changeFacts(name, file, partial)
        case 45..<48:
            _ = self.attempt("reserves \(name)") { () throws(StorageError) in
                try file.preallocate(length: partial.length)
            }
        case 48..<50:
            self.open = nil
            self.update(name) { $0.partial = nil }
            _ = self.attempt("deletes \(name)") { () throws(StorageError) in file.discard() }
        case 50..<52:
            _ = self.attempt("releases the reserve of \(name)") { () throws(StorageError) in file.releaseReserve() }
        case 52..<56:
            // It reports no failure, and so promises nothing new.
            _ = self.attempt("keeps \(name)") { () throws(StorageError) in file.keep() }
            self.open = nil
            // The error may be that of its sync.
            if self.isFaulty { self.weaken(name) }
        default: self.commit(name, file)
        }
    }

    /// Changes the facts, once or several times, and often writes and syncs bytes that depend on them.
    private func changeFacts(_ name: String, _ file: any PartialFile, _ partial: StorageModel.Partial) {
        if self.chance.draw(0...2) > 0 {
            // Bytes and facts are durable before; the crash is for what follows.
            let aim = self.aim ?? self.aimAtFacts
            (self.aim, self.aimAtFacts) = (nil, nil)
            self.checkpoint(name, file)
            self.aim = aim
        }
        for _ in 0..<self.chance.draw(1...3) {
            self.shortWrite = self.chance.draw(0...9) == 0 ? self.chance.draw(1...4000) : nil
            let failure = self.attempt("updates \(name)") { () throws(StorageError) in
                var facts = file.facts
                facts.finalURL = "http://b.test/\(self.makeVersion())"
                try file.update(facts: facts)
            }
            self.shortWrite = nil
            if failure != nil {
                // A part of the write may have destroyed facts that were not synced.
                self.weaken(name)
                // If that could not be recorded either, nothing is left that may be believed.
                let isGone = !self.disk.exists(self.path(name + ".part"))
                self.update(name) { if isGone { $0.partial = nil } }
                if isGone || self.chance.draw(0...1) == 0 { return }
                break
            }
        }
        guard self.chance.draw(0...2) > 0 else { return }
        self.write(name, file, partial, self.range(partial))
        if !self.disk.isDead(self.process) { self.checkpoint(name, file) }
    }

    private func range(_ partial: StorageModel.Partial) -> ByteRange {
        let starts = [0] + partial.written.map(\.upperBound)
        let start =
            self.chance.draw(0...2) == 0 ? self.chance.draw(0...partial.length - 1) : self.chance.pick(starts)
        return start..<min(partial.length, start + self.chance.draw(1...9000))
    }

    private func write(_ name: String, _ file: any PartialFile, _ partial: StorageModel.Partial, _ range: ByteRange) {
        guard !range.isEmpty, let extent = file.beginExtent(at: range.lowerBound) else { return }
        let bytes = StorageModel.bytes(partial.version, range)
        var position = range.lowerBound
        while position < range.upperBound {
            let end = min(range.upperBound, position + Int64(self.chance.draw(1...5000)))
            let failure = self.attempt("writes \(position)..<\(end) of \(name)") { () throws(StorageError) in
                let piece = bytes[Int(position - range.lowerBound)..<Int(end - range.lowerBound)]
                let result = piece.withUnsafeBytes { buffer in
                    Result { () throws(StorageError) in try file.write(buffer, extent: extent) }
                }
                try result.get()
            }
            guard failure == nil, !self.disk.isDead(self.process) else { break }
            let facts = Self.number(file.facts)
            self.update(name) {
                // Earlier bytes may be durable, also if the operation that made them so has failed.
                let before = $0.partial?.bases.map(\.range).sorted { $0.lowerBound < $1.lowerBound } ?? []
                for new in StorageModel.missing([position..<end], in: before) {
                    $0.partial?.bases.append((new, facts))
                }
                $0.wrote(position..<end)
            }
            position = end
        }
        if self.chance.draw(0...2) > 0 { file.endExtent(extent) }
    }

    private func checkpoint(_ name: String, _ file: any PartialFile) {
        let failure = self.attempt("makes \(name) durable") { () throws(StorageError) in try file.checkpoint() }
        guard !self.disk.isDead(self.process) else { return }
        if failure == nil {
            self.update(name) { $0.synced() }
        } else {
            self.weaken(name)
        }
    }

    /// After a failed sync, only what was durable before is promised; after a torn mark nothing, since it can be any extent's.
    func weaken(_ name: String, torn: Bool = false) {
        self.update(name) {
            $0.failedToSync()
            if torn { $0.partial?.written = [] }
            if torn { $0.partial?.durable = [] }
        }
    }

    private func commit(_ name: String, _ file: any PartialFile) {
        guard let partial = self.models[name]?.partial else { return }
        for range in StorageModel.missing([0..<partial.length], in: partial.written) {
            self.write(name, file, partial, range)
            if self.disk.isDead(self.process) { return }
        }
        guard let now = self.models[name]?.partial, now.written == [0..<now.length] else { return }
        let content = StorageModel.Content.bytes(StorageModel.bytes(now.version, 0..<now.length))
        let options = self.options(isGrouped: false)
        self.update(name) {
            if options.overwrite || $0.finals.contains(.absent) { $0.mayBecome(content) }
            guard options.durability == .none else { return }
            $0.durableFinals.append(.unknown)
            // The removal of the journal may survive a loss of power, and the file's new name not.
            if self.disk.order == .independent { $0.partial?.durable = [] }
        }
        let failure = self.attempt("finishes \(name), \(options.durability), overwriting \(options.overwrite)") {
            () throws(StorageError) in
            _ = try file.commit(as: self.target(name), length: now.length, options)
        }
        guard !self.disk.isDead(self.process) else { return }
        if failure == nil {
            self.open = nil
            self.update(name) {
                $0.partial = nil
                $0.became(content, isDurable: options.durability == .synced)
            }
        } else if failure?.code != .exists {
            self.open = nil
            self.weaken(name)
            // The last steps may have failed, after the file got its name.
            let isNamed = !self.disk.exists(self.path(name + ".part"))
            self.update(name) { if isNamed || $0.partial?.written.isEmpty == true { $0.partial = nil } }
        }
    }

    func options(isGrouped: Bool) -> CommitOptions {
        CommitOptions(
            overwrite: self.chance.draw(0...1) == 0,
            modified: self.chance.draw(0...2) == 0 ? 1_700_000_000 : nil,
            recorded: self.chance.draw(0...1) == 0 ? RecordedVersion(entityTag: "\"v\"") : nil,
            mark: self.chance.draw(0...3) == 0 ? "mark" : nil,
            durability: isGrouped
                ? self.chance.pick([.none, .synced, .grouped]) : self.chance.pick([.none, .synced, .synced]),
            report: self.chance.draw(0...5) == 0 ? .sha256 : nil
        )
    }
}
