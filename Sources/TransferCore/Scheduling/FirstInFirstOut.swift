// SPDX-License-Identifier: Apache-2.0
/// A first-in, first-out queue: all operations take amortised constant time, unlike `Array.removeFirst()`.
package struct FirstInFirstOut<Element: Sendable>: Sendable {
    @usableFromInline var front: [Element] = []
    @usableFromInline var back: [Element] = []
    @usableFromInline var head = 0

    /// Creates an empty queue.
    @inlinable
    package init() {}

    @inlinable package var count: Int { self.front.count + self.back.count - self.head }
    @inlinable package var isEmpty: Bool { self.count == 0 }

    @inlinable package var first: Element? {
        self.front.last ?? (self.head < self.back.count ? self.back[self.head] : nil)
    }

    /// The elements in order; takes linear time.
    @inlinable package var elements: [Element] { self.front.reversed() + self.back[self.head...] }

    @inlinable
    package mutating func append(_ element: Element) { self.back.append(element) }

    @inlinable
    package mutating func prepend(_ element: Element) { self.front.append(element) }

    @inlinable
    package mutating func popFirst() -> Element? {
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
    package mutating func changeLast<Result>(
        where matches: (Element) -> Bool,
        _ change: (inout Element) -> Result
    ) -> Result? {
        if let index = self.back[self.head...].lastIndex(where: matches) { return change(&self.back[index]) }
        return self.front.firstIndex(where: matches).map { change(&self.front[$0]) }
    }

    /// Removes the elements that match; takes linear time.
    @inlinable
    package mutating func removeAll(where matches: (Element) -> Bool) {
        self.front.removeAll(where: matches)
        self.back.removeFirst(self.head)
        self.head = 0
        self.back.removeAll(where: matches)
    }
}
