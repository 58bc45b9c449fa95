// SPDX-License-Identifier: Apache-2.0
internal import Files

/// Reads the headers of an archive that ``TarFormat`` has written.
enum TarReader {
    /// The end of the member whose headers begin at an offset, with its padding; `nil` if there is none.
    ///
    /// Reads two blocks at most, and four if the name or the size has no room in a ustar header.
    static func end(ofMemberAt offset: Int64, in file: FileDescriptor) -> Int64? {
        guard let header = self.header(at: offset, file) else { return nil }
        let end = offset + Int64(TarFormat.blockSize) + self.padded(header.size)
        guard header.isExtension else { return end }
        guard let next = self.header(at: end, file), !next.isExtension else { return nil }
        return end + Int64(TarFormat.blockSize) + self.padded(next.size)
    }

    private static func padded(_ size: Int64) -> Int64 { size + Int64(TarFormat.padding(after: size)) }

    private static func header(at offset: Int64, _ file: FileDescriptor) -> (size: Int64, isExtension: Bool)? {
        var block = [UInt8](repeating: 0, count: TarFormat.blockSize)
        guard offset >= 0, offset <= Int64.max - 4 * Int64(block.count),
            block.withUnsafeMutableBytes({ file.read(into: $0, at: offset) }) == block.count
        else { return nil }
        let sum = block.indices.reduce(0) { $0 + ((148..<156).contains($1) ? 0x20 : Int64(block[$1])) }
        guard self.octal(block[148..<154]) == sum, let size = self.octal(block[124..<135]),
            block[156] == 0x30 || block[156] == 0x78
        else { return nil }
        return (size, block[156] == 0x78)
    }

    private static func octal(_ digits: ArraySlice<UInt8>) -> Int64? {
        digits.reduce(0 as Int64?) { sum, digit in
            (0x30...0x37).contains(digit) ? sum.map { $0 << 3 | Int64(digit & 7) } : nil
        }
    }
}
