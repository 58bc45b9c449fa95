// SPDX-License-Identifier: Apache-2.0
internal import FileStorage
import TransferCore
import TransferEngine

extension StorageLife {
    /// Compares what a crash has left with what was promised; what is there is promised from now on.
    func judge(afterLossOfPower isAfterLoss: Bool) {
        for path in self.others.keys.sorted() where self.disk.contents(path) != self.others[path] {
            if let name = Self.names.first(where: { self.path($0) == path }), self.mayBeReplaced(name) { continue }
            self.end.fail("a file of another program was changed: \(path)")
        }
        for name in Self.names { self.judge(name, isAfterLoss) }
        let known = Self.names.flatMap { [$0, $0 + ".part", $0 + ".part.journal"] } + ["other"]
        for name in self.disk.names(inDirectory: Self.directory) where !known.contains(name) {
            if name.hasPrefix(".martlet-") || name.contains(".martlet-bad") { continue }
            self.end.fail("an unknown file is left: \(name)")
        }
    }

    private func mayBeReplaced(_ name: String) -> Bool {
        (self.models[name]?.finals.count ?? 0) > 1
            || self.others[self.path(name)].map { .bytes($0) } != self.models[name]?.finals.first
    }

    private func judge(_ name: String, _ isAfterLoss: Bool) {
        guard var model = self.models[name] else { return }
        let found: StorageModel.Content = self.disk.contents(self.path(name)).map { .bytes($0) } ?? .absent
        let allowed = isAfterLoss ? model.durableFinals : model.finals
        // Without links and renameat2(2), a name is reserved with an empty file.
        let isReserved = found == .bytes([]) && self.disk.features == .exFAT
        if !allowed.contains(found), !allowed.contains(.unknown), !isReserved {
            self.end.fail("the finished file \(name) is \(Self.text(found)), not \(allowed.map(Self.text))")
        }
        // Not synced, it can have its name and not its content. Of a copy, what is left can be equal to the file before.
        let isDamaged =
            allowed.contains(.unknown) && (!allowed.contains(found) || Self.isBeginning(found, of: model.partial))
        let isCommitted =
            isDamaged
            || found != .absent
                && model.partial.map { partial in
                    found == .bytes(StorageModel.bytes(partial.version, 0..<partial.length))
                } ?? false
        model.finals = [found]
        if isAfterLoss { model.durableFinals = [found] }
        let promised = isAfterLoss ? model.partial?.durable ?? [] : model.partial?.written ?? []
        do throws(StorageError) {
            switch try self.store.survey(self.target(name)).partial {
            case .none:
                if !promised.isEmpty, !isCommitted { self.end.fail("the partial file of \(name) is lost: \(promised)") }
                model.partial = nil
            case .ours:
                let file = try self.store.openPartial(self.target(name))
                let extents = self.checkBelieved(name, file)
                let size = self.disk.contents(self.path(name + ".part"))?.count ?? 0
                self.trace.add("judge", "\(name) is resumed: \(extents) of a partial file of \(size) bytes")
                let version = Self.version(file.facts)
                let bases = model.partial.flatMap { $0.version == version ? $0.bases : nil } ?? []
                if let partial = model.partial, !isCommitted {
                    let missing = StorageModel.missing(promised, in: extents)
                    if version != partial.version, !promised.isEmpty {
                        self.end.fail("\(name) has version \(version), not \(partial.version)")
                    } else if !missing.isEmpty {
                        self.end.fail("bytes of \(name) are lost: \(missing)")
                    }
                }
                model.partial = .init(
                    version: version,
                    length: file.facts.length ?? 1,
                    written: extents,
                    durable: isAfterLoss
                        ? extents : version == model.partial?.version ? model.partial?.durable ?? [] : [],
                    isAnchored: isAfterLoss || version == model.partial?.version && model.partial?.isAnchored == true,
                    bases: Self.bases(bases, extents, file)
                )
            case .committed:
                if !isCommitted, !promised.isEmpty { self.end.fail("\(name) counts as finished, but is not") }
                model.partial = nil
                // The journal may be the one of the file before, and the name of its successor be lost.
                if isAfterLoss, self.disk.order == .independent { model.mayLookForeign = true }
            case .busy: self.end.fail("\(name) is locked by a dead process")
            case .foreign(let reason), .unpaired(_, let reason):
                let isNew = isAfterLoss && model.partial?.isAnchored != true
                let mayLookForeign =
                    model.isTaken || model.mayLookForeign || self.isFaulty || isNew
                    // Without links and renameat2(2), a name is reserved with an empty file.
                    || self.disk.features == .exFAT && self.disk.contents(self.path(name + ".part.journal")) == []
                if !mayLookForeign, !isAfterLoss || self.disk.order == .journaled {
                    self.end.fail("files of ours count as those of others: \(reason)")
                } else if !promised.isEmpty, !model.isTaken, !self.isFaulty {
                    self.end.fail("the partial file of \(name) is lost: \(reason)")
                }
                model.partial = nil
                model.isTaken = true
            }
        } catch {
            self.end.fail("\(name) cannot be examined: \(error.message)")
        }
        self.models[name] = model
    }

    /// Whether a finished file has the first bytes of a partial file's version.
    private static func isBeginning(_ content: StorageModel.Content, of partial: StorageModel.Partial?) -> Bool {
        guard let partial, case .bytes(let bytes) = content, bytes.count < partial.length else { return false }
        return bytes == StorageModel.bytes(partial.version, 0..<Int64(bytes.count))
    }

    private static func text(_ content: StorageModel.Content) -> String {
        switch content {
        case .absent: "absent"
        case .unknown: "unknown"
        case .bytes(let bytes): "\(bytes.count) bytes (\(bytes.prefix(4)))"
        }
    }

    private static func version(_ facts: ResourceFacts) -> Int {
        Int(facts.entityTag?.filter(\.isNumber) ?? "") ?? -1
    }

    /// What is known of the facts under which bytes were written, and for the others the facts that they have now.
    ///
    /// Bytes that were lost have none: they are written again, perhaps under the facts that a loss of power has left.
    static func bases(
        _ known: [(range: ByteRange, facts: Int)],
        _ extents: [ByteRange],
        _ file: any PartialFile
    ) -> [(range: ByteRange, facts: Int)] {
        let kept = known.flatMap { basis in
            extents.map { (range: basis.range.clamped(to: $0), facts: basis.facts) }.filter { !$0.range.isEmpty }
        }
        let covered = kept.map(\.range).sorted { $0.lowerBound < $1.lowerBound }
        let others = extents.flatMap { StorageModel.missing([$0], in: covered) }
        return kept + others.map { ($0, self.number(file.facts)) }
    }

    /// How often the facts were changed.
    static func number(_ facts: ResourceFacts) -> Int { Int(facts.finalURL.filter(\.isNumber)) ?? 0 }

    /// Checks that every byte that a partial file vouches for is of its version, and was not written under later facts:
    /// these may say that a comparison is needed, or of which response the bytes are.
    @discardableResult
    func checkBelieved(_ name: String, _ file: any PartialFile) -> [ByteRange] {
        let (version, number) = (Self.version(file.facts), Self.number(file.facts))
        for extent in file.initialExtents {
            if let partial = self.models[name]?.partial, partial.version == version,
                let basis = partial.bases.first(where: { $0.range.overlaps(extent) && $0.facts > number })
            {
                self.end.fail(
                    "\(name) vouches for \(basis.range), which has facts \(basis.facts), with facts \(number)"
                )
            }
            do throws(StorageError) {
                let (bytes, right) = (try file.read(extent), StorageModel.bytes(version, extent))
                if bytes != right {
                    let offset = extent.lowerBound + Int64(zip(bytes, right).prefix { $0 == $1 }.count)
                    self.end.fail("\(name) vouches for \(extent) of version \(version), but byte \(offset) is wrong")
                }
            } catch {
                if !self.disk.isDead(self.process), !self.isFaulty {
                    self.end.fail("\(name) cannot be read: \(error.message)")
                }
            }
        }
        return file.initialExtents
    }
}
