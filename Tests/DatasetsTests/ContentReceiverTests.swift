// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

@Suite struct ContentReceiverTests {
    @Test("repeated bytes are compared with the content, in memory and in a file", arguments: [1000, 300_000])
    func repeated(_ count: Int) throws {
        let directory = try TemporaryDirectory()
        let storage = ContentStorage(directory: directory.path, fetches: 4096)
        let receiver = ContentReceiver(storage, FilterPolicy(SampleFilter()))
        let bytes = TestPattern(seed: 1).bytes(0..<Int64(count))
        for start in stride(from: 0, to: count, by: 70_000) {
            try bytes[start..<min(start + 70_000, count)].withUnsafeBytes { _ = try receiver.receive($0) {} }
        }
        func holds(_ bytes: some Sequence<UInt8>, at offset: Int64) throws -> Bool {
            try Array(bytes).withUnsafeBytes { try receiver.holds($0, at: offset) }
        }
        #expect(receiver.keepsBytes)
        #expect(try holds(bytes, at: 0))
        #expect(try holds(bytes[500...], at: 500))
        #expect(try !holds(bytes.dropLast(), at: 1))
        #expect(try !holds(bytes + [0], at: 0))
        #expect(try !holds(bytes, at: -1))
    }
}
