// SPDX-License-Identifier: Apache-2.0
import Control
import Platform
import TransferCore
import TransferEngine

/// Formats sizes, times and lines as aria2 does.
///
/// - Source: `abbrevSize` and `secfmt` in aria2's `util.cc`; `ConsoleStatCalc.cc`.
struct Aria2Text: Sendable {
    /// Whether sizes have units.
    var isHumanReadable = true

    /// A size without the letter B: `4.7Mi`, `433Mi`, `12`.
    func size(_ count: Int64) -> String {
        guard self.isHumanReadable else { return "\(count)" }
        let units = ["", "Ki", "Mi", "Gi"]
        var (whole, rest, index) = (max(0, count), Int64(0), 0)
        while whole >= 1024, index + 1 < units.count {
            (whole, rest) = whole.quotientAndRemainder(dividingBy: 1024)
            index += 1
        }
        if index + 1 < units.count, whole >= 922 {
            index += 1
            (whole, rest) = (0, whole)
        }
        return "\(whole)" + (whole < 10 && index > 0 ? ".\(rest * 10 / 1024)" : "") + units[index]
    }

    /// A time: `1h2m3s`.
    func time(_ seconds: Int) -> String {
        var (text, rest) = ("", seconds)
        if rest >= 3600 { text += "\(rest / 3600)h" }
        rest %= 3600
        if rest >= 60 { text += "\(rest / 60)m" }
        rest %= 60
        return rest > 0 || text.isEmpty ? text + "\(rest)s" : text
    }

    /// A file's progress: `[#91cbab 1.0MiB/4.7MiB(21%) CN:1 DL:1.0MiB ETA:3s]`.
    func progress(_ row: RunModel.Row) -> String {
        var text = "[#\(Self.id(row)) \(self.progressOfSize(row)) CN:\(row.connections)"
        text += " DL:\(self.size(Int64(row.rate.isFinite ? row.rate : 0)))B"
        if let left = row.secondsLeft, left.isFinite, left >= 1, left < 1e9 { text += " ETA:\(self.time(Int(left)))" }
        return text + "]"
    }

    /// The progress of all files on one line.
    ///
    /// - Parameters:
    ///   - rows: The running files.
    ///   - rate: Their rate, in bytes per second.
    /// - Returns: The line; empty without files.
    func readout(_ rows: [RunModel.Row], rate: Double) -> String {
        guard let first = rows.first else { return "" }
        if rows.count == 1 { return self.progress(first) }
        var text = "[DL:\(self.size(Int64(rate.isFinite ? rate : 0)))B]"
        for row in rows.prefix(5) { text += "[#\(Self.id(row)) \(self.progressOfSize(row))]" }
        return rows.count > 5 ? text + "(+\(rows.count - 5))" : text
    }

    /// The first six digits of a file's identifier.
    private static func id(_ row: RunModel.Row) -> String { String((row.gid?.description ?? "000000").prefix(6)) }

    private func progressOfSize(_ row: RunModel.Row) -> String {
        let total = row.total ?? 0
        let text = "\(self.size(row.bytes))B/\(self.size(total))B"
        return total > 0 ? text + "(\(Quantity.percent(row.bytes, of: total) ?? 0)%)" : text
    }

    /// A line of the console.
    static func line(_ level: Aria2Output.Level, _ text: String, at time: String, isColoured: Bool) -> String {
        let word = isColoured ? "\u{1B}[\(level.colour)m\(level.word)\u{1B}[0m" : level.word
        return "\n\(time) [\(word)] \(text)"
    }

    /// The failure as aria2 reports it.
    static func failure(_ failure: TransferFailure, url: String) -> String {
        let code = Aria2ExitStatus(failure.code).number
        let remedy = failure.remedy(naming: Self.option)
        let reason = remedy.isEmpty ? failure.message : "\(failure.message); \(remedy)"
        return "Download aborted. URI=\(url)\nException: errorCode=\(code) URI=\(url)\n"
            + "  -> errorCode=\(code) \(DisplayText.clean(reason))"
    }

    /// How to change the setting of a failure by aria2's options.
    static func option(_ setting: TransferFailure.Setting) -> String {
        switch setting {
        case .existingFiles: "replace it with --allow-overwrite=true, or choose another name with --out"
        case .runningDownloads: "try again when it has ended"
        case .resourceTimeout: "run the same command again"
        case .connectTimeout: "increase --connect-timeout"
        case .trust: "give its certificate authority with --ca-certificate"
        case .credentials: "pass them with --http-user and --http-passwd, or --header"
        case .clientCertificate: "give it with --certificate and --private-key"
        case .concurrency: "use fewer connections (-j, -x)"
        case .addresses: "use martlet get with --allow-addresses"
        case .lowestRate: "lower --lowest-speed-limit"
        case .outageTimeout: "run the same command again"
        }
    }
}

/// The table of results at the end.
///
/// - Source: aria2's `RequestGroupMan::showDownloadResults`.
struct Aria2Results: Sendable {
    /// The state of a file at the end.
    enum State: String, Sendable, CaseIterable {
        case complete = "OK  "
        case failed = "ERR "
        case unfinished = "INPR"

        /// The explanation below the table.
        var legend: String {
            switch self {
            case .complete: "(OK):download completed."
            case .failed: "(ERR):error occurred."
            case .unfinished: "(INPR):download in-progress."
            }
        }
    }

    struct Row: Sendable, Equatable {
        var id: String
        var state: State
        /// Bytes per second, or `nil` if nothing was received.
        var rate: Double?
        /// The part that is present, in percent, or `nil` if the length is unknown.
        var percent: Int?
        /// The file's path, or its URL.
        var place: String
    }

    private var rows: [Row] = []
    private let limit: Int

    /// Creates an empty table.
    ///
    /// - Parameter limit: The maximum number of rows; older ones are dropped.
    init(limit: Int) { self.limit = limit }

    /// Whether files did not finish.
    private(set) var hasFailures = false

    /// Whether no file has ended.
    var isEmpty: Bool { self.rows.isEmpty }

    mutating func add(_ row: Row) {
        if row.state != .complete { self.hasFailures = true }
        self.rows.append(row)
        if self.rows.count > self.limit * 2 + 64 { self.rows.removeFirst(self.rows.count - self.limit) }
    }

    /// The lines of the table.
    func lines(_ text: Aria2Text, isFull: Bool) -> [String] {
        var lines = ["", "Download Results:"]
        lines.append("gid   |stat|avg speed  " + (isFull ? "|  %|path/URI" : "|path/URI"))
        lines.append(
            "======+====+===========+"
                + (isFull ? "===+" + String(repeating: "=", count: 51) : String(repeating: "=", count: 55))
        )
        let shown = self.rows.suffix(self.limit)
        for row in shown {
            let rate = row.rate.map { text.size(Int64($0.isFinite ? $0 : 0)) + "B/s" } ?? "n/a"
            var line = "\(row.id)|\(row.state.rawValue)|\(Self.right(rate, 11))|"
            if isFull { line += Self.right(row.percent.map { "\($0)" } ?? "-", 3) + "|" }
            lines.append(line + row.place)
        }
        guard !shown.isEmpty else { return lines }
        let states = State.allCases.filter { state in shown.contains { $0.state == state } }
        return lines + ["", "Status Legend:", states.map(\.legend).joined()]
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
}
