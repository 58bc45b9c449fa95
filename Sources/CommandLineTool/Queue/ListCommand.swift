// SPDX-License-Identifier: Apache-2.0
import TransferCore
import ArgumentParser
import TransferEngine
import Control
import Platform

/// `martlet list`: prints the daemon's transfers.
struct ListCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the daemon's transfers: the queue first, then the history.",
        discussion: "Commands accept any unique prefix of an id."
    )

    @Option(.state) var state: [TransferRecord.State] = []

    @Option(.session.described("Only transfers of this background session.")) var session: String?

    @Option(.listLimit) var limit: Int?

    @Flag(.json.described("Write one JSON object per transfer; see Docs/rpc.md.")) var json = false

    @Flag(.watch) var watch = false

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    /// The number of transfers per request.
    private static let page = 1000

    func execute(_ console: Console) async throws -> Int32 {
        let client = try self.daemon.client()
        if self.watch { return try await self.follow(client, console) }
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let table = TransferTable(
            columns: isTerminal ? Terminal.size(STDOUT_FILENO).columns : nil,
            asciiOnly: !Terminal.isUnicode
        )
        if let limit = self.limit, limit <= Self.page {
            let records =
                limit == 0 ? [] : try await client.list(states: self.state, session: self.session, limit: limit)
            self.show(records, table, console, isFirst: true)
            return ExitStatus.success
        }
        if Set(self.state).isSubset(of: TransferRecord.State.started), !self.state.isEmpty {
            // Which transfers are active is known only in memory, not in a snapshot of the database.
            let records = try await client.enumerate(states: self.state, session: self.session)
            self.show(Array(records.prefix(self.limit ?? .max)), table, console, isFirst: true)
            return ExitStatus.success
        }
        let stored = self.state.contains(where: \.isStarted) ? self.state + [.waiting] : self.state
        let list = try await client.openList(states: stored, session: self.session).list
        // Without a filter of states, each line is what the daemon wrote.
        if self.json, self.state.isEmpty { return try await self.copy(list, client, console) }
        let wanted = Set(self.state.isEmpty ? TransferRecord.State.allCases : self.state)
        var left = self.limit ?? .max
        var isFirst = true
        var records = try await client.readList(list, limit: Self.page)
        while !console.isBroken, left > 0, !records.isEmpty {
            // The daemon prepares the next page while this one is printed.
            async let following = client.readList(list, limit: Self.page)
            // A transfer that was waiting when the list was created may be active now.
            let shown = records.filter { wanted.contains($0.state) }
            self.show(Array(shown.prefix(left)), table, console, isFirst: isFirst)
            isFirst = isFirst && shown.isEmpty
            left -= min(left, shown.count)
            records = try await following
        }
        return ExitStatus.success
    }

    /// Prints a list as JSON without parsing it.
    private func copy(_ list: String, _ client: ControlClient, _ console: Console) async throws -> Int32 {
        var left = self.limit ?? .max
        var page = try await client.readListText(list, limit: Self.page)
        while !console.isBroken, left > 0, !page.ranges.isEmpty {
            async let following = client.readListText(list, limit: Self.page)
            console.print(lines: page.lines(left))
            left -= min(left, page.ranges.count)
            page = try await following
        }
        return ExitStatus.success
    }

    private func show(_ records: [TransferRecord], _ table: TransferTable, _ console: Console, isFirst: Bool) {
        if !self.json, isFirst, !records.isEmpty { console.print(table.heading) }
        console.print(records.map { self.json ? $0.json.text : table.line($0) })
    }

    private func follow(_ client: ControlClient, _ console: Console) async throws -> Int32 {
        guard console.isLive, !self.json else {
            throw SyntaxError("--watch requires a terminal; otherwise read the stream /events, or poll with --json")
        }
        while true {
            let size = Terminal.size(STDERR_FILENO)
            let table = TransferTable(columns: size.columns, asciiOnly: !Terminal.isUnicode)
            let room = max(1, min(self.limit ?? Int.max, size.rows - 3))
            let records = try await client.list(states: self.state, session: self.session, limit: room)
            let counts = try await client.counts()
            let troubled = [(counts.retrying, "retrying"), (counts.held, "held")].filter { $0.0 > 0 }
            let totals =
                ([(counts.active, "active")] + troubled + [
                    (counts.waiting, "waiting"), (counts.paused, "paused"), (counts.finished, "finished"),
                    (counts.failed, "failed"),
                ])
                .map { "\($0.0) \($0.1)" }.joined(separator: ", ") + "; \(Quantity.rate(Double(counts.rate)))"
            console.draw(
                [table.heading] + records.map { table.line($0) }
                    + [DisplayText.elided(totals, to: max(1, size.columns - 1))]
            )
            try await Task.sleep(for: .milliseconds(500))
        }
    }
}

/// `martlet show`: prints transfers with all details.
struct ShowCommand: QueueCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show all details of transfers."
    )

    @Argument(
        help: ArgumentHelp("Ids of the transfers, or unique prefixes.", valueName: "id"),
        completion: IDCompletion.kind
    )
    var ids: [String]

    @Flag(.json.described("Write one JSON object per transfer; see Docs/rpc.md.")) var json = false

    @OptionGroup(title: "Daemon")
    var daemon: DaemonOptions

    func execute(_ console: Console) async throws -> Int32 {
        let records = try await self.daemon.client().show(self.ids, details: true)
        for (index, record) in records.enumerated() {
            if index > 0, !self.json { console.print("") }
            console.print(self.json ? [record.json.text] : TransferText.lines(record))
        }
        return ExitStatus.success
    }
}
