// SPDX-License-Identifier: Apache-2.0
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer
@testable import Receiver

@Suite("The total of all uploads")
struct TotalTests {
    private static let version = ("Tus-Resumable", "1.0.0")

    /// The blocks on disk of unfinished uploads and of landed files.
    private func onDisk(_ bench: ReceiverBench) throws -> Int64 {
        var total: Int64 = 0
        for name in bench.unfinished { total += UploadBudget.cost(Int64(try bench.area(name).count)) }
        for name in bench.directory.entries() where !name.hasPrefix(".") {
            total += UploadBudget.cost(Int64(try bench.directory.read(name).count))
        }
        return total
    }

    private func occupied(_ bench: ReceiverBench) -> Int64 { bench.receiver.core.area?.budget.occupied ?? -1 }

    private func create(
        _ bench: ReceiverBench,
        _ path: String,
        length: Int64? = 8000,
        metadata: Int = 0
    ) throws -> RawClient.Response {
        let size = length.map { ("Upload-Length", "\($0)") } ?? ("Upload-Defer-Length", "1")
        // Control characters: six bytes each in the record.
        let value = Base64.encode([UInt8](repeating: 1, count: metadata))
        return try bench.request("POST", path, [Self.version, size, ("Upload-Metadata", "x \(value)")], body: [])
    }

    private func location(_ response: RawClient.Response) throws -> String {
        String(try #require(response.fields["Location"].flatMap { $0.split(separator: "/").last }))
    }

    @Test(
        "Unfinished uploads without content count with the size of their records, also after a restart",
        arguments: [1, nil, Int64.max / 2],
        [0, 20_000]
    )
    func records(length: Int64?, metadata: Int) async throws {
        let limit = 100 * UploadBudget.block
        let directory = try TemporaryDirectory()
        var uploads: [String] = []
        for run in 0..<2 {
            let bench = try await ReceiverBench(in: directory) {
                $0.limits.total = limit
                $0.limits.reserve = 0
            }
            #expect(try self.occupied(bench) == self.onDisk(bench))
            var response = try self.create(bench, "/r\(run)", length: length, metadata: metadata)
            while response.status == 201, uploads.count < 1000 {
                uploads.append(try self.location(response))
                response = try self.create(bench, "/f\(run)-\(uploads.count)", length: length, metadata: metadata)
            }
            #expect(response.status == 507)
            #expect(try self.onDisk(bench) <= limit && self.occupied(bench) == self.onDisk(bench))
            if length != Int64.max / 2 { #expect(try self.onDisk(bench) > limit * 2 / 3) }
            // One that is deleted makes room for another one.
            if let last = uploads.popLast() {
                let path = "/\(ServedTree.ownDirectory)/\(last)"
                #expect(try bench.request("DELETE", path, [Self.version]).status == 204)
                #expect(try self.occupied(bench) == self.onDisk(bench))
                let again = try self.create(bench, "/again\(run)", length: length, metadata: metadata)
                #expect(again.status == 201)
                uploads.append(try self.location(again))
            }
            await bench.receiver.stop()
        }
    }

    @Test("Random uploads: what counts is what is on disk", arguments: 0..<4 as Range<UInt64>)
    func random(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let limit = 60 * UploadBudget.block
        let directory = try TemporaryDirectory()
        var uploads: [String] = []
        for run in 0..<3 {
            let bench = try await ReceiverBench(in: directory) {
                $0.limits.total = limit
                $0.limits.reserve = 0
            }
            // Those of earlier runs do not count.
            let landed = try self.onDisk(bench) - self.occupied(bench)
            for number in 0..<60 {
                let index = uploads.isEmpty ? 0 : Int(random.next() % UInt64(uploads.count))
                let path = uploads.isEmpty ? "" : "/\(ServedTree.ownDirectory)/\(uploads[index])"
                switch random.next() % 6 {
                case 0, 1:
                    let made = try self.create(
                        bench,
                        "/f\(run)-\(number)",
                        length: random.next() % 4 == 0 ? nil : Int64(random.next() % 12_000),
                        metadata: Int(random.next() % 3) * 3000
                    )
                    #expect([201, 507].contains(made.status))
                    if made.status == 201 { uploads.append(try self.location(made)) }
                case 2 where !uploads.isEmpty:
                    let status = try bench.request("DELETE", path, [Self.version]).status
                    #expect([204, 404].contains(status))
                    uploads.remove(at: index)
                case _ where !uploads.isEmpty:
                    let head = try bench.request("HEAD", path, [Self.version])
                    guard let offset = head.fields["Upload-Offset"].flatMap({ Int64($0) }) else { continue }
                    let length = head.fields["Upload-Length"].flatMap { Int64($0) } ?? offset + 5000
                    guard offset < length else { continue }
                    let count = min(length - offset, Int64(random.next() % 6000) + 1)
                    let content = [UInt8](repeating: 7, count: Int(count))
                    var fields = [
                        Self.version, ("Upload-Offset", "\(offset)"),
                        ("Content-Type", "application/offset+octet-stream"),
                    ]
                    if random.next() % 3 == 0 {
                        let isRight = random.next() % 2 == 0
                        let digest = isRight ? PlainDigests.sha256(content) : [UInt8](repeating: 1, count: 32)
                        fields.append(("Upload-Checksum", "sha256 \(Base64.encode(digest))"))
                    }
                    if head.fields["Upload-Length"] == nil, random.next() % 3 == 0 {
                        fields.append(("Upload-Length", "\(offset + count)"))
                    }
                    let status = try bench.request("PATCH", path, fields, body: content).status
                    #expect([204, 460, 507].contains(status), "\(status)")
                default: continue
                }
                #expect(try self.occupied(bench) == self.onDisk(bench) - landed)
                // The record of a landed file has its path in addition.
                #expect(self.occupied(bench) <= limit + UploadBudget.block)
            }
            await bench.receiver.stop()
        }
    }
}
