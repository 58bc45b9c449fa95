// SPDX-License-Identifier: Apache-2.0
/// A transfer's number in one engine, counted from 1 in the order of addition.
public struct TransferID: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The number.
    public let rawValue: UInt64

    /// Creates an id from its number.
    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// The number in decimal.
    public var description: String { String(self.rawValue) }

    /// Compares by order of addition.
    public static func < (left: TransferID, right: TransferID) -> Bool { left.rawValue < right.rawValue }
}
