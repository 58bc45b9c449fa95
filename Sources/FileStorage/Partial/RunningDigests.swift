// SPDX-License-Identifier: Apache-2.0
import Files
import Synchronization
import TransferCore
import TransferEngine

/// Digests of a file from offset 0 to a position, computed in order.
struct PrefixDigests {
    private(set) var running: [DigestAlgorithm: RunningDigest] = [:]
    /// The number of bytes added.
    private(set) var offset: Int64 = 0

    init(_ algorithms: some Sequence<DigestAlgorithm>) {
        for algorithm in algorithms { self.running[algorithm] = RunningDigest(algorithm) }
    }

    /// Adds the following bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for index in self.running.values.indices { self.running.values[index].update(bytes) }
        self.offset += Int64(bytes.count)
    }

    /// Adds a file's bytes from the current offset to `length`, in reads of 1 MiB.
    ///
    /// - Returns: 0 or the error number; `ENODATA` if the file is shorter.
    mutating func read(_ file: FileDescriptor, upTo length: Int64) -> Int32 {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        while self.offset < length {
            let wanted = Int(min(Int64(buffer.count), length - self.offset))
            let count = file.read(into: buffer.part(0..<wanted), at: self.offset)
            if count < 0 { return Int32(-count) }
            if count == 0 { return Self.tooShort }
            self.update(UnsafeRawBufferPointer(buffer.part(0..<count)))
        }
        return 0
    }

    /// `ENODATA`: the file is shorter than expected.
    static let tooShort: Int32 = 61

    /// The digests of the bytes added so far.
    func finalized() -> [DigestAlgorithm: [UInt8]] { self.running.mapValues { $0.finalized() } }
}

/// Digests of bytes that the engine passes.
final class HandedDigests: DigestComputation {
    private let prefix: Mutex<PrefixDigests>

    init(_ algorithms: [DigestAlgorithm]) { self.prefix = Mutex(PrefixDigests(algorithms)) }

    var count: Int64 { self.prefix.withLock { $0.offset } }

    func update(_ bytes: UnsafeRawBufferPointer) {
        // The lock is never contended; it is needed only for the compiler's concurrency checks.
        self.prefix.withLock { $0.update(bytes) }
    }

    func digests() -> [DigestAlgorithm: [UInt8]] { self.prefix.withLock { $0.finalized() } }
}

/// The digests of a partial file, computed while its bytes arrive, as long as they arrive in order from offset 0.
final class RunningDigests: Sendable {
    /// The next expected offset; -1 while no digest is computed.
    ///
    /// Read on all event loops without the lock.
    private let next = Atomic<Int64>(-1)
    private let prefix = Mutex<PrefixDigests?>(nil)

    /// Starts at offset 0.
    func begin(_ algorithms: [DigestAlgorithm]) {
        guard !algorithms.isEmpty else { return }
        self.prefix.withLock { $0 = PrefixDigests(algorithms) }
        self.next.store(0, ordering: .releasing)
    }

    /// Processes bytes written at `offset`.
    ///
    /// Bytes that follow the digested prefix are added. Bytes written over the prefix may differ from it, so the
    /// digests are dropped and the file is read back at the end. Bytes beyond the prefix are read back at the end, too.
    @inline(__always)
    func written(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        let next = self.next.load(ordering: .acquiring)
        if next < 0 || offset > next { return }
        self.writtenInPrefix(bytes, at: offset)
    }

    private func writtenInPrefix(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        self.prefix.withLock { prefix in
            guard let fed = prefix?.offset else { return }
            if offset == fed {
                prefix?.update(bytes)
                self.next.store(fed + Int64(bytes.count), ordering: .releasing)
            } else if offset < fed {
                prefix = nil
                self.next.store(-1, ordering: .releasing)
            }
        }
    }

    /// Returns the digests of the complete file of `length` bytes; reads back what was not digested while writing.
    func finish(
        _ algorithms: Set<DigestAlgorithm>,
        of file: FileDescriptor,
        length: Int64
    ) -> Result<[DigestAlgorithm: [UInt8]], SystemError> {
        // A copy: a commit that failed because of the name may be repeated.
        let kept = self.prefix.withLock { prefix -> PrefixDigests? in
            guard let prefix, prefix.offset <= length else { return nil }
            return algorithms.isSubset(of: prefix.running.keys) ? prefix : nil
        }
        var prefix = kept ?? PrefixDigests(algorithms)
        let result = algorithms.isEmpty ? 0 : prefix.read(file, upTo: length)
        return result == 0 ? .success(prefix.finalized()) : .failure(SystemError(number: result))
    }
}
