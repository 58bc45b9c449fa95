// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Datasets

@Suite struct TarFormatTests {
    @Test func aHeaderHasTheFieldsOfUstar() {
        var bytes: [UInt8] = []
        TarFormat.appendHeader(of: "000000001.jpg", size: 12_345, to: &bytes)
        #expect(bytes.count == 512)
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range].prefix { $0 != 0 }, as: UTF8.self) }
        #expect(text(0..<100) == "000000001.jpg")
        #expect(text(100..<108) == "0000644")
        #expect(text(108..<116) == "0000000")
        #expect(text(124..<136) == "00000030071")
        #expect(text(136..<148) == "02263523000")
        #expect(bytes[156] == UInt8(ascii: "0"))
        #expect(Array(bytes[257..<265]) == Array("ustar\u{0}00".utf8))
        #expect(self.sum(of: bytes[...]) == Int64(text(148..<154), radix: 8))
    }

    @Test(arguments: ["a.jpg", String(repeating: "x", count: 100), "日本語.png", String(repeating: "y", count: 101)])
    func everyNameIsReadBack(_ name: String) throws {
        let members = try PlainTar.members(of: self.archive([(name, [1, 2, 3])]))
        #expect(members == [.init(name: name, content: [1, 2, 3], offset: members[0].offset)])
    }

    @Test func aNameOfTwoHundredAndFiftySixBytesUsesThePrefix() throws {
        let name = String(repeating: "d", count: 155) + "/" + String(repeating: "f", count: 100)
        #expect(TarFormat.headerSize(of: name, size: 1) == 512)
        #expect(try PlainTar.members(of: self.archive([(name, [7])])).map(\.name) == [name])
        // One byte more has no room.
        #expect(TarFormat.headerSize(of: name + "f", size: 1) == 1536)
        #expect(try PlainTar.members(of: self.archive([(name + "f", [7])])).map(\.name) == [name + "f"])
    }

    @Test func aRecordCountsItsOwnDigits() throws {
        // Around the lengths at which the number of digits changes.
        for count in Array(85...110) + Array(980...1010) {
            let name = String(repeating: "é", count: count)
            #expect(try PlainTar.members(of: self.archive([(name, [])])).map(\.name) == [name])
        }
    }

    @Test func aSizeBeyondTheDigitsIsInThePaxHeader() {
        var bytes: [UInt8] = []
        TarFormat.appendHeader(of: "a.bin", size: TarFormat.largestSize, to: &bytes)
        #expect(bytes.count == 512)
        bytes = []
        TarFormat.appendHeader(of: "a.bin", size: TarFormat.largestSize + 1, to: &bytes)
        #expect(bytes.count == 1536)
        #expect(String(decoding: bytes[512..<532], as: UTF8.self) == "19 size=8589934592\n\u{0}")
        #expect(TarFormat.headerSize(of: "a.bin", size: TarFormat.largestSize + 1) == 1536)
    }

    @Test func theSizeOfAMemberIsThatOfItsBytes() {
        for size in [0, 1, 511, 512, 513, 1024] {
            for name in ["a.bin", String(repeating: "n", count: 300)] {
                let archive = self.archive([(name, [UInt8](repeating: 1, count: size))])
                #expect(Int64(archive.count) == TarFormat.memberSize(of: name, size: Int64(size)) + 1024)
            }
        }
    }

    private func archive(_ members: [(String, [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, content) in members {
            TarFormat.appendHeader(of: name, size: Int64(content.count), to: &bytes)
            bytes += content
            TarFormat.appendPadding(after: Int64(content.count), to: &bytes)
        }
        return bytes + TarFormat.end
    }

    private func sum(of header: ArraySlice<UInt8>) -> Int64 {
        header.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int64($1.element)) }
    }
}
