// SPDX-License-Identifier: Apache-2.0
public import TransferCore

/// The number of transfers in each state, and their total rate.
public struct QueueCounts: Sendable, Hashable {
    /// Waiting for a slot.
    public var waiting = 0
    /// Running.
    public var active = 0
    /// Started, and waiting for their next attempt.
    public var retrying = 0
    /// Started, and waiting for the end of a hold: of their host, the network, or this machine.
    public var held = 0
    /// Paused.
    public var paused = 0
    /// In the history: finished.
    public var finished = 0
    /// In the history: failed.
    public var failed = 0
    /// In the history: removed.
    public var removed = 0
    /// Ended since the daemon's start, including those that the history no longer has.
    public var endedInAll = 0
    /// The rate of all transfers together, in bytes per second.
    public var rate: Int64 = 0

    /// Creates counts of zero.
    public init() {}

    /// The transfers that have started and neither stopped nor ended.
    public var started: Int { self.active + self.retrying + self.held }
}

extension QueueCounts {
    /// The counts as an object.
    public var json: JSON {
        [
            "waiting": .integer(Int64(self.waiting)), "active": .integer(Int64(self.active)),
            "paused": .integer(Int64(self.paused)), "finished": .integer(Int64(self.finished)),
            "failed": .integer(Int64(self.failed)), "removed": .integer(Int64(self.removed)),
            "endedInAll": .integer(Int64(self.endedInAll)), "rate": .integer(self.rate),
            "held": .integer(Int64(self.held)), "retrying": .integer(Int64(self.retrying)),
        ]
    }

    /// Reads the format of ``json``.
    public init(json: JSON) {
        // Clamped so that sums of counts do not overflow, whatever the daemon wrote.
        func count(_ name: String) -> Int { Int(min(max(0, json[name]?.integer ?? 0), 1 << 48)) }
        self.init()
        self.waiting = count("waiting")
        self.active = count("active")
        self.held = count("held")
        self.retrying = count("retrying")
        self.paused = count("paused")
        self.finished = count("finished")
        self.failed = count("failed")
        self.removed = count("removed")
        self.endedInAll = count("endedInAll")
        self.rate = json["rate"]?.integer ?? 0
    }
}
