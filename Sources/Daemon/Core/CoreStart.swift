// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import QueueStore
internal import TransferCore

/// The state that the core reads from the store at its start.
struct CoreStart: Sendable {
    var counts: [String?: LaneCounts] = [:]
    var sessions: [String: SessionState] = [:]
    var options = TransferOptions()
    var hostLimits: [String: Int] = [:]
    var schedule: Schedule?

    /// The programs of an earlier daemon's wake commands that still run.
    var woken: [String: WokenProgram] = [:]

    /// Reads the state.
    ///
    /// - Parameters:
    ///   - reader: The store.
    ///   - limits: The limits of wake commands.
    ///   - now: The time in seconds.
    /// - Throws: The store's error.
    init(
        _ reader: borrowing QueueReader,
        limits: WakeMachine.Limits,
        at now: Double
    ) throws(QueueStoreError) {
        for (key, count) in try reader.counts() {
            self.counts[key.session, default: LaneCounts()].add(count, key.state)
        }
        for stored in try reader.sessions() {
            var state = SessionState(
                text: stored.configuration,
                acknowledged: stored.acknowledged,
                last: stored.last,
                limits: limits
            )
            // Ended transfers are kept until their ends are acknowledged. Whether a program was woken for them is not
            // known.
            if self.counts[stored.identifier]?.ended ?? 0 > 0 { state.wake.endStored(stored.last, at: 0) }
            // Programs that had it open reconnect.
            state.lost = (process: nil, at: now)
            self.sessions[stored.identifier] = state
        }
        for member in try Self.setting(.woken, reader)?.object ?? [] {
            guard let program = WokenProgram(stored: member.value, at: now) else { continue }
            self.woken[member.name] = program
            self.sessions[member.name]?.wake.started()
        }
        if let json = try Self.setting(.options, reader) { self.options = TransferOptions(json: json) }
        for member in try Self.setting(.hostLimits, reader)?.object ?? [] {
            self.hostLimits[member.name] = member.value.integer.map { Int(clamping: $0) }
        }
        self.schedule = try Self.setting(.schedule, reader).flatMap { Schedule(stored: $0) }
    }

    private static func setting(_ name: SettingName, _ reader: borrowing QueueReader) throws(QueueStoreError) -> JSON? {
        try reader.setting(name.rawValue).flatMap { try? JSON(parsing: $0) }
    }
}

extension LaneCounts {
    /// Creates the counts from the store's counts by state.
    init(_ counts: [TransferRecord.State: Int]) {
        self.init()
        for (state, count) in counts { self.add(count, state) }
    }

    mutating func add(_ count: Int, _ state: TransferRecord.State) {
        switch state {
        case .waiting, .active, .retrying, .held: self.waiting += count
        case .paused: self.paused += count
        case .finished: self.finished += count
        case .failed: self.failed += count
        case .removed: self.removed += count
        }
    }
}

/// The names of the stored settings.
enum SettingName: String {
    case options
    case hostLimits = "host-limits"
    case schedule
    /// The processes of wake commands.
    case woken
}
