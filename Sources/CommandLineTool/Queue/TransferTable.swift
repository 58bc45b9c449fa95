import Control

/// Transfers in lines of columns.
///
/// Pure: records and a width go in, lines that fit come out.
struct TransferTable {
    /// The columns there are room for; `nil` for no bound.
    var columns: Int?
    /// Whether text keeps ASCII only.
    var asciiOnly = false
    /// The time, in seconds since 1970.
    var now = TransferText.now

    /// The digits of a short identifier.
    static let shortDigits = 8

    /// The names of the columns.
    var heading: String { self.line("ID", "STATE", "DONE", "SIZE", "RATE", "LEFT", "NAME", "REASON") }

    /// The columns before that of the names.
    private static let nameStart = 58

    /// The width of the column of names if the line has a reason, which comes last and takes the rest.
    private var nameWidth: Int {
        guard let columns = self.columns else { return 32 }
        return min(32, max(10, (columns - 1 - Self.nameStart) / 3))
    }

    /// A transfer's line.
    func line(_ record: TransferRecord) -> String {
        let isActive = record.state == .active
        let percent = record.state == .finished ? 100 : Quantity.percent(record.bytes, of: record.total)
        let left = record.total.map { Double($0 - record.bytes) / Double(max(1, record.rate)) }
        return self.line(
            String(record.id.description.prefix(Self.shortDigits)),
            record.state.rawValue,
            percent.map { "\($0)%" } ?? (record.bytes > 0 ? Quantity.bytes(record.bytes) : "-"),
            record.total.map { Quantity.bytes($0) } ?? "-",
            isActive ? Quantity.rate(Double(record.rate)) : "-",
            isActive && record.rate > 0 ? Quantity.time(left) : "-",
            (record.upload == nil ? "" : self.asciiOnly ? "> " : "↑ ") + Self.name(of: record),
            self.reason(of: record)
        )
    }

    /// Why the transfer waits beside its turn, or failed: a word or two, and of a held host what is known of it.
    private func reason(of record: TransferRecord) -> String {
        if let hold = record.hold { return hold.text(now: self.now, since: TransferText.timeOfDay(hold.since)) }
        if let waitingFor = record.waitingFor { return waitingFor.rawValue }
        guard let failure = record.failure else { return "" }
        return failure.status.map { "HTTP \($0)" } ?? failure.reason ?? "error \(failure.code)"
    }

    /// What a person calls the transfer: its file's name, or as much of its URL as says no secret.
    static func name(of record: TransferRecord) -> String {
        if let path = record.path ?? record.upload?.files.first, let name = path.split(separator: "/").last {
            return String(name)
        }
        if let name = record.options[.out], !name.isEmpty { return name }
        let url = (record.urls.first ?? "").prefix { $0 != "?" && $0 != "#" }
        let parts = url.split(separator: "/")
        // Without a path the host is all there is; what stands before an @ may be a password.
        guard let last = parts.last, parts.count > 1 else { return "?" }
        return String(parts.count == 2 ? last.split(separator: "@").last ?? last : last)
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
        for (text, width) in [(done, 5), (size, 8), (rate, 10), (left, 7)] {
            line += "  " + String(repeating: " ", count: max(0, width - text.count)) + text
        }
        let name = DisplayText.clean(name, asciiOnly: self.asciiOnly)
        if reason.isEmpty {
            line += "  " + name
        } else {
            let short = DisplayText.elided(name, to: self.nameWidth, mark: self.mark)
            line += "  " + short + String(repeating: " ", count: max(0, self.nameWidth - DisplayWidth.of(short)))
            let clean = DisplayText.clean(reason, asciiOnly: self.asciiOnly)
            // Its beginning says most; the columns before it stay whole.
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
