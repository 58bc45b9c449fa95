// SPDX-License-Identifier: Apache-2.0
import Control

/// Draws the state of `martlet top`.
///
/// Pure: it maps a model to lines of exactly the size of the terminal.
struct TopScreen {
    /// Whether characters beyond ASCII are used.
    var unicode: Bool

    /// The content of the screen.
    func frame(_ model: TopModel) -> TopFrame {
        let layout = model.layout
        let width = model.columns
        var frame = TopFrame()
        if layout.title > 0 { frame.lines.append(self.title(model)) }
        frame.lines += self.plot(model, rows: layout.plot)
        if layout.tabs > 0 { frame.lines.append(self.tabs(model)) }
        frame.lines += self.body(model, layout)
        let status = self.status(model, rows: layout.status)
        frame.lines += status.lines
        if layout.footer > 0 { frame.lines.append(self.footer(model)) }
        frame.cursor = status.cursor
        if layout.status == 0, !frame.lines.isEmpty, model.prompt != nil || model.message != nil {
            // On a single row, a question or an error is more important than a transfer.
            let only = self.status(model, rows: 1)
            frame.lines[frame.lines.count - 1] = only.lines[0]
            frame.cursor = only.cursor
        }
        frame.cursor?.row += frame.lines.count - layout.footer - max(1, layout.status)
        for index in frame.lines.indices { frame.lines[index].fill() }
        if let cursor = frame.cursor, !(0..<width).contains(cursor.column) || cursor.row < 0 { frame.cursor = nil }
        return frame
    }

    /// An empty line.
    func line(_ model: TopModel) -> TopLine { TopLine(width: model.columns, unicode: self.unicode) }

    // MARK: Above the table

    private func title(_ model: TopModel) -> TopLine {
        var line = self.line(model)
        line.add(" martlet ", .bold)
        if let loss = model.loss {
            let since = TransferText.timeOfDay(loss.since)
            line.add(" disconnected since \(since): \(loss.error.description)", .bad)
            return line
        }
        if let loading = model.loading, model.time.steady - loading.since >= 3 {
            line.add(" no answer from the daemon for \(Int(min(1e6, model.time.steady - loading.since))) s", .warning)
            return line
        }
        line.add(" \(Quantity.rate(Double(model.counts.rate)))", .accent)
        var notes: [String] = []
        if model.counts.retrying > 0 { notes.append("\(model.counts.retrying) retrying") }
        if model.counts.held > 0 { notes.append("\(model.counts.held) held") }
        if let calling = model.calling, model.time.steady - calling >= 2 { notes.append("waiting for the last change") }
        if model.marks.count > 0 { notes.append("\(model.marks.count) marked") }
        if !model.query.search.isEmpty { notes.append("with \"\(model.query.search)\"") }
        if model.query.order != .queue { notes.append(model.query.order.text) }
        line.add("   ")
        if notes.isEmpty { return line }
        line.add(notes.joined(separator: ", ") + " ", .warning, in: line.rest, .right)
        return line
    }

    private func plot(_ model: TopModel, rows: Int) -> [TopLine] {
        guard rows > 0 else { return [] }
        let label = model.columns >= 60 ? 20 : 0
        let now = model.time.steady
        let plot = TopPlot(
            values: model.history.columns(max(0, model.columns - label), until: now, interval: model.interval),
            peak: model.history.peak(until: now),
            rows: rows,
            unicode: self.unicode
        )
        return plot.lines.enumerated()
            .map { index, text in
                var line = self.line(model)
                line.add(text, .accent)
                if label > 0 {
                    let peak = "peak \(Quantity.rate(model.history.peak(until: now)))"
                    let text = index == 0 ? peak : index == rows - 1 ? "last 5 minutes" : ""
                    line.add(text + " ", .dim, in: label, .right)
                }
                return line
            }
    }

    private func tabs(_ model: TopModel) -> TopLine {
        var line = self.line(model)
        let isNarrow = model.columns < 64
        for tab in TopTab.allCases {
            let isCurrent = tab == model.query.tab
            let title = isNarrow && !isCurrent ? "" : " " + tab.title
            let text = "\(tab.rawValue)\(title) \(tab.count(model.counts))"
            line.add(isCurrent ? "[\(text)]" : " \(text) ", isCurrent ? .reverse : .plain)
        }
        return line
    }

    // MARK: Below the table

    private func status(_ model: TopModel, rows: Int) -> (lines: [TopLine], cursor: TopFrame.Cursor?) {
        guard rows > 0 else { return ([], nil) }
        var lines = [TopLine](repeating: self.line(model), count: rows)
        if let prompt = model.prompt {
            lines[0].add(" " + prompt.label, .bold)
            guard let editor = prompt.editor else {
                // Without a footer the keys are here.
                if rows > 1 { lines[1].add(" " + prompt.note) } else { lines[0].add(" " + prompt.note) }
                return (lines, nil)
            }
            if lines[0].rest < 8 { lines[0] = self.line(model) }
            let cursor = self.add(editor, to: &lines[0])
            if rows > 1 { lines[1].add(" " + prompt.note, prompt.isError ? .bad : .plain) }
            return (lines, TopFrame.Cursor(row: 0, column: cursor))
        }
        let (texts, style) = self.notes(model)
        var wrapped = texts.flatMap { TopText.wrapped($0, columns: max(1, model.columns - 2)) }
        if wrapped.count > rows, rows == 1 || texts.count > 1 {
            // Both texts, each shortened, rather than the first one alone.
            wrapped = rows == 1 ? [texts.joined(separator: "; ")] : texts
        }
        for (index, text) in wrapped.prefix(rows).enumerated() {
            lines[index].add(" ", style)
            lines[index].add(text, style, upTo: lines[index].rest)
        }
        return (lines, nil)
    }

    /// Adds the part of the text around the cursor that fits; returns the cursor's column.
    private func add(_ editor: TopEditor, to line: inout TopLine) -> Int {
        let room = max(0, line.rest - 1)
        var before = Array(editor.before)
        var columns = before.reduce(0) { $0 + DisplayWidth.of($1) }
        var dropped = 0
        while columns > room, dropped < before.count {
            columns -= DisplayWidth.of(before[dropped])
            dropped += 1
        }
        before.removeFirst(dropped)
        line.add(String(before))
        let column = min(line.columns, max(0, line.width - 1))
        line.add(editor.after)
        return column
    }

    private func notes(_ model: TopModel) -> (texts: [String], style: TopStyle) {
        if let message = model.message { return ([message.text], message.isError ? .bad : .good) }
        switch model.mode {
        case .list:
            guard let record = model.window.current else { return ([], .plain) }
            let texts = TopText.explanation(of: record, now: model.time.wall)
            return (texts, record.failure == nil ? record.hold == nil ? .dim : .warning : .bad)
        case .limits: return (["the limits apply at once and survive a restart of the daemon"], .dim)
        case .details, .help: return ([], .plain)
        }
    }

    private func footer(_ model: TopModel) -> TopLine {
        var line = self.line(model)
        if let prompt = model.prompt {
            // With two rows of status the keys are there.
            if model.layout.status < 2 { line.add(" " + prompt.note, prompt.isError ? .bad : .plain) }
            return line
        }
        for (key, effect) in TopKeys.footer(model.mode) {
            guard DisplayWidth.of(key) + DisplayWidth.of(effect) + 3 <= line.rest else { break }
            line.add(" ")
            line.add(key, .bold)
            line.add(" " + effect + " ")
        }
        return line
    }
}
