// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore

/// Formats transfers as lines of a table.
///
/// Pure: it maps records and a width to lines that fit.
struct TransferTable {
    /// The width in columns; `nil` for no limit.
    var columns: Int?
    /// Whether text is reduced to ASCII.
    var asciiOnly = false
    /// The current time, in seconds since 1970.
    var now = TransferText.now

    /// The number of digits of a short id.
    static let shortDigits = 8

    var heading: String { self.line("ID", "STATE", "DONE", "SIZE", "RATE", "LEFT", "NAME", "REASON") }

    /// The widths of the columns with numbers: done, size, rate and time left.
    private static let widths = [5, 8, 10, 7]

    /// The minimum width of the name.
    private static let leastName = 10

    /// The numbers that are shown: in a narrow terminal without the time left, the size and the rate, in this order.
    private var shownNumbers: [Int] {
        var shown = Array(Self.widths.indices)
        for number in [3, 1, 2] where self.columns.map({ Self.nameStart(shown) + Self.leastName >= $0 }) ?? false {
            shown.removeAll { $0 == number }
        }
        return shown
    }

    /// The width of the columns before the name.
    private static func nameStart(_ numbers: [Int]) -> Int {
        numbers.reduce(Self.shortDigits + 12) { $0 + 2 + Self.widths[$1] }
    }

    /// The width of the name column if the line has a reason, which is the last column and occupies the rest.
    private func nameWidth(_ numbers: [Int]) -> Int {
        guard let columns = self.columns else { return 32 }
        return min(32, max(Self.leastName, (columns - 1 - Self.nameStart(numbers)) / 3))
    }

    /// Formats a transfer.
    func line(_ record: TransferRecord) -> String {
        let isActive = record.state == .active
        let percent = record.state == .finished ? 100 : Quantity.percent(record.bytes, of: record.total)
        return self.line(
            String(record.id.description.prefix(Self.shortDigits)),
            record.state.rawValue,
            percent.map { "\($0)%" } ?? (record.bytes > 0 ? Quantity.bytes(record.bytes) : "-"),
            record.total.map { Quantity.bytes($0) } ?? "-",
            isActive ? Quantity.rate(Double(record.rate)) : "-",
            isActive && record.rate > 0 ? Quantity.time(TransferText.secondsLeft(of: record)) : "-",
            (record.upload == nil ? "" : self.asciiOnly ? "> " : "↑ ") + Self.name(of: record),
            self.reason(of: record)
        )
    }

    /// A few words on why the transfer waits, other than for its turn, or why it failed; for a held host, its state.
    func reason(of record: TransferRecord) -> String {
        if let hold = record.hold { return hold.text(now: self.now, since: TransferText.timeOfDay(hold.since)) }
        if let retry = record.retry { return retry.text(now: self.now) }
        if let waitingFor = record.waitingFor { return waitingFor.rawValue }
        guard let failure = record.failure else { return "" }
        return failure.status.map { "HTTP \($0)" } ?? failure.reason ?? "error \(failure.code)"
    }

    /// The display name of a transfer: its file's name, or the part of its URL that has no secrets.
    static func name(of record: TransferRecord) -> String {
        if let path = record.path ?? record.upload?.files.first, let name = path.split(separator: "/").last {
            return String(name)
        }
        if let name = record.options[.out], !name.isEmpty { return name }
        let url = (record.urls.first ?? "").prefix { $0 != "?" && $0 != "#" }
        let parts = url.split(separator: "/")
        // Without a path, only the host is left; the part before an @ may be a password.
        guard let last = parts.last, parts.count > 1 else { return "?" }
        let name = parts.count == 2 ? last.split(separator: "@").last ?? last : last
        return String(validating: PercentEncoding.decode(name.utf8), as: UTF8.self) ?? String(name)
    }

    /// The path of a transfer's file: of a download that has not started, where it will be if the server names no other.
    static func path(of record: TransferRecord) -> String {
        if let path = record.path ?? record.upload?.files.first { return path }
        return FilePath.join(record.directory, self.name(of: record))
    }

    private func line(
        _ id: String,
        _ state: String,
        _ done: String,
        _ size: String,
        _ rate: String,
        _ left: String,
        _ name: String,
        _ reason: String
    ) -> String {
        var line = Self.fill(id, Self.shortDigits) + "  " + Self.fill(state, 8)
        let numbers = self.shownNumbers
        let texts = [done, size, rate, left]
        for number in numbers {
            let text = texts[number]
            line += "  " + String(repeating: " ", count: max(0, Self.widths[number] - text.count)) + text
        }
        let name = DisplayText.clean(name, asciiOnly: self.asciiOnly)
        if reason.isEmpty {
            line += "  " + name
        } else {
            let width = self.nameWidth(numbers)
            let short = DisplayText.elided(name, to: width, mark: self.mark)
            line += "  " + short + String(repeating: " ", count: max(0, width - DisplayWidth.of(short)))
            let clean = DisplayText.clean(reason, asciiOnly: self.asciiOnly)
            // The start of the reason is the most useful part; the preceding columns stay complete.
            let room = self.columns.map { max(0, $0 - 1 - DisplayWidth.of(line) - 2) } ?? .max
            line += "  " + DisplayText.start(of: clean, within: room)
        }
        guard let columns = self.columns else { return line }
        return DisplayText.elided(line, to: max(1, columns - 1), mark: self.mark)
    }

    private var mark: String { self.asciiOnly ? "..." : "…" }

    private static func fill(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
