// SPDX-License-Identifier: Apache-2.0
import Files
import Testing

@Suite("CRC-32C")
struct CRC32CTests {
    @Test("the examples of RFC 3720, appendix B.4")
    func examples() {
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(CRC32C.checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(CRC32C.checksum(Array(0..<32)) == 0x46DD_794E)
        #expect(CRC32C.checksum(Array((0..<32).reversed())) == 0x113F_DB5C)
    }

    @Test("of nothing, and of parts of an array")
    func parts() {
        #expect(CRC32C.checksum([]) == 0)
        #expect(CRC32C.checksum(UnsafeRawBufferPointer(start: nil, count: 0)) == 0)
        let bytes = [7] + [UInt8](repeating: 0, count: 32) + [7]
        #expect(CRC32C.checksum(bytes[1..<33]) == 0x8A91_36AA)
    }
}
