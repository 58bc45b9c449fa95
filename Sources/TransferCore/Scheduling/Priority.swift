// SPDX-License-Identifier: Apache-2.0
/// The order in which waiting transfers start.
public enum Priority: UInt8, Hashable, Sendable, CaseIterable, Comparable {
    /// Starts when no other transfer is waiting.
    case low
    /// The default.
    case normal
    /// Starts before transfers of lower priorities.
    case high
    /// A user is waiting for it.
    case foreground

    /// The name in options.
    package var name: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        case .foreground: "foreground"
        }
    }

    /// Compares by urgency.
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
