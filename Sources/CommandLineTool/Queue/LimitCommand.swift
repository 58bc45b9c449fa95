// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control

/// `martlet limit`: shows or sets the queue's limits.
struct LimitCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit",
        abstract: "Show or set the limits and the schedule of the queue.",
        discussion: """
            Without options, shows the limits. They apply to the whole queue and survive a restart; with ids, --rate \
            applies to those transfers. 0 removes a limit.
            """
    )

    @Argument(
        help: ArgumentHelp("Ids of transfers to limit with --rate. (default: the whole queue)", valueName: "id"),
        completion: IDCompletion.kind
    )
    var ids: [String] = []

    @Option(.queueRate) var rate: Int64?

    @Option(.downloads) var downloads: Int?

    @Option(.hostLimit) var host: [String] = []

    @Option(.schedule) var schedule: String?

    @Option(.days) var days: String?

    @Option(.notify.described("Desktop notifications: finished, failed and done, separated by commas, or none."))
    var notify: String?

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    func execute(_ console: Console) async throws -> Int32 {
        let hosts = try self.hosts()
        let schedule = try self.hours()
        let client = try self.daemon.client()
        guard self.ids.isEmpty else {
            guard let rate = self.rate, self.downloads == nil, hosts.isEmpty, schedule == nil, self.notify == nil else {
                throw SyntaxError("only --rate applies to single transfers; write martlet limit ID --rate SIZE")
            }
            for id in self.ids { try await Self.limit(id, rate: rate, client) }
            return ExitStatus.success
        }
        var options = TransferOptions()
        options.set(.queueRate, self.rate)
        options.set(.downloads, self.downloads)
        options.set(.notify, self.notify)
        if !options.isEmpty { _ = try await client.call("martlet.setLimits", ["options": options.json]) }
        for (host, connections) in hosts {
            let limit: JSON = connections == 0 ? .null : .integer(Int64(connections))
            _ = try await client.call("martlet.setHostLimit", ["host": .string(host), "connections": limit])
        }
        // `martlet.schedule` accepts null in place of the object for "always".
        if let schedule { _ = try await client.call("martlet.schedule", [schedule]) }
        if options.isEmpty, hosts.isEmpty, schedule == nil {
            console.print(Self.lines(try await client.call("martlet.limits")))
        }
        return ExitStatus.success
    }

    /// Limits the rate of a transfer, in bytes per second; 0 removes the limit.
    static func limit(_ id: String, rate: Int64, _ client: ControlClient) async throws(ControlError) {
        // Only the limit for the transfer's direction has an effect.
        let options: JSON = ["max-download-limit": .string("\(rate)"), "max-upload-limit": .string("\(rate)")]
        _ = try await client.call("martlet.setOptions", ["id": .string(id), "options": options])
    }

    private func hosts() throws(SyntaxError) -> [(String, Int)] {
        var hosts: [(String, Int)] = []
        for text in self.host { hosts.append(try Self.hostLimit(text)) }
        return hosts
    }

    /// Parses `HOST=NUMBER`.
    static func hostLimit(_ text: String) throws(SyntaxError) -> (host: String, connections: Int) {
        guard let equals = text.lastIndex(of: "="), equals != text.startIndex else {
            throw SyntaxError("\"\(DisplayText.clean(text))\" is not the limit of a host; write HOST=NUMBER")
        }
        let number = try OptionSyntax.number(0...10000).parsed(String(text[text.index(after: equals)...]))
        return (String(text[..<equals]), number)
    }

    /// The parameter of `martlet.schedule`, or `nil` if no schedule is given.
    private func hours() throws(SyntaxError) -> JSON? {
        guard let text = self.schedule, text != "none" else {
            guard self.days == nil else { throw SyntaxError("--days requires --schedule HH:MM-HH:MM") }
            return self.schedule == nil ? nil : .null
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy(Self.isTime) else {
            throw SyntaxError(
                "\"\(DisplayText.clean(text))\" is not a time range; write HH:MM-HH:MM, such as 22:00-07:00, or none"
            )
        }
        var schedule: [JSON.Member] = [.init("start", .string(parts[0])), .init("end", .string(parts[1]))]
        if let days = self.days { schedule.append(.init("days", .array(try Self.days(days).map { .string($0) }))) }
        return .object(schedule)
    }

    private static let week = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// Parses names and ranges of days, which may cross the end of the week; returns them in order from Monday.
    private static func days(_ text: String) throws(SyntaxError) -> [String] {
        var days: Set<Int> = []
        for part in text.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
                .map { self.week.firstIndex(of: String($0)) }
            guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1] else {
                throw SyntaxError(
                    "\"\(DisplayText.clean(text))\" is not a list of days; write mon,tue,wed,thu,fri,sat,sun or mon-fri"
                )
            }
            for day in first...(last < first ? last + 7 : last) { days.insert(day % 7) }
        }
        return days.sorted().map { self.week[$0] }
    }

    private static func isTime(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            let hour = Int(parts[0]), let minute = Int(parts[1])
        else { return false }
        return hour < 24 && minute < 60
    }

    /// The options of the daemon that are shown, in this order, with the names of this command's.
    private static let shown = [
        (name: "rate", option: "max-overall-download-limit"), ("downloads", "max-concurrent-downloads"),
        ("rate of each download", "max-download-limit"), ("rate of each upload", "max-upload-limit"),
        ("connections of each download to a host", "max-connection-per-server"), ("notify", "notify"),
    ]

    private static func lines(_ limits: JSON) -> [String] {
        var lines: [String] = []
        // The daemon returns all options; only the limits are shown.
        for (name, option) in Self.shown {
            guard let value = limits["options"]?[option] else { continue }
            let text = value.string ?? value.text
            guard option.hasSuffix("-limit") else {
                lines.append("\(name): \(text)")
                continue
            }
            let rate = try? OptionSyntax.size.parsed(text)
            lines.append("\(name): \(rate.map { $0 > 0 ? Quantity.rate(Double($0)) : "no limit" } ?? text)")
        }
        for member in limits["hosts"]?.object ?? [] {
            lines.append("host \(member.name): \(member.value.text) connections")
        }
        if let schedule = limits["schedule"], !schedule.isNull {
            let days = schedule["days"]?.array?.compactMap(\.string) ?? []
            lines.append(
                "schedule: \(schedule["start"]?.string ?? "")-\(schedule["end"]?.string ?? "")"
                    + (days.isEmpty ? "" : " " + days.joined(separator: ","))
            )
        } else {
            lines.append("schedule: always")
        }
        return lines.map { DisplayText.clean($0) }
    }
}
