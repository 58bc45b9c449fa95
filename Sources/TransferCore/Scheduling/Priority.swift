/// The order in which waiting transfers start.
public enum Priority: UInt8, Hashable, Sendable, CaseIterable, Comparable {
    /// When nothing else waits.
    case low
    /// The default.
    case normal
    /// Before the others.
    case high
    /// Somebody is waiting for it.
    case foreground

    /// Compares by urgency.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
