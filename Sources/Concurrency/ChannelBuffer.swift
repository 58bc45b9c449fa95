// SPDX-License-Identifier: Apache-2.0
/// The undelivered elements of a ``Channel``, and its overflow policy.
///
/// A buffer is a value that the channel changes under its lock: its methods must be short and must not call back.
public protocol ChannelBuffer<Element>: Sendable {
    /// The type of the elements.
    associatedtype Element: Sendable

    /// Adds an element, merges it with another one, or drops one.
    ///
    /// - Returns: False if the channel must end, because it can neither keep the element nor drop any.
    mutating func append(_ element: Element) -> Bool

    /// Removes and returns the element to deliver next.
    mutating func popFirst() -> Element?
}

/// A buffer of a fixed capacity.
public struct BoundedBuffer<Element: Sendable>: ChannelBuffer {
    /// The policy for one more element than the capacity.
    public enum Overflow: Sendable {
        /// Drops the oldest element.
        case dropOldest
        /// Drops the new element.
        case dropNewest
        /// Ends the channel; the consumers get the elements buffered before.
        case end
    }

    @usableFromInline
    let capacity: Int
    @usableFromInline
    let overflow: Overflow
    @usableFromInline
    var elements: [Element] = []

    /// Creates an empty buffer.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of elements, at least 1.
    ///   - overflow: The policy for one more.
    @inlinable
    public init(capacity: Int, overflow: Overflow) {
        self.capacity = max(1, capacity)
        self.overflow = overflow
    }

    /// Adds an element, or follows the overflow policy.
    @inlinable
    public mutating func append(_ element: Element) -> Bool {
        if self.elements.count >= self.capacity {
            switch self.overflow {
            case .dropOldest: self.elements.removeFirst()
            case .dropNewest: return true
            case .end: return false
            }
        }
        self.elements.append(element)
        return true
    }

    /// Removes and returns the oldest element, or returns `nil`.
    @inlinable
    public mutating func popFirst() -> Element? { self.elements.isEmpty ? nil : self.elements.removeFirst() }
}
