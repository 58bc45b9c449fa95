// SPDX-License-Identifier: Apache-2.0
import FileStorage
import Platform
import TransferCore
import TransferEngine

extension StorageLife {
    // MARK: Small files

    func small(_ name: String) {
        if self.open?.name == name { self.open = nil }
        let version = self.makeVersion()
        let bytes = StorageModel.bytes(version, 0..<self.chance.draw(0...9000))
        let options = self.options(isGrouped: true)
        self.update(name) {
            if options.overwrite || $0.finals.contains(.absent) { $0.mayBecome(.bytes(bytes)) }
            if options.durability == .none { $0.durableFinals.append(.unknown) }
        }
        let failure = self.attempt("small \(name), version \(version), \(options.durability)") {
            () throws(StorageError) in
            let file = try self.store.createSmall(self.target(name))
            let result = bytes.withUnsafeBytes { buffer in
                Result { () throws(StorageError) in try file.append(buffer) }
            }
            try result.get()
            _ = try file.commit(as: self.target(name), options)
            guard options.durability == .grouped else { return }
            if let error = self.store.flushGroup([self.target(name).path]).values.first { throw error }
        }
        guard failure == nil, !self.disk.isDead(self.process) else { return }
        self.update(name) { $0.became(.bytes(bytes), isDurable: options.durability != .none) }
    }

    // MARK: Others

    /// Another program creates a file under one of the names.
    func putOther(_ name: String) {
        let path = self.path(self.chance.pick([name + ".part", name + ".part.journal", name, "other"]))
        guard self.open == nil, !self.disk.exists(path) else { return }
        let bytes = [UInt8](repeating: 0xEE, count: self.chance.draw(0...5000))
        self.trace.add("another program", "creates \(path)")
        self.disk.put(path, bytes)
        self.others[path] = bytes
        self.update(name) {
            if path.hasSuffix(".part") || path.hasSuffix(".journal") {
                $0.isTaken = true
                $0.partial = nil
            }
            if path == self.path(name) {
                $0.finals = [.bytes(bytes)]
                $0.durableFinals = [.bytes(bytes)]
            }
        }
    }

    /// Draws whether another program rewrites a finished file, and before which of the next calls.
    func rewriting(_ name: String) -> (calls: Int, act: () -> Void)? {
        let (call, isInPlace) = (self.chance.draw(1...16), self.chance.draw(0...1) == 0)
        let (version, kept) = (self.makeVersion(), self.chance.draw(0...9000))
        guard self.chance.draw(0...1) == 0 else { return nil }
        return (call, { [unowned self] in self.rewrite(name, version, keeping: isInPlace ? kept : nil) })
    }

    /// Another program writes into a finished file after the bytes that it keeps, or replaces it.
    private func rewrite(_ name: String, _ version: Int, keeping kept: Int?) {
        let path = self.path(name)
        guard let old = self.disk.contents(path), !old.isEmpty, let model = self.models[name] else { return }
        // Without its name, which is not durable, a finished file would be a partial one again after a loss of power.
        let isInPlace = kept != nil && model.durableFinals == [.bytes(old)]
        let start = isInPlace ? (kept ?? 0) % old.count : 0
        let new = StorageModel.bytes(version, Int64(start)..<Int64(old.count))
        self.trace.add("another program", "\(isInPlace ? "rewrites" : "replaces") \(path) from \(start)")
        self.end.count("rewritten files")
        if isInPlace {
            self.disk.change(path, new, at: start)
        } else {
            self.disk.put(path, new)
        }
        let content = StorageModel.Content.bytes(old.prefix(start) + new)
        self.update(name) {
            $0.finals = [content]
            $0.durableFinals = [content]
        }
    }

    /// Another process wants the open partial file.
    func intrude() {
        guard let name = self.open?.name, self.disk.features.locks, self.models[name]?.isTaken == false else { return }
        let own = self.process
        let journal = self.path(name + ".part.journal")
        // After a failed sync that could not be recorded, there is nothing left to get.
        guard self.disk.exists(journal) else { return }
        self.disk.process = own + 50
        let store = DiskStore()
        var hasTaken = true
        let choice = self.chance.draw(0...2)
        do throws(StorageError) {
            switch choice {
            case 0: _ = try store.createPartial(self.target(name), facts: Self.facts(0, 1))
            case 1: _ = try store.openPartial(self.target(name))
            default:
                try store.discardPartial(self.target(name))
                hasTaken = !self.disk.exists(journal)
            }
        } catch {
            hasTaken = false
        }
        self.disk.process = own
        self.end.count("intruders")
        if hasTaken { self.end.fail("a second process got \(name) by way \(choice) while the first had it open") }
    }
}
