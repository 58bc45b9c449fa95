// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("An upload whose sync fails")
struct UploadFailedSyncTests {
    private static let version = ("Tus-Resumable", "1.0.0")

    @Test("starts again: the kernel may have dropped any of its bytes", arguments: [false, true])
    func startsAgain(isComplete: Bool) async throws {
        let bench = try await ReceiverBench { $0.limits.total = 1 << 20 }
        let area = try #require(bench.receiver.core.area)
        let content = (0..<8000).map { UInt8(truncatingIfNeeded: $0) }
        let type = ("Content-Type", "application/offset+octet-stream")
        let created = try bench.request(
            "POST",
            "/f",
            [Self.version, type, ("Upload-Length", "8000")],
            body: Array(content[..<5000])
        )
        #expect(created.status == 201 && created.fields["Upload-Offset"] == "5000")
        let path = try #require(created.fields["Location"])
        let name = try #require(path.split(separator: "/").last.flatMap { UploadName(String($0)) })

        // A pipe cannot be synced: EINVAL.
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let files = ends.map { OpenFile($0) }
        #expect(throws: UploadRefusal.self) {
            if isComplete {
                _ = try area.complete(try area.standing(name, now: 0).upload, files[1])
            } else {
                try area.sync(name, files[1])
            }
        }
        #expect(
            area.budget.occupied == UploadBudget.cost(Int64(try bench.area(name.record).count)) + UploadBudget.cost(0)
        )
        let standing = try bench.request("HEAD", path, [Self.version])
        #expect(standing.status == 200 && standing.fields["Upload-Offset"] == "0")
        let sent = try bench.request("PATCH", path, [Self.version, type, ("Upload-Offset", "0")], body: content)
        #expect(sent.status == 204)
        #expect(try bench.directory.read("f") == content)
    }
}
