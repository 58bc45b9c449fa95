// SPDX-License-Identifier: Apache-2.0
/// The live region at the bottom of a terminal: one line per running file and one for the run.
///
/// Pure: it maps a model and a size to lines that fit.
struct ProgressFrame {
    /// The number of columns of the terminal.
    var columns: Int
    /// The number of rows of the terminal.
    var rows: Int
    /// Whether the terminal supports characters beyond ASCII.
    var unicode = true

    /// The totals of the run.
    struct Totals: Equatable {
        /// The number of files waiting to start for the first time.
        var waiting = 0
        /// The number of files that wait for the end of a hold, started or not.
        var held = 0
        /// The number of bytes received in this run.
        var received: Int64 = 0
        /// The rate over the last few seconds, in bytes per second.
        var rate: Double = 0
        /// Whether the list of URLs has been read to its end.
        var complete = true
        /// The counts of a table, which are shown instead of those of files.
        var rows: RowCounts?
    }

    private var mark: String { self.unicode ? "…" : "..." }

    /// The lines, each narrower than the terminal, so that none wraps.
    func lines(_ model: RunModel, _ totals: Totals) -> [String] {
        let counts = totals.rows.map { $0.lines.map { self.cut($0) } } ?? [self.total(model, totals)]
        let room = max(1, self.rows - 1 - counts.count)
        var lines: [String] = []
        let shown = model.rows.count > room ? max(0, room - 1) : model.rows.count
        // Those that wait do not hide those that run.
        var rows = model.rows
        if rows.count > shown { rows = rows.filter { $0.waiting == nil } + rows.filter { $0.waiting != nil } }
        for row in rows.prefix(shown) { lines.append(self.line(row)) }
        if model.rows.count > shown { lines.append(self.cut("\(self.mark) and \(model.rows.count - shown) more")) }
        return lines + counts
    }

    private func line(_ row: RunModel.Row) -> String {
        let width = self.columns - 1
        if let waiting = row.waiting {
            let name = DisplayText.elided(row.name, to: max(1, min(24, width / 3)), mark: self.mark)
            return self.cut(name + "  " + waiting)
        }
        let percent = Quantity.percent(row.bytes, of: row.total).map { "\($0)%" } ?? ""
        // The columns in display order, each with its width and rank; the highest ranks are omitted first.
        let fields: [(text: String, width: Int, rank: Int)] = [
            (percent, 4, 0),
            (Quantity.bytes(row.bytes, of: row.total), 13, 2),
            (Quantity.rate(row.rate), 10, 1),
            (row.total == nil ? "" : Quantity.time(row.secondsLeft), 7, 3),
        ]
        var rank = 3
        while rank > 0, width - fields.filter({ $0.rank <= rank }).reduce(0, { $0 + $1.width + 2 }) < 12 { rank -= 1 }
        let kept = fields.filter { $0.rank <= rank }
        let rest = width - kept.reduce(0) { $0 + $1.width + 2 }
        let bar = rest >= 26 ? min(30, rest * 2 / 5) : 0
        let name = max(1, rest - (bar > 0 ? bar + 2 : 0))
        var line = DisplayText.fitted(row.name, to: name, mark: self.mark)
        if bar > 0 { line += "  " + self.bar(row, bar) }
        for field in kept {
            line += "  " + String(repeating: " ", count: max(0, field.width - field.text.count)) + field.text
        }
        return self.cut(line)
    }

    /// A bar of exactly `width` columns; empty if the length is unknown.
    private func bar(_ row: RunModel.Row, _ width: Int) -> String {
        let inner = width - 2
        let share = row.total.map { $0 > 0 ? min(1, Double(max(row.bytes, 0)) / Double($0)) : 1 } ?? 0
        let full = Int((share * Double(inner)).rounded(.down)).clamped(to: 0...inner)
        return "[" + String(repeating: self.unicode ? "█" : "#", count: full)
            + String(repeating: self.unicode ? "░" : "-", count: inner - full) + "]"
    }

    private func total(_ model: RunModel, _ totals: Totals) -> String {
        let done = model.finished + model.skipped
        let all = done + model.failed + model.cancelled + model.rows.count + totals.waiting
        var parts = ["\(done)/\(all)\(totals.complete ? "" : "+") files"]
        if model.failed > 0 { parts.append("\(model.failed) failed") }
        if totals.held > 0 { parts.append("\(totals.held) held") }
        parts.append(Quantity.bytes(totals.received))
        parts.append(Quantity.rate(totals.rate))
        if let left = self.secondsLeft(model, totals) { parts.append(Quantity.time(left) + " left") }
        return self.cut(parts.joined(separator: "  "))
    }

    /// The estimated time left, if every file is running and has a known length.
    private func secondsLeft(_ model: RunModel, _ totals: Totals) -> Double? {
        guard totals.waiting == 0, totals.complete, totals.rate > 0, !model.rows.isEmpty else { return nil }
        var left = 0.0
        for row in model.rows {
            guard let total = row.total else { return nil }
            left += Double(max(0, total - row.bytes))
        }
        return left / totals.rate
    }

    private func cut(_ line: String) -> String { DisplayText.start(of: line, within: max(1, self.columns - 1)) }
}
