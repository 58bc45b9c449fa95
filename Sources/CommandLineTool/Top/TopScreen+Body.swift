// SPDX-License-Identifier: Apache-2.0
import Control

/// The middle of the screen.
extension TopScreen {
    /// The rows between the tabs and the status.
    func body(_ model: TopModel, _ layout: TopLayout) -> [TopLine] {
        switch model.mode {
        case .list: (layout.heading > 0 ? [self.heading(model)] : []) + self.table(model, rows: layout.body)
        case .details(let details):
            self.page(
                details.lines(width: model.columns, now: model.time.wall),
                from: details.scroll,
                model,
                rows: layout.page
            )
        case .help(let scroll): self.page(TopKeys.help(width: model.columns), from: scroll, model, rows: layout.page)
        case .limits(let page): self.limits(page, model, rows: layout.page)
        }
    }

    private func page(_ texts: [String], from start: Int, _ model: TopModel, rows: Int) -> [TopLine] {
        (0..<max(0, rows))
            .map { row in
                var line = self.line(model)
                let index = start + row
                if texts.indices.contains(index) { line.add(texts[index]) }
                return line
            }
    }

    // MARK: The table

    private func heading(_ model: TopModel) -> TopLine {
        var line = self.line(model)
        let columns = TopColumns(width: model.columns)
        line.add("", in: TopColumns.marks)
        line.add("NAME", .bold, in: columns.name)
        if columns.host > 0 { line.add(" HOST", .bold, in: columns.host + 1) }
        guard columns.standing > 0 else { return line }
        line.add(" ", .bold)
        if columns.bar > 0 { line.add("STATE", .bold, in: columns.bar + 1) }
        line.add("DONE", .bold, in: TopColumns.percent, .right)
        if columns.showsSize { line.add("SIZE", .bold, in: TopColumns.size + 1, .right) }
        if columns.showsRate { line.add("RATE", .bold, in: TopColumns.rate + 1, .right) }
        if columns.showsLeft { line.add("LEFT", .bold, in: TopColumns.left + 1, .right) }
        return line
    }

    private func table(_ model: TopModel, rows: Int) -> [TopLine] {
        let columns = TopColumns(width: model.columns)
        let table = TransferTable(columns: nil, asciiOnly: !self.unicode, now: model.time.wall)
        let window = model.window
        var lines: [TopLine] = []
        for row in 0..<max(0, rows) {
            let index = window.top + row
            var line = self.line(model)
            if let record = window.record(at: index), index < window.total {
                let isCurrent = index == window.cursor
                line.add(isCurrent ? ">" : " ")
                line.add(model.marks.contains(record.id) ? "*" : " ", .warning)
                line.add(" ")
                self.add(record, to: &line, columns, table, model)
                line.fill()
                if isCurrent { line.restyle(.reverse) }
            } else if index < window.total {
                line.add(self.unicode ? "   …" : "   ...", .dim)
            } else if row == 0, model.loading == nil || !window.records.isEmpty || model.loss != nil {
                line.add("   " + Self.emptyText(model), .dim)
            }
            lines.append(line)
        }
        return lines
    }

    private static func emptyText(_ model: TopModel) -> String {
        if !model.query.search.isEmpty { return "no transfer here has these words in its name or URL" }
        return model.query.tab == .all
            ? "no transfers; add some with martlet add URL" : "no transfers are in this state"
    }

    private func add(
        _ record: TransferRecord,
        to line: inout TopLine,
        _ columns: TopColumns,
        _ table: TransferTable,
        _ model: TopModel
    ) {
        let name = TopText.name(of: record, programs: model.programs, unicode: self.unicode)
        line.add(name, record.state.isEnd && record.state != .failed ? .dim : .plain, in: columns.name)
        if columns.host > 0 {
            line.add(" ")
            line.add(TopText.host(of: record), .dim, in: columns.host)
        }
        guard columns.standing > 0 else { return }
        line.add(" ")
        let isRunning = record.state == .active && record.waitingFor == nil
        guard isRunning else {
            let text = TopText.standing(record, table)
            let style: TopStyle =
                switch record.state {
                case .failed: .bad
                case .finished: .good
                case .paused: .warning
                case .removed: .dim
                case .retrying, .held: .warning
                case .waiting, .active: record.hold == nil ? .plain : .warning
                }
            return line.add(text, style, upTo: columns.standing)
        }
        let share = TopText.share(of: record)
        if columns.bar > 0 {
            line.add(self.bar(share ?? 0, columns.bar), model.isStale ? .dim : .good)
            line.add(" ")
        }
        let percent = share.map { "\(Int($0 * 100))%" } ?? "-"
        line.add(percent, in: TopColumns.percent, .right)
        if columns.showsSize {
            line.add(" ")
            line.add(Quantity.bytes(record.total ?? record.bytes), in: TopColumns.size, .right)
        }
        if columns.showsRate {
            line.add(" ")
            line.add(model.isStale ? "-" : Quantity.rate(Double(record.rate)), in: TopColumns.rate, .right)
        }
        if columns.showsLeft {
            line.add(" ")
            line.add(model.isStale ? "-" : Quantity.time(TransferText.secondsLeft(of: record)), in: TopColumns.left, .right)
        }
        let used = TopColumns.marks + columns.name + (columns.host > 0 ? columns.host + 1 : 0) + 1 + columns.standing
        if used - line.columns >= 18, record.connections > 0 {
            line.add("  " + TopText.count(record.connections, "connection"), .dim, in: used - line.columns)
        }
    }

    private func bar(_ share: Double, _ width: Int) -> String {
        let eighths = Int(share * Double(width * 8)).clamped(to: 0...(width * 8))
        guard self.unicode else {
            let full = eighths / 8
            return String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
        }
        let partial = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        let full = String(repeating: "█", count: eighths / 8) + partial
        return full + String(repeating: "·", count: width - full.count)
    }

    // MARK: Limits

    private func limits(_ page: TopLimitsPage, _ model: TopModel, rows: Int) -> [TopLine] {
        var lines: [TopLine] = []
        let start = max(0, page.cursor - max(0, rows - 2))
        for row in 0..<max(0, rows) {
            var line = self.line(model)
            let index = start + row - 1
            if row == 0 {
                line.add(page.limits == nil ? " Limits: loading" : " Limits", .bold)
            } else if page.rows.indices.contains(index) {
                let (label, value) = Self.text(of: page.rows[index])
                line.add(index == page.cursor ? " > " : "   ")
                line.add(label, in: min(34, max(8, model.columns / 2)))
                line.add(" " + value)
                line.fill()
                if index == page.cursor { line.restyle(.reverse) }
            }
            lines.append(line)
        }
        return lines
    }

    private static func text(of row: TopLimitsPage.Row) -> (String, String) {
        switch row {
        case .rate(let rate): ("total rate", rate > 0 ? Quantity.rate(Double(rate)) : "no limit")
        case .concurrent(let number): ("concurrent transfers", "\(number)")
        case .host(let host): ("host \(host.name)", TopText.count(Int(clamping: host.connections), "connection"))
        case .newHost: ("another host", "enter: add")
        case .transfers(let targets):
            (targets.count == 1 ? "rate of \(targets[0].name)" : "rate of \(targets.count) marked", "enter: set")
        case .schedule(let schedule): ("hours", schedule ?? "always")
        }
    }
}
