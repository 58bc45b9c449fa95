import Control
internal import TransferCore

/// Waits for the ends of transfers, through the daemon's restarts.
struct WaitRun {
    private let client: ControlClient
    private let console: Console
    private let isQuiet: Bool
    /// How long a daemon that went away is waited for.
    private let patience: Duration

    init(_ client: ControlClient, _ console: Console, isQuiet: Bool, patience: Duration = .seconds(60)) {
        self.client = client
        self.console = console
        self.isQuiet = isQuiet
        self.patience = patience
    }

    /// Waits for these.
    ///
    /// - Returns: The exit status.
    func wait(for ids: [GID]) async throws(ControlError) -> Int32 {
        var model = WaitModel(ids)
        try await self.follow("finished,failed,removed") { (client) throws(ControlError) in
            // Whoever ended before the events began, or while they were not read.
            let asked = model.pendingInOrder
            for start in stride(from: 0, to: asked.count, by: 500) {
                let page = asked[start..<min(start + 500, asked.count)]
                let records = try await Self.standings(of: Array(page), client)
                for record in records { self.tell(model.take(record)) }
                let known = Set(records.map(\.id))
                model.missing(page.filter { !known.contains($0) })
            }
            return model.pending.isEmpty
        } take: { event in
            if let transfer = event["transfer"].flatMap({ TransferRecord(json: $0) }) {
                self.tell(model.take(transfer))
            }
            self.draw(event, where: { model.pending.contains($0) })
            return model.pending.isEmpty
        }
        return model.status
    }

    /// Waits until nothing waits or runs.
    ///
    /// - Returns: The exit status.
    func waitForAll() async throws(ControlError) -> Int32 {
        var model = WaitModel([])
        var paused = 0
        let isIdle: (ControlClient) async throws(ControlError) -> Bool = { (client) throws(ControlError) in
            let counts = try await client.counts()
            paused = counts.paused
            return counts.waiting + counts.active == 0
        }
        try await self.follow("failed,removed,drained") { (client) throws(ControlError) in
            try await isIdle(client)
        } take: { event in
            if let transfer = event["transfer"].flatMap({ TransferRecord(json: $0) }) {
                self.tell(model.note(transfer))
            }
            self.draw(event, where: { _ in true })
            return event["kind"]?.string == "drained"
        }
        _ = try? await isIdle(self.client)
        return model.status == ExitStatus.success && paused > 0 ? ExitStatus.unfinished : model.status
    }

    /// Reads events until one of the closures says that all is done; where the daemon goes away, again.
    private func follow(
        _ kinds: String,
        look: (ControlClient) async throws(ControlError) -> Bool,
        take: (JSON) -> Bool
    ) async throws(ControlError) {
        defer { self.console.draw([]) }
        let progress = self.console.isLive && !self.isQuiet ? ",progress" : ""
        let clock = ContinuousClock()
        var lost: ContinuousClock.Instant?
        var hasConnected = false
        while true {
            do throws(ControlError) {
                // The events first: what ends while it is looked is among them.
                let events = try await self.client.events(path: "/events?events=\(kinds)\(progress)")
                hasConnected = true
                if try await look(self.client) { return }
                lost = nil
                while let event = try await events.next() { if take(event.data) { return } }
            } catch {
                guard [.notRunning, .unreachable, .stopping].contains(error.code) else { throw error }
                // A restart is waited for; a daemon that was never there is not.
                if !hasConnected, error.code == .notRunning { throw error }
                if let since = lost, clock.now - since > self.patience { throw error }
            }
            if lost == nil {
                lost = clock.now
                if !self.isQuiet { self.console.tell("the daemon went away; waiting for it to come back") }
            }
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else {
                throw ControlError(.unreachable, "the wait was given up")
            }
        }
    }

    /// The records of these; where one is not known any more, of the others.
    private static func standings(
        of ids: [GID],
        _ client: ControlClient
    ) async throws(ControlError) -> [TransferRecord] {
        do throws(ControlError) {
            return try await client.show(ids.map(\.description))
        } catch {
            guard error.code == .notFound else { throw error }
            guard ids.count > 1 else { return [] }
            let middle = ids.count / 2
            return try await self.standings(of: Array(ids[..<middle]), client)
                + self.standings(of: Array(ids[middle...]), client)
        }
    }

    private func tell(_ line: String?) {
        if let line, !self.isQuiet { self.console.tell(line) }
    }

    private func draw(_ event: JSON, where isShown: (GID) -> Bool) {
        guard self.console.isLive, !self.isQuiet, let running = event["transfers"]?.array else { return }
        let size = Terminal.size(2)
        let table = TransferTable(columns: size.columns, asciiOnly: !Terminal.isUnicode)
        let records = running.compactMap { TransferRecord(json: $0) }.filter { isShown($0.id) }
        self.console.draw(records.prefix(max(1, size.rows - 2)).map { table.line($0) })
    }
}

/// What is known of the transfers that are waited for.
struct WaitModel {
    /// Those whose end is not known yet.
    private(set) var pending: Set<GID>
    /// All in the order in which they were asked for.
    private let asked: [GID]
    /// The exit status so far.
    private(set) var status = ExitStatus.success

    init(_ ids: [GID]) {
        self.pending = Set(ids)
        self.asked = ids
    }

    /// Those whose end is not known yet, in the order in which they were asked for.
    var pendingInOrder: [GID] { self.asked.filter { self.pending.contains($0) } }

    /// Takes what is known of one of them; gives a line for a person where it failed.
    mutating func take(_ record: TransferRecord) -> String? {
        guard self.pending.contains(record.id), record.state.isEnd else { return nil }
        self.pending.remove(record.id)
        return self.note(record)
    }

    /// Takes an end into the status.
    mutating func note(_ record: TransferRecord) -> String? {
        let name = TransferTable.name(of: record)
        switch record.state {
        case .failed:
            self.status = Int32(clamping: record.failure?.code ?? Aria2ExitStatus(.unknown).number)
            if self.status == ExitStatus.success { self.status = 1 }
            return "failed: \(name): \(record.failure?.message ?? "unknown")"
        case .removed:
            self.status = ExitStatus.unfinished
            return "removed: \(name)"
        default: return nil
        }
    }

    /// Takes that the daemon does not know these any more: they ended, and nobody can tell how.
    mutating func missing(_ ids: [GID]) {
        for id in ids where self.pending.remove(id) != nil { self.status = ExitStatus.unfinished }
    }
}
