// SPDX-License-Identifier: Apache-2.0
import Control
import TransferCore

/// Texts about transfers, as `martlet top` shows them.
enum TopText {
    /// The host of a transfer, without user information; empty if the URL is not valid.
    static func host(of record: TransferRecord) -> String { self.url(of: record)?.hostField ?? "" }

    private static func url(of record: TransferRecord) -> HTTPURL? {
        guard let url = record.urls.first, url.utf8.count <= 8192 else { return nil }
        return try? HTTPURL(url)
    }

    /// The share that is complete, from 0 to 1, or `nil` if the length is unknown.
    static func share(of record: TransferRecord) -> Double? {
        guard let total = record.total, total > 0 else { return nil }
        return min(1, max(0, Double(record.bytes) / Double(total)))
    }

    /// The state of a transfer that transfers nothing now, and why.
    static func standing(_ record: TransferRecord, _ table: TransferTable) -> String {
        let state = record.state.rawValue
        let reason = table.reason(of: record)
        if !reason.isEmpty { return "\(state): \(reason)" }
        switch record.state {
        case .finished:
            let size = record.total.map { ", " + Quantity.bytes($0) } ?? ""
            return state + (record.ended.map { " " + TransferText.timeOfDay($0) } ?? "") + size
        case .removed, .failed: return state
        case .waiting, .active, .retrying, .held, .paused:
            guard record.bytes > 0 else { return state + (record.total.map { ", " + Quantity.bytes($0) } ?? "") }
            guard let percent = Quantity.percent(record.bytes, of: record.total), let total = record.total else {
                return "\(state) at \(Quantity.bytes(record.bytes))"
            }
            return "\(state) at \(percent)% of \(Quantity.bytes(total))"
        }
    }

    /// The status line of the selected transfer: why it waits or failed and how to fix it, or its URL and path.
    static func explanation(of record: TransferRecord, now: Double) -> [String] {
        if let failure = record.failure {
            return [failure.message, failure.remedy].filter { !$0.isEmpty }
        }
        if let hold = record.hold {
            let since = TransferText.timeOfDay(hold.since)
            return [hold.text(now: now, since: since, namesHost: true)]
                + (hold.message == hold.cause ? [] : [hold.message])
        }
        if let retry = record.retry { return [retry.text(now: now)] }
        if let reason = record.waitingFor { return [self.sentence(for: reason)] }
        // The parts of the URL that may be secret are in the details only.
        return [self.url(of: record)?.redacted ?? "", record.path ?? record.directory].filter { !$0.isEmpty }
    }

    private static func sentence(for reason: TransferRecord.WaitReason) -> String {
        switch reason {
        case .schedule: reason.text + "; martlet limit --schedule none removes them"
        case .diskFull: reason.text + "; free some space"
        case .held: reason.text + "; R resumes it"
        case .conditions, .stopping, .host: reason.text
        }
    }

    /// The display name, with the direction of an upload and the program of a background session.
    static func name(of record: TransferRecord, programs: [String: String], unicode: Bool) -> String {
        let name = (record.upload == nil ? "" : unicode ? "↑ " : "> ") + TransferTable.name(of: record)
        guard let session = record.session else { return name }
        let program = programs[session]?.split(separator: "/").last.map(String.init) ?? ""
        return "[\(program.isEmpty ? session : program)] \(name)"
    }

    /// A number of things: `1 transfer`, `3 transfers`.
    static func count(_ number: Int, _ thing: String = "transfer") -> String {
        "\(number) \(thing)\(number == 1 ? "" : "s")"
    }

    /// Breaks a text into lines of at most `columns`, at spaces if possible; later lines are indented.
    static func wrapped(_ text: String, columns: Int, indent: Int = 0) -> [String] {
        guard columns > 0 else { return [] }
        let text = DisplayText.clean(text.utf8.count > 16_384 ? String(text.prefix(16_384)) : text)
        let indent = String(repeating: " ", count: indent < columns / 2 ? indent : 0)
        var lines: [String] = []
        var rest = text[...]
        while !rest.isEmpty {
            let lead = lines.isEmpty ? "" : indent
            var used = lead.utf8.count
            var end = rest.startIndex
            var space: String.Index?
            while end < rest.endIndex {
                used += DisplayWidth.of(rest[end])
                if used > columns { break }
                if rest[end] == " " { space = end }
                end = rest.index(after: end)
            }
            // A character that is wider than the line is left out.
            if end == rest.startIndex { end = rest.index(after: end) }
            if end < rest.endIndex, let space, space > rest.startIndex, rest[..<space].contains(where: { $0 != " " }) {
                lines.append(lead + rest[..<space])
                rest = rest[rest.index(after: space)...]
            } else {
                lines.append(lead + rest[..<end])
                rest = rest[end...]
            }
        }
        return lines.isEmpty ? [""] : lines
    }
}
