// SPDX-License-Identifier: Apache-2.0
import Testing
import TransferCore

@testable import Datasets

@Suite struct DatasetRowTests {
    @Test func aRowWithoutAKeyIsNamedByItsNumber() {
        #expect(DatasetRow(number: 7, url: "http://h/").key == "000000007")
        #expect(DatasetRow(number: 12_345_678_901, url: "http://h/").key == "12345678901")
        #expect(DatasetRow(number: 7, key: "seven", url: "http://h/").key == "seven")
    }
}
