// SPDX-License-Identifier: Apache-2.0
/// A first-in, first-out queue: all operations take amortised constant time, unlike `Array.removeFirst()`.
///
/// Public, so that other modules specialize it: the bodies of package functions are not available to them.
public struct FirstInFirstOut<Element: Sendable>: Sendable {
    @usableFromInline var front: [Element] = []
    @usableFromInline var back: [Element] = []
    @usableFromInline var head = 0

    /// Creates an empty queue.
    @inlinable
    public init() {}

    /// The number of elements.
    @inlinable public var count: Int { self.front.count + self.back.count - self.head }
    /// Whether there are no elements.
    @inlinable public var isEmpty: Bool { self.count == 0 }

    /// The next element, or `nil`.
    @inlinable public var first: Element? {
        self.front.last ?? (self.head < self.back.count ? self.back[self.head] : nil)
    }

    /// The elements in order; takes linear time.
    @inlinable public var elements: [Element] { self.front.reversed() + self.back[self.head...] }

    /// Adds an element behind all others.
    @inlinable
    public mutating func append(_ element: Element) { self.back.append(element) }

    /// Adds an element before all others.
    @inlinable
    public mutating func prepend(_ element: Element) { self.front.append(element) }

    /// Removes and returns the next element, or returns `nil`.
    @inlinable
    public mutating func popFirst() -> Element? {
        if let element = self.front.popLast() { return element }
        guard self.head < self.back.count else { return nil }
        let element = self.back[self.head]
        self.head += 1
        if self.head == self.back.count {
            self.back.removeAll(keepingCapacity: self.head <= 64)
            self.head = 0
        } else if self.head > 64, self.head * 2 > self.back.count {
            self.back.removeFirst(self.head)
            self.head = 0
        }
        return element
    }

    /// Changes the last element that matches; takes linear time.
    ///
    /// - Returns: The result of `change`, or `nil` if none matches.
    @inlinable
    public mutating func changeLast<Result>(
        where matches: (Element) -> Bool,
        _ change: (inout Element) -> Result
    ) -> Result? {
        if let index = self.back[self.head...].lastIndex(where: matches) { return change(&self.back[index]) }
        return self.front.firstIndex(where: matches).map { change(&self.front[$0]) }
    }

    /// Removes the elements that match; takes linear time.
    @inlinable
    public mutating func removeAll(where matches: (Element) -> Bool) {
        self.front.removeAll(where: matches)
        self.back.removeFirst(self.head)
        self.head = 0
        self.back.removeAll(where: matches)
    }
}
