// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("Bytes of texts and numbers")
struct ArrayTextTests {
    @Test(
        "A number is appended as its description",
        arguments: [0, 1, 9, 10, 99, 100, 20_480, 1_795_681_302, -1, -10, .max, .min] as [Int64]
    )
    func decimal(number: Int64) {
        var bytes = Array("x".utf8)
        bytes.append(decimal: number)
        #expect(String(decoding: bytes, as: UTF8.self) == "x\(number)")
    }
}
