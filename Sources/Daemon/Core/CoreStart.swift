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

    init(_ reader: borrowing QueueReader) throws(QueueStoreError) {
        for (key, count) in try reader.counts() {
            self.counts[key.session, default: LaneCounts()].add(count, key.state)
        }
        for stored in try reader.sessions() {
            self.sessions[stored.identifier] = SessionState(
                text: stored.configuration,
                acknowledged: stored.acknowledged,
                last: stored.last,
                // Whether a program was woken for them before the restart is not known.
                hasNews: stored.last > stored.acknowledged
            )
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
        case .waiting, .active: self.waiting += count
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
}

extension SessionState {
    /// Returns the wake command in a stored configuration; empty if there is none.
    static func wakeCommand(_ text: String) -> [String] {
        (try? JSON(parsing: text))?["wakeCommand"]?.array?.compactMap(\.string) ?? []
    }
}
