// SPDX-License-Identifier: Apache-2.0
import Datasets
import Platform
import Testing
import TransferCore
import Worlds

@Suite("A report on a disk that fails")
struct ReportOnDiskTests {
    @Test("lines whose sync failed are not believed by the next run, which would find them synced")
    func failedSync() throws {
        let disk = SimulatedDisk(seed: 1) { 1_795_000_000_000_000_000 }
        disk.makeDirectories("/data")
        disk.process = 1
        let (first, second) = (Array("{\"key\":\"a\",\"row\":0}\n".utf8), Array("{\"key\":\"b\",\"row\":1}\n".utf8))
        try FileCalls.simulating(disk) {
            var report = try ReportFile(opening: "/data/report")
            _ = try report.read()
            try report.append(first)
            try report.sync()
            try report.append(second)
            disk.onCall = { $0.name == "fdatasync" ? .error(EDQUOT) : .none }
            var failure: StorageError?
            do throws(StorageError) { try report.sync() } catch { failure = error }
            #expect(failure?.errno == EDQUOT)
            disk.onCall = nil
            disk.endProcess(1)
            disk.process = 2
            var next = try ReportFile(opening: "/data/report")
            let contents = try next.read()
            #expect(contents.reported.contains(0))
            #expect(!contents.reported.contains(1))
        }
    }
}
