// SPDX-License-Identifier: Apache-2.0
import Platform
import Synchronization
import TransferCore
import TransferEngine

extension MemoryStore {
    /// Charges bytes to the number of bytes that may still be written, or throws the requested error.
    static func charge(_ count: Int, _ state: inout State) throws(StorageError) {
        if state.writesLeft != .max {
            guard Int64(count) <= state.writesLeft else {
                throw StorageError(state.writeError, "the memory store simulates a failed write")
            }
            state.writesLeft -= Int64(count)
        }
        state.counts.writtenBytes += Int64(count)
    }

    /// Verifies a file and gives it its name, or adds it to the group.
    func commit(
        _ bytes: [UInt8],
        as target: FileTarget,
        _ options: CommitOptions,
        _ state: inout State
    ) throws(StorageError) -> [UInt8]? {
        if let code = state.commitError { throw StorageError(code, "the memory store simulates a failed commit") }
        for expected in options.expected where self.computeDigest(expected.algorithm, bytes) != expected.bytes {
            if options.keepBad { state.files[target.path + ".martlet-bad"] = File(bytes) }
            throw StorageError(.digestMismatch, "\(target.path) does not have the digest that \(expected.source) gives")
        }
        if !options.overwrite,
            state.files[target.path] != nil || state.grouped.contains(where: { $0.path == target.path })
        {
            throw StorageError(.exists, "\(target.path) exists; choose another name or overwrite it")
        }
        if let replaceable = options.replaces, let existing = state.files[target.path],
            !Self.description(of: existing).file.matches(replaceable)
        {
            throw StorageError(.exists, "\(target.path) has changed; choose another name or overwrite it")
        }
        let file = File(bytes, modified: options.modified ?? 0, recorded: options.recorded, mark: options.mark)
        if case .grouped = options.durability {
            state.grouped.append((target.path, file))
        } else {
            state.files[target.path] = file
        }
        state.counts.commits += 1
        if case .synced = options.durability { state.counts.syncedCommits += 1 }
        return options.report.map { self.computeDigest($0, bytes) }
    }
}

/// A small file of a ``MemoryStore``.
final class MemorySmallFile: SmallFile {
    private let store: MemoryStore
    private let bytes = Mutex<[UInt8]>([])

    init(store: MemoryStore) {
        self.store = store
    }

    func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try self.store.locked { state throws(StorageError) in try MemoryStore.charge(bytes.count, &state) }
        self.bytes.withLock { $0.append(contentsOf: bytes) }
    }

    func commit(as target: FileTarget, _ options: CommitOptions) throws(StorageError) -> [UInt8]? {
        let bytes = self.bytes.withLock { $0 }
        let store = self.store
        return try store.locked { state throws(StorageError) in try store.commit(bytes, as: target, options, &state) }
    }

    func read(_ range: ByteRange) throws(StorageError) -> [UInt8] {
        self.bytes.withLock { Array($0[Int(range.lowerBound)..<Int(range.upperBound)]) }
    }

    func discard() {
        self.store.state.withLock { $0.counts.discards += 1 }
    }
}

/// A partial file of a ``MemoryStore``; written bytes are immediately part of the store's ``MemoryStore/Partial``.
final class MemoryPartialFile: PartialFile {
    let initialExtents: [ByteRange]

    private let store: MemoryStore
    private let path: String
    /// The end of each open extent, by slot.
    private let ends = Mutex<[Int: Int64]>([:])
    private let isClosed = Mutex(false)

    init(store: MemoryStore, path: String, extents: [ByteRange]) {
        self.store = store
        self.path = path
        self.initialExtents = extents
    }

    var facts: ResourceFacts {
        self.store.state.withLock { $0.partials[self.path]?.facts } ?? ResourceFacts(url: "")
    }

    func update(facts: ResourceFacts) throws(StorageError) {
        try self.store.locked { state throws(StorageError) in
            if let code = state.factsError { throw StorageError(code, "the memory store simulates a failed journal") }
            state.partials[self.path]?.facts = facts
        }
    }

    func preallocate(length: Int64) throws(StorageError) {
        try self.store.locked { state throws(StorageError) in
            let written = state.partials[self.path]?.extents.reduce(0) { $0 + $1.upperBound - $1.lowerBound } ?? 0
            if length - written > state.freeSpace {
                throw StorageError(.noSpace, "\(self.path) needs \(length - written) bytes; free some space")
            }
        }
    }

    func beginExtent(at offset: Int64) -> Int? {
        let slots = self.store.state.withLock { $0.extentSlots }
        return self.ends.withLock { ends in
            guard ends.count < slots, let slot = (0..<slots).first(where: { ends[$0] == nil }) else { return nil }
            ends[slot] = offset
            return slot
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, extent: Int) throws(StorageError) {
        guard let offset = self.ends.withLock({ $0[extent] }) else {
            throw StorageError(.badJournal, "extent \(extent) of \(self.path) is not open; begin it first")
        }
        let end = offset + Int64(bytes.count)
        try self.store.locked { state throws(StorageError) in
            try MemoryStore.charge(bytes.count, &state)
            guard var partial = state.partials.removeValue(forKey: self.path) else {
                throw StorageError(.badJournal, "\(self.path).part does not exist")
            }
            if partial.bytes.count < Int(end) {
                partial.bytes += [UInt8](repeating: 0, count: Int(end) - partial.bytes.count)
            }
            // Copying element by element takes seconds in a debug build.
            partial.bytes.withUnsafeMutableBytes { space in
                space.part(Int(offset)..<Int(end)).copyMemory(from: bytes)
            }
            partial.extents = Self.inserting(offset..<end, into: partial.extents)
            state.partials[self.path] = partial
        }
        self.ends.withLock { $0[extent] = end }
    }

    func endExtent(_ extent: Int) {
        self.ends.withLock { $0[extent] = nil }
    }

    func read(_ range: ByteRange) throws(StorageError) -> [UInt8] {
        guard let bytes = self.store.state.withLock({ $0.partials[self.path]?.bytes }),
            range.lowerBound >= 0, range.upperBound <= Int64(bytes.count)
        else { throw StorageError(.inputOutput, "\(self.path).part has no bytes \(range)") }
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    func holds(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(StorageError) -> Bool {
        self.store.state.withLock { state in
            guard let held = state.partials[self.path]?.bytes, offset >= 0,
                offset <= Int64(held.count - bytes.count)
            else { return false }
            // Comparing element by element takes seconds in a debug build.
            return held.withUnsafeBytes { held in
                guard let left = held.baseAddress, let right = bytes.baseAddress else { return bytes.isEmpty }
                return memcmp(left + Int(offset), right, bytes.count) == 0
            }
        }
    }

    func digestWhileWriting(_ algorithms: [DigestAlgorithm]) {
        // Digests are computed from the bytes in memory at the end.
    }

    func checkpoint() throws(StorageError) {
        self.store.state.withLock { $0.counts.checkpoints += 1 }
    }

    func commit(as target: FileTarget, length: Int64, _ options: CommitOptions) throws(StorageError) -> [UInt8]? {
        let store = self.store
        return try store.locked { state throws(StorageError) -> [UInt8]? in
            guard let partial = state.partials[self.path] else {
                throw StorageError(.badJournal, "\(self.path).part does not exist")
            }
            do throws(StorageError) {
                let bytes = Array(partial.bytes.prefix(Int(length)))
                let digest = try store.commit(bytes, as: target, options, &state)
                state.partials[self.path] = nil
                return digest
            } catch {
                if error.code == .digestMismatch { state.partials[self.path] = nil }
                throw error
            }
        }
    }

    func releaseReserve() { self.store.state.withLock { $0.counts.releases += 1 } }

    func keep() {
        self.isClosed.withLock { $0 = true }
        self.store.state.withLock { state in
            state.partials[self.path]?.isBusy = false
            state.counts.keeps += 1
        }
    }

    func discard() {
        self.store.state.withLock { state in
            state.partials[self.path] = nil
            state.counts.discards += 1
        }
    }

    func setAside() -> String? {
        let path = self.path + ".martlet-bad"
        self.store.state.withLock { state in
            if let partial = state.partials.removeValue(forKey: self.path) {
                state.files[path] = MemoryStore.File(partial.bytes)
            }
        }
        return path
    }

    deinit {
        // As the kernel releases the lock of a dead process; after `keep()` another object may have opened the file.
        guard !self.isClosed.withLock({ $0 }) else { return }
        self.store.state.withLock { $0.partials[self.path]?.isBusy = false }
    }

    /// Inserts a range; adjacent and overlapping ranges are merged.
    private static func inserting(_ new: ByteRange, into ranges: [ByteRange]) -> [ByteRange] {
        var result: [ByteRange] = []
        for range in (ranges + [new]).sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = result.last, range.lowerBound <= last.upperBound {
                result[result.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                result.append(range)
            }
        }
        return result
    }
}

/// Digests that are computed on demand from the collected bytes.
final class MemoryDigests: DigestComputation {
    private let algorithms: [DigestAlgorithm]
    private let compute: @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8]
    private let bytes = Mutex<[UInt8]>([])

    init(_ algorithms: [DigestAlgorithm], compute: @escaping @Sendable (DigestAlgorithm, [UInt8]) -> [UInt8]) {
        self.algorithms = algorithms
        self.compute = compute
    }

    var count: Int64 { Int64(self.bytes.withLock { $0.count }) }

    func update(_ bytes: UnsafeRawBufferPointer) { self.bytes.withLock { $0.append(contentsOf: bytes) } }

    func digests() -> [DigestAlgorithm: [UInt8]] {
        let bytes = self.bytes.withLock { $0 }
        return Dictionary(
            self.algorithms.map { ($0, self.compute($0, bytes)) },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
