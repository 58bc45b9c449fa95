// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import Receiver

@Suite("The bytes of zip archives")
struct ZipWriterTests {
    @Test("A checksum is that of the standard, whatever the pieces")
    func checksums() {
        var whole = CRC32()
        Array("123456789".utf8).withUnsafeBytes { whole.update($0) }
        #expect(whole.value == 0xCBF4_3926)
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 37 ^ $0 >> 3) }
        // Bit by bit.
        var register: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            register ^= UInt32(byte)
            for _ in 0..<8 { register = register & 1 == 1 ? (register >> 1) ^ 0xEDB8_8320 : register >> 1 }
        }
        for size in [1, 3, 8, 13, 999] {
            var checksum = CRC32()
            for begin in stride(from: 0, to: bytes.count, by: size) {
                bytes[begin..<min(begin + size, bytes.count)].withUnsafeBytes { checksum.update($0) }
            }
            #expect(checksum.value == ~register, "\(size)")
        }
        #expect(CRC32().value == 0)
    }

    @Test("An entry has its name, size, checksum and time in both headers")
    func entries() {
        var writer = ZipWriter()
        // 2001-09-09 01:46:40.
        let entry = ZipWriter.Entry(name: "ä", modified: 1_000_000_000)
        let (head, record) = Array("123456789".utf8).withUnsafeBytes { writer.add(entry, $0) }
        #expect(Array(head.prefix(4)) == [0x50, 0x4B, 3, 4])
        #expect(Array(head[6..<8]) == [0, 8])
        #expect(Array(head[10..<14]) == [0xD4, 0x0D, 0x29, 0x2B])
        #expect(Array(head[14..<26]) == [0x26, 0x39, 0xF4, 0xCB, 9, 0, 0, 0, 9, 0, 0, 0])
        #expect(Array(head[30..<32]) == Array("ä".utf8))
        #expect(Array(record.prefix(4)) == [0x50, 0x4B, 1, 2])
        #expect(Array(record[16..<28]) == Array(head[14..<26]))
        #expect(writer.offset == UInt64(head.count + 9))
        #expect(writer.directorySize == UInt64(record.count))
        let end = writer.finish()
        #expect(end.count == 22)
        #expect(Array(end[8..<12]) == [1, 0, 1, 0])
    }

    @Test("Sizes, offsets and counts that do not fit are written in the zip64 format")
    func large() {
        var writer = ZipWriter()
        let size: Int64 = 5 << 30
        let head = writer.begin(ZipWriter.Entry(name: "large", modified: 0), expecting: size)
        #expect(Array(head[18..<26]) == Array(repeating: 0xFF, count: 8))
        writer.skip(Int(size))
        let (descriptor, record) = writer.end()
        #expect(descriptor.count == 24)
        #expect(Array(record[20..<28]) == Array(repeating: 0xFF, count: 8))
        let far = writer.begin(ZipWriter.Entry(name: "far", modified: 0), expecting: 0)
        #expect(Array(far[18..<26]) == Array(repeating: 0, count: 8))
        let second = writer.end()
        #expect(second.descriptor.count == 16)
        #expect(Array(second.record[42..<46]) == Array(repeating: 0xFF, count: 4))
        #expect(writer.finish().count == 56 + 20 + 22)
        var many = ZipWriter()
        for _ in 0..<65_534 {
            _ = many.add(ZipWriter.Entry(name: "n", modified: 0), UnsafeRawBufferPointer(start: nil, count: 0))
        }
        #expect(many.finish().count == 22)
        _ = many.add(ZipWriter.Entry(name: "n", modified: 0), UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(many.finish().count == 98)
    }

    @Test("An entry that got another number of bytes than expected cannot be ended")
    func mismatches() {
        var writer = ZipWriter()
        _ = writer.begin(ZipWriter.Entry(name: "n", modified: 0), expecting: 3)
        [1, 2].withUnsafeBytes { writer.append(UnsafeRawBufferPointer(rebasing: $0.prefix(2))) }
        let ended = writer.end()
        #expect(ended.record.isEmpty)
        #expect(ended.descriptor.isEmpty)
    }

    @Test("Any time has a valid form")
    func times() {
        for time in [Int64.min, -1, 0, 315_532_800, 4_354_819_198, .max] {
            var writer = ZipWriter()
            let (head, _) = writer.add(
                ZipWriter.Entry(name: "n", modified: time),
                UnsafeRawBufferPointer(start: nil, count: 0)
            )
            let date = UInt16(head[12]) | UInt16(head[13]) << 8
            #expect((1...12).contains(date >> 5 & 15), "\(time)")
            #expect((1...31).contains(date & 31), "\(time)")
        }
    }
}
