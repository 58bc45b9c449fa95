// SPDX-License-Identifier: Apache-2.0
/// The conditions of power and network; a program can supply its own.
public protocol SystemConditions: Sendable {
    /// Whether the machine runs on battery.
    var isOnBattery: Bool { get }

    /// Whether the network is metered.
    var isNetworkExpensive: Bool { get }
}

/// When tasks without urgency start.
public struct Discretion: Sendable, Hashable {
    /// The hours in which tasks may run, local time; empty for all day.
    ///
    /// From 22 to 6 o'clock is `[22..<24, 0..<6]`.
    public var allowedHours: [Range<Int>] = []
    /// Whether tasks wait while the machine runs on battery.
    public var requiresMainsPower = true
    /// The rate limit of all tasks together in bytes per second, or `nil`.
    public var rateCeiling: Int64?

    /// Creates the defaults: any hour, on mains power, without a rate limit.
    public init() {}

    func allows(minuteOfDay minute: Int) -> Bool {
        self.allowedHours.isEmpty || self.allowedHours.contains { $0.contains(minute / 60) }
    }
}
