// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control
import Platform

/// Formats all details of a transfer for a person.
enum TransferText {
    /// The lines; the daemon omits options with secrets, and URLs are printed as given.
    static func lines(_ record: TransferRecord, now: Double = TransferText.now) -> [String] {
        var lines = [("id", record.id.description), ("state", self.state(record))]
        if let hold = record.hold {
            let time = self.timeOfDay(hold.since)
            lines.append(("waits", hold.text(now: now, since: time, namesHost: true)))
            if hold.message != hold.cause { lines.append(("last attempt", hold.message)) }
        }
        if let retry = record.retry { lines.append(("waits", retry.text(now: now))) }
        if let session = record.session { lines.append(("session", session)) }
        for (index, url) in record.urls.enumerated() {
            let name = index > 0 ? "mirror" : record.upload == nil ? "url" : "sent to"
            lines.append((name, url))
        }
        if let upload = record.upload {
            for path in upload.files { lines.append(("file", path)) }
            lines.append(("protocol", upload.resumption))
        } else {
            lines.append(("directory", record.directory))
            if let path = record.path { lines.append(("file", path)) }
        }
        lines.append(("bytes", Quantity.bytes(record.bytes, of: record.total)))
        if record.state == .active {
            lines.append(("rate", Quantity.rate(Double(record.rate))))
            if let left = self.secondsLeft(of: record) { lines.append(("time left", Quantity.time(left))) }
            lines.append(("connections", "\(record.connections)"))
        }
        if record.priority != 0 { lines.append(("priority", "\(record.priority)")) }
        if let position = record.position { lines.append(("position", "\(position)")) }
        if let failure = record.failure {
            let kind = failure.reason.map { "\(failure.code), \($0)" } ?? "\(failure.code)"
            lines.append(("error", "\(failure.message) (\(kind))"))
            if !failure.remedy.isEmpty { lines.append(("remedy", failure.remedy)) }
        }
        lines.append(("added", self.moment(record.added)))
        if let ended = record.ended { lines.append(("ended", self.moment(ended))) }
        for member in record.options.json.object ?? [] {
            let value = member.value.string ?? member.value.array?.compactMap(\.string).joined(separator: ", ") ?? ""
            lines.append(("option", "\(member.name)=\(value)"))
        }
        lines += self.details(of: record)
        return lines.map { name, value in
            name + ":" + String(repeating: " ", count: max(1, 13 - name.utf8.count)) + DisplayText.clean(value)
        }
    }

    /// The time left of a running transfer in seconds, or `nil` if it is unknown.
    static func secondsLeft(of record: TransferRecord) -> Double? {
        guard record.state == .active, record.rate > 0, let total = record.total else { return nil }
        return max(0, Double(total) - Double(record.bytes)) / Double(record.rate)
    }

    private static func state(_ record: TransferRecord) -> String {
        record.waitingFor.map { "\(record.state.rawValue) (\($0.rawValue))" } ?? record.state.rawValue
    }

    /// The current time, in seconds since 1970.
    static var now: Double { Double(time(nil)) }

    /// A time in local time, as `12:05`; with the date if it is more than a day ago.
    static func timeOfDay(_ seconds: Double) -> String {
        let text = self.moment(seconds)
        guard text.utf8.count >= 16 else { return text }
        return String(self.now - seconds > 86_400 ? text.prefix(16) : text.prefix(16).suffix(5))
    }

    /// A time in local time, as `2026-01-31 12:05:09`.
    static func moment(_ seconds: Double) -> String {
        guard seconds.isFinite, seconds.magnitude < 1e11 else { return "?" }
        var time = time_t(seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return "?" }
        let numbers = [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec]
            .map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(Int(parts.tm_year) + 1900)-\(numbers[0])-\(numbers[1]) \(numbers[2]):\(numbers[3]):\(numbers[4])"
    }
}
