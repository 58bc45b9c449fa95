// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import Synchronization
import Testing
import TransferTesting

@testable import QueueStore

/// A small filesystem in memory, if this user can mount one.
private struct SmallDisk {
    let directory: String

    init?(bytes: Int) {
        guard let directory = try? ScratchStore.makeDirectory() else { return nil }
        self.directory = directory
        guard MemoryFilesystem.mount(directory, size: "\(bytes)") else {
            rmdir(directory)
            return nil
        }
    }

    func remove() {
        MemoryFilesystem.unmount(self.directory)
        rmdir(self.directory)
    }

    static let isPossible: Bool = {
        guard let disk = SmallDisk(bytes: 1 << 20) else { return false }
        disk.remove()
        return true
    }()

    /// Takes all the room there is.
    func fill() {
        let file = open(self.directory + "/filler", O_WRONLY | O_CREAT, 0o600)
        let bytes = [UInt8](repeating: 1, count: 4096)
        while write(file, bytes, bytes.count) > 0 {}
        close(file)
    }
}

private final class Reports: Sendable {
    let codes = Mutex<[QueueStoreError.Code?]>([])
}

@Suite struct FullDiskTests {
    @Test(.enabled(if: SmallDisk.isPossible, "only root can mount a small filesystem"))
    func aFullDiskLosesNothingAndTheStoreGoesOnWhenThereIsRoom() async throws {
        let disk = try #require(SmallDisk(bytes: 4 << 20))
        defer { disk.remove() }
        let store = try QueueStore(path: disk.directory + "/queue.db")
        try await store.write { (w) throws(QueueStoreError) in try w.add(transfers(1...10), at: nil) }
        let reports = Reports()
        store.onFailure { failure in reports.codes.withLock { $0.append(failure?.code) } }
        disk.fill()
        var last = 10
        var code: QueueStoreError.Code?
        // The log still has some space.
        while code == nil, last < 2000 {
            let next = last + 1
            do throws(QueueStoreError) {
                try await store.write { (w) throws(QueueStoreError) in try w.add(transfers([next]), at: nil) }
                last = next
            } catch { code = error.code }
        }
        #expect(code == .full)
        #expect(store.failure?.code == .full)
        let counted = try await store.read { (r) throws(QueueStoreError) in
            try r.expectExactTally()
            return try r.counts()
        }
        #expect(counted == [CountKey(session: nil, state: .waiting): last])
        unlink(disk.directory + "/filler")
        let next = last + 1
        try await store.write { (w) throws(QueueStoreError) in try w.add(transfers([next]), at: nil) }
        #expect(store.failure == nil)
        #expect(reports.codes.withLock { $0 } == [.full, nil])
        await store.close()
        let again = try QueueStore(path: disk.directory + "/queue.db")
        let ids = try await again.read { (r) throws(QueueStoreError) in
            try r.transfers(in: [.waiting], session: nil, offset: 0, limit: 9999, fromEnd: false).map(\.id)
        }
        #expect(ids == (1...next).map { gid(UInt64($0)) })
        await again.close()
    }
}
