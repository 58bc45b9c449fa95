// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore
import TransferTesting

@testable import HTTPServer

@Suite("Fields of requests with numbers at the ends of the integer types")
struct NumberRangeFieldTests {
    @Test("a range is within the representation", arguments: [0, 1, 100, 1 << 53, Int64.max - 1, .max])
    func ranges(length: Int64) {
        let fields = ["bytes=0-9", "bytes=5-", "bytes=-5", "bytes=1-2,3-4", "bytes= 7 - 8 "]
        for field in fields.flatMap({ EdgeNumbers.variants(of: $0) }) {
            guard case .part(let range) = ByteRangeRequest.of(field, length: length) else { continue }
            #expect(range.lowerBound >= 0 && range.upperBound <= length && !range.isEmpty)
        }
    }

    @Test("other fields, targets and codes are parsed or refused")
    func others() {
        for text in EdgeNumbers.texts {
            _ = QueryItems("a=\(text)&b=%\(text)")
            _ = RequestTarget("http://h:\(text)/a%\(text)?\(text)")
        }
        for code in EdgeNumbers.integers.map({ UInt16(truncatingIfNeeded: $0) }) {
            var assembler = MessageAssembler(limit: 100)
            let data = [UInt8(code >> 8), UInt8(code & 0xFF)]
            _ = assembler.frameReceived(.close, isFinal: true, isMasked: true, hasReservedBits: false, data)
        }
    }
}
