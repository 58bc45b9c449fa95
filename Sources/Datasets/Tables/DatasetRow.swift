// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A row of a table of URLs.
package struct DatasetRow: Sendable, Equatable {
    /// The position in the table, from 0; it identifies the row.
    package var number: Int64
    /// The table's `key`, or the number with at least nine digits.
    package var key: String
    /// The URL as the table has it; it is not validated.
    package var url: String
    /// The path that the table proposes for the file, or `nil`.
    package var name: String?
    /// The digest that the content must have, or `nil`.
    package var checksum: ExpectedDigest?
    /// The table's text of a digest that cannot be used, or `nil`; such a row is not fetched.
    package var unusableChecksum: String?
    /// The other columns, in the table's order.
    package var others: [JSON.Member]

    package init(
        number: Int64,
        key: String? = nil,
        url: String,
        name: String? = nil,
        checksum: ExpectedDigest? = nil,
        others: [JSON.Member] = []
    ) {
        self.number = number
        self.key = key ?? Self.key(of: number)
        self.url = url
        self.name = name
        self.checksum = checksum
        self.others = others
    }

    /// The key of a row whose table has none: the number with at least nine digits.
    package static func key(of number: Int64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 9 - digits.utf8.count)) + digits
    }
}
