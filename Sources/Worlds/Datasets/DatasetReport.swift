// SPDX-License-Identifier: Apache-2.0
import TransferCore

/// The lines of a report, read by the judge.
struct DatasetReport {
    /// The lines by the numbers of their rows.
    private(set) var lines: [Int64: JSON] = [:]
    /// The faults of the file, in sentences.
    private(set) var problems: [String] = []

    /// Reads a report.
    ///
    /// - Parameters:
    ///   - content: The bytes of the file; `nil` if it does not exist.
    ///   - isComplete: Whether a run has completed it. Otherwise it can end with an incomplete line, or with the zeros of
    ///     a loss of power, which the next run removes.
    init(_ content: [UInt8]?, isComplete: Bool) {
        var bytes = content ?? []
        if !isComplete { bytes = Array(bytes.prefix { $0 != 0 }) }
        var texts = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        let rest = texts.popLast() ?? []
        if isComplete, !rest.isEmpty { self.problems.append("the report ends in the middle of a line") }
        for text in texts {
            guard let json = try? JSON(parsing: Array(text)), let number = json["row"]?.integer else {
                let shown = String(decoding: text.prefix(100), as: UTF8.self)
                self.problems.append("the report has a line that is none: \(shown)")
                continue
            }
            guard self.lines[number] == nil else {
                self.problems.append("row \(number) is in the report twice")
                continue
            }
            self.lines[number] = json
        }
    }

    /// The numbers of the rows.
    var rows: Set<Int64> { Set(self.lines.keys) }

    /// The number of rows by their error codes; those that are done have none.
    func counts(without earlier: Set<Int64> = []) -> [String?: Int64] {
        var counts: [String?: Int64] = [:]
        for (number, line) in self.lines where !earlier.contains(number) {
            counts[line["error_code"]?.string, default: 0] += 1
        }
        return counts
    }
}
