// SPDX-License-Identifier: Apache-2.0
import Datasets
import TransferCore
import TransferTesting

/// The table of a dataset world: what each row asks for.
struct DatasetTable {
    /// The defect of a row.
    enum Fault: String, CaseIterable {
        case badURL, wrongScheme, noURL, brokenLine, badChecksum
    }

    struct Row {
        var number: Int64
        /// The number of the item; `nil` if the row is not usable.
        var item: Int?
        var fault: Fault?
        /// Whether the table has a digest, and whether that is the item's.
        var checksum: Bool?
        var name: String?
    }

    static let path = "/table.jsonl"

    private(set) var rows: [Row] = []
    private(set) var bytes: [UInt8] = []

    init(_ recipe: inout Recipe, items: [DatasetItem]) {
        let count = recipe.draw(0...3) == 0 ? recipe.draw(5...40) : recipe.draw(5...12)
        var lines: [String] = []
        for number in 0..<count {
            var row = Row(number: Int64(number))
            let item = recipe.draw(0...items.count - 1)
            let fault = recipe.pick(Fault.allCases)
            let isRight = recipe.draw(0...2) > 0
            if recipe.draw(0...7) == 0 { row.fault = fault } else { row.item = item }
            if recipe.draw(0...5) == 0 { row.checksum = isRight }
            if recipe.draw(0...1) == 0 { row.name = "part-\(number % 3)/row-\(number).bin" }
            self.rows.append(row)
            lines.append(Self.line(row, items[item]))
            if recipe.draw(0...9) == 0 { lines.append("") }
        }
        let isCut = recipe.draw(0...3) == 0
        self.bytes = Array((lines.joined(separator: "\n") + (isCut ? "" : "\n")).utf8)
    }

    private static func line(_ row: Row, _ item: DatasetItem) -> String {
        var members = [JSON.Member("label", .integer(row.number * 7))]
        // Some keys are equal.
        if row.number % 4 == 1 { members.append(JSON.Member("key", .string("key \(row.number / 8)"))) }
        if let name = row.name { members.append(JSON.Member("name", .string(name))) }
        if let isRight = row.checksum {
            let digest = isRight ? item.content.sha256 : [UInt8](repeating: 7, count: 32)
            members.append(JSON.Member("checksum", .string("sha256:" + Hexadecimal.encode(digest))))
        }
        switch row.fault {
        case nil: members.append(JSON.Member("url", .string(item.url)))
        case .badURL: members.append(JSON.Member("url", .string("http://")))
        case .wrongScheme: members.append(JSON.Member("url", .string("ftp://data.example/1")))
        case .noURL: break
        case .badChecksum:
            members.append(JSON.Member("url", .string(item.url)))
            members.removeAll { $0.name == "checksum" }
            members.append(JSON.Member("checksum", .string("sha256:12")))
        case .brokenLine: return "{\"url\": \"http://data.example/1"
        }
        return String(decoding: JSON.object(members).bytes, as: UTF8.self)
    }
}
