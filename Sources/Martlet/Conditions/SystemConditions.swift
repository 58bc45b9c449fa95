/// What the machine says about power and network: a port that a program can supply.
public protocol SystemConditions: Sendable {
    /// Whether the machine runs on battery.
    var isOnBattery: Bool { get }

    /// Whether the network costs by the byte.
    var isNetworkExpensive: Bool { get }
}

/// When tasks start that need not start at once.
public struct Discretion: Sendable, Hashable {
    /// The hours in which tasks may run, local time; empty for all day.
    ///
    /// From 22 to 6 o'clock is `[22..<24, 0..<6]`.
    public var allowedHours: [Range<Int>] = []
    /// Whether tasks wait while the machine runs on battery.
    public var requiresMainsPower = true
    /// The most bytes a second over all tasks, or `nil`.
    public var rateCeiling: Int64?

    /// Creates the defaults: any hour, on mains power, at any rate.
    public init() {}

    func allows(minuteOfDay minute: Int) -> Bool {
        self.allowedHours.isEmpty || self.allowedHours.contains { $0.contains(minute / 60) }
    }
}
