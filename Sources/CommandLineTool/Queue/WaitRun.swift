// SPDX-License-Identifier: Apache-2.0
import Control
internal import TransferCore

/// Waits until transfers have ended; survives restarts of the daemon.
struct WaitRun {
    private let client: ControlClient
    private let console: Console
    private let isQuiet: Bool
    /// How long to wait for a daemon that stopped.
    private let patience: Duration
    private let progress: WaitProgress

    /// Creates a wait.
    ///
    /// - Parameters:
    ///   - client: The daemon's client.
    ///   - console: The output.
    ///   - isQuiet: Whether neither progress nor failures are printed.
    ///   - patience: How long to wait for a daemon that stopped.
    ///   - clock: Returns a monotonic time in seconds.
    init(
        _ client: ControlClient,
        _ console: Console,
        isQuiet: Bool,
        patience: Duration = .seconds(60),
        clock: @escaping @Sendable () -> Double = WaitProgress.clock()
    ) {
        self.client = client
        self.console = console
        self.isQuiet = isQuiet
        self.patience = patience
        self.progress = WaitProgress(console, isQuiet: isQuiet, clock: clock)
    }

    /// Waits until these transfers have ended.
    ///
    /// - Returns: The exit status.
    func wait(for ids: [GID]) async throws(ControlError) -> Int32 {
        var model = WaitModel(ids)
        try await self.follow("finished,failed,removed") { (client) throws(ControlError) in
            // Transfers may have ended before the event stream started, or while it was interrupted.
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
            let done = (model.ended, model.ended + model.pending.count)
            self.progress.show(event, done: done) { model.pending.contains($0) }
            return model.pending.isEmpty
        }
        return model.status
    }

    /// Waits until no transfer is waiting or running.
    ///
    /// - Returns: The exit status.
    func waitForAll() async throws(ControlError) -> Int32 {
        var model = WaitModel([])
        var paused = 0
        let isIdle: (ControlClient) async throws(ControlError) -> Bool = { (client) throws(ControlError) in
            let counts = try await client.counts()
            paused = counts.paused
            return counts.waiting + counts.started == 0
        }
        try await self.follow("failed,removed,drained") { (client) throws(ControlError) in
            try await isIdle(client)
        } take: { event in
            if let transfer = event["transfer"].flatMap({ TransferRecord(json: $0) }) {
                self.tell(model.note(transfer))
            }
            self.progress.show(event, done: nil) { _ in true }
            return event["kind"]?.string == "drained"
        }
        _ = try? await isIdle(self.client)
        guard paused > 0 else { return model.status }
        let what = paused == 1 ? "1 transfer is paused" : "\(paused) transfers are paused"
        self.console.tell("\(what); martlet resume --all continues them")
        return ExitOrder.status(of: [model.status, ExitStatus.unfinished])
    }

    /// Reads events until a closure returns true; reconnects if the daemon stops.
    private func follow(
        _ kinds: String,
        look: (ControlClient) async throws(ControlError) -> Bool,
        take: (JSON) -> Bool
    ) async throws(ControlError) {
        defer { self.console.draw([]) }
        let progress = self.isQuiet ? "" : ",progress"
        let clock = ContinuousClock()
        var lost: ContinuousClock.Instant?
        var hasConnected = false
        while true {
            do throws(ControlError) {
                // Subscribe first: transfers that end during the query are reported as events.
                let events = try await self.client.events(path: "/events?events=\(kinds)\(progress)")
                hasConnected = true
                if try await look(self.client) { return }
                lost = nil
                while let event = try await events.next() { if take(event.data) { return } }
            } catch {
                guard [.notRunning, .unreachable, .stopping].contains(error.code) else { throw error }
                // Wait for a restart, but not for a daemon that has never run.
                if !hasConnected, error.code == .notRunning { throw error }
                if let since = lost, clock.now - since > self.patience { throw error }
            }
            if lost == nil {
                lost = clock.now
                if !self.isQuiet { self.console.tell("lost the connection to the daemon; waiting for it to restart") }
            }
            guard (try? await Task.sleep(for: .milliseconds(100))) != nil else {
                throw ControlError(.unreachable, "the wait was cancelled")
            }
        }
    }

    /// The records of these transfers; unknown transfers are omitted.
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
}

/// The state of a wait for transfers.
struct WaitModel {
    /// The transfers that have not ended yet.
    private(set) var pending: Set<GID>
    /// All transfers, in the order given.
    private let asked: [GID]
    private var order = ExitOrder()

    init(_ ids: [GID]) {
        self.pending = Set(ids)
        self.asked = ids
    }

    /// The number of transfers that have ended.
    var ended: Int { self.asked.count - self.pending.count }

    /// The exit status so far.
    var status: Int32 { self.order.status }

    /// The transfers that have not ended yet, in the order given.
    var pendingInOrder: [GID] { self.asked.filter { self.pending.contains($0) } }

    /// Records the state of a transfer; returns a message if it failed.
    mutating func take(_ record: TransferRecord) -> String? {
        guard self.pending.contains(record.id), record.state.isEnd else { return nil }
        self.pending.remove(record.id)
        return self.note(record)
    }

    /// Updates the status with the end of a transfer.
    mutating func note(_ record: TransferRecord) -> String? {
        let name = TransferTable.name(of: record)
        switch record.state {
        case .failed:
            let code = record.failure?.code ?? 0
            self.order.add(code == 0 ? Int32(Aria2ExitStatus(.unknown).number) : Int32(clamping: code))
            return "failed: \(name): \(record.failure?.message ?? "unknown")"
        case .removed:
            self.order.add(ExitStatus.unfinished)
            return "removed: \(name)"
        default: return nil
        }
    }

    /// Records that the daemon no longer knows these transfers: they ended with an unknown result.
    mutating func missing(_ ids: [GID]) {
        for id in ids where self.pending.remove(id) != nil { self.order.add(ExitStatus.unfinished) }
    }
}
