// SPDX-License-Identifier: Apache-2.0
internal import Files
internal import Synchronization
internal import TransferCore

/// Digests of served files, by their entity tags.
final class DigestCache: Sendable {
    private struct Key: Hashable {
        var entityTag: String
        var algorithm: DigestAlgorithm
    }

    /// The maximum size of a file whose digest is computed while the client waits, in bytes.
    static let longestWait: Int64 = 256 << 20
    /// The maximum size of a file whose digest is computed on the event loop, in bytes.
    static let longestInPlace: Int64 = 32 << 10
    private static let capacity = 4096

    private let known = Mutex<[Key: [UInt8]]>([:])

    /// The cached digest of a file in this state.
    func digest(_ algorithm: DigestAlgorithm, _ facts: FileFacts) -> [UInt8]? {
        self.known.withLock { $0[Key(entityTag: facts.entityTag, algorithm: algorithm)] }
    }

    func remember(_ digest: [UInt8], _ algorithm: DigestAlgorithm, _ facts: FileFacts) {
        self.known.withLock { known in
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[Key(entityTag: facts.entityTag, algorithm: algorithm)] = digest
        }
    }

    /// Returns the cached digest or computes it; blocks while the file is read.
    ///
    /// - Returns: `nil` if the file cannot be read or has changed.
    func compute(_ algorithm: DigestAlgorithm, _ file: OpenFile, _ facts: FileFacts) -> [UInt8]? {
        if let digest = self.digest(algorithm, facts) { return digest }
        var running = RunningDigest(algorithm)
        let size = Int(min(max(facts.length, 1), 1 << 20))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < facts.length {
            let count = file.read(into: buffer, at: offset)
            guard count > 0 else { return nil }
            running.update(UnsafeRawBufferPointer(buffer.part(0..<count)))
            offset += Int64(count)
        }
        guard let status = file.status(), FileFacts(status) == facts, offset == facts.length else { return nil }
        let digest = running.finalized()
        self.remember(digest, algorithm, facts)
        return digest
    }
}
