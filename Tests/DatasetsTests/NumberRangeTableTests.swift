// SPDX-License-Identifier: Apache-2.0
import Gzip
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

@Suite("Tables, reports and archives with numbers at the ends of the integer types")
struct NumberRangeTableTests {
    @Test("rows are parsed or refused")
    func rows() {
        let lines = [
            #"{"url":"http://h/1","key":"2","sha256":"3","length":4,"size":5,"row":6,"error_code":7,"x":8.5e3}"#,
            #"{"url":9,"key":1e3}"#,
        ]
        for line in lines.flatMap({ EdgeNumbers.variants(of: $0) }) {
            for parser in [
                TableParser(.jsonl), TableParser(reportWithAllFailed: true), TableParser(reportWithAllFailed: false),
            ] {
                var parser = parser
                _ = try? parser.take(Array((line + "\n").utf8)[...])
                _ = try? parser.finish()
            }
        }
        for line in EdgeNumbers.variants(of: "http://h:1/2,3,4,\"5\"\n") {
            var parser = TableParser(.csv)
            _ = try? parser.take(Array(("url,key,length,sha256,row\n" + line).utf8)[...])
            _ = try? parser.finish()
        }
    }

    @Test("lines of reports have rows within the limits")
    func reports() {
        let line =
            #"{"key":"k1","row":2,"url":"u","status":"finished","error_code":null,"bytes":3,"shard":"00004.tar"}"#
        for text in EdgeNumbers.variants(of: line) {
            guard let entry = ReportScanner.entry(Array(text.utf8)[...]) else { continue }
            #expect((0...RowReader.largestNumber).contains(entry.number))
        }
        for text in EdgeNumbers.texts {
            if let number = ShardName.number(ofFinal: "\(text).tar") { #expect(number >= 0) }
            _ = ShardName.number(ofPart: ".\(text).tar.part")
        }
    }

    @Test("sizes of members have headers of complete blocks")
    func members() {
        for size in EdgeNumbers.signed where size >= 0 {
            var bytes: [UInt8] = []
            TarFormat.appendHeader(of: "a\(size)", size: size, to: &bytes)
            #expect(bytes.count % TarFormat.blockSize == 0)
            #expect(Int64(bytes.count) == TarFormat.headerSize(of: "a\(size)", size: size))
        }
    }

    @Test("the fields of gzip members are accepted or refused")
    func gzip() throws {
        // "abc\n", compressed by gzip -n.
        let member: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B, 0x4C, 0x4A, 0xE6, 2, 0, 0x4E, 0x81, 0x88, 0x47, 4, 0, 0, 0,
        ]
        var decoder = try GzipDecoder()
        var whole: [UInt8] = []
        try decoder.decode(member) { bytes in
            whole += bytes
            return true
        }
        #expect(whole == Array("abc\n".utf8))
        for offset in 2..<(member.count - 3) {
            for number in EdgeNumbers.integers {
                var changed = member
                for index in 0..<4 { changed[offset + index] = UInt8(truncatingIfNeeded: number >> Int128(8 * index)) }
                var decoder = try GzipDecoder()
                try? decoder.decode(changed) { _ in true }
            }
        }
    }
}
