// SPDX-License-Identifier: Apache-2.0
/// A queue that one caller at a time empties: the state of a ``SerialDrain``, for owners that have a lock of their own.
///
/// Pure value. Callers append under their lock, and the caller that claims the queue takes batches, with the lock released
/// between them, until it is empty.
///
/// - Invariant: While the queue is claimed, the claimant's next call of ``next()`` returns all elements appended so far.
package struct DrainQueue<Element> {
    private var elements: [Element] = []
    /// Whether a caller is emptying the queue.
    package private(set) var isClaimed = false

    /// Creates an empty queue.
    package init() {}

    /// Whether no element waits; a batch in progress does not count.
    package var isEmpty: Bool { self.elements.isEmpty }

    /// Appends an element without claiming the queue.
    package mutating func append(_ element: Element) { self.elements.append(element) }

    /// Appends elements without claiming the queue.
    package mutating func append(contentsOf elements: [Element]) { self.elements += elements }

    /// Claims the queue if it has elements and is not claimed.
    ///
    /// - Returns: Whether the caller must now call ``next()`` until it returns `nil`.
    package mutating func claim() -> Bool {
        guard !self.isClaimed, !self.elements.isEmpty else { return false }
        self.isClaimed = true
        return true
    }

    /// Takes all elements, or releases the claim if there are none.
    ///
    /// - Returns: The next batch in the order of the appends, or `nil` when the queue is empty and released.
    package mutating func next() -> [Element]? {
        guard !self.elements.isEmpty else {
            self.isClaimed = false
            return nil
        }
        defer { self.elements = [] }
        return self.elements
    }
}

extension DrainQueue: Sendable where Element: Sendable {}
