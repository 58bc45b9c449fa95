// SPDX-License-Identifier: Apache-2.0
internal import TransferCore

/// Finds the rows in the lines of a report.
///
/// A run that continues reads its whole report: of a line that this program wrote, only the beginning is parsed.
struct ReportScanner {
    /// The facts of a line.
    struct Entry: Equatable {
        /// The number of the row.
        var number: Int64
        /// Whether the row has failed.
        var hasFailed: Bool
        /// The shard with the row's content, or `nil`.
        var shard: String?
    }

    /// The entry of a line, or `nil` if it is not a line of a report.
    static func entry(_ line: ArraySlice<UInt8>) -> Entry? {
        if let entry = line.withUnsafeBufferPointer({ Self.written($0) }) { return entry }
        guard let object = try? JSON(parsing: line), let number = object["row"]?.integer, number >= 0,
            number <= RowReader.largestNumber
        else { return nil }
        return Entry(
            number: number,
            hasFailed: object["error_code"]?.isNull == false,
            shard: object["shard"]?.string
        )
    }

    /// The entry of a line exactly as ``ReportLine`` writes it, or `nil`.
    private static func written(_ line: UnsafeBufferPointer<UInt8>) -> Entry? {
        guard line.last == UInt8(ascii: "}") else { return nil }
        // Bounds: a position is compared with the count before each read. Only an escape at the end passes it, and then `skip`
        // finds too little. `find` returns offsets below the count.
        var position = 0
        guard Self.skip(Self.beginning, line, &position) else { return nil }
        while position < line.count, line[position] != 0x22 { position += line[position] == 0x5C ? 2 : 1 }
        guard Self.skip(Self.row, line, &position) else { return nil }
        var number: Int64 = 0
        let start = position
        while position < line.count, case let digit = line[position], digit >= 0x30, digit <= 0x39 {
            number = number * 10 + Int64(digit - 0x30)
            position += 1
            guard number <= RowReader.largestNumber else { return nil }
        }
        guard position > start, let code = Self.find(Self.errorCode, line, from: position) else { return nil }
        let hasFailed = line[code] != UInt8(ascii: "n")
        return Entry(number: number, hasFailed: hasFailed, shard: hasFailed ? nil : Self.shard(line, from: code))
    }

    /// The name of the shard; the columns passed through are after it.
    private static func shard(_ line: UnsafeBufferPointer<UInt8>, from start: Int) -> String? {
        guard let name = Self.find(Self.shardName, line, from: start),
            let end = line[name...].firstIndex(of: 0x22)
        else { return nil }
        return String(decoding: line[name..<end], as: UTF8.self)
    }

    /// The beginning of each line that this program writes.
    static let beginning = Array(#"{"key":""#.utf8)
    private static let row = Array(#"","row":"#.utf8)
    private static let shardName = Array(#","shard":"#.utf8) + [0x22]
    private static let errorCode = Array(#","error_code":"#.utf8)

    private static func skip(_ text: [UInt8], _ line: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Bool {
        guard line.count - position >= text.count,
            text.indices.allSatisfy({ line[position + $0] == text[$0] })
        else { return false }
        position += text.count
        return true
    }

    /// The position after a text that contains quotation marks, which strings of the line cannot contain.
    private static func find(_ text: [UInt8], _ line: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var position = start
        while line.count - position > text.count {
            if line[position] == text[0] {
                var end = position
                if Self.skip(text, line, &end) { return end }
            }
            position += 1
        }
        return nil
    }
}
