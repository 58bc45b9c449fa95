// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTPTransport

@Suite("Sizes of reads")
struct ReadSizesTests {
    @Test("few connections may grow to half a MiB, and many to what a first read has")
    func limit() {
        #expect(ReadSizes.limit(connectionCount: 0) == 512 * 1024)
        #expect(ReadSizes.limit(connectionCount: 8) == 512 * 1024)
        #expect(ReadSizes.limit(connectionCount: 16) == 256 * 1024)
        #expect(ReadSizes.limit(connectionCount: 10_000) == ReadSizes.initial)
    }
}
