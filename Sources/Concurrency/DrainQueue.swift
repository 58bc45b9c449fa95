// SPDX-License-Identifier: Apache-2.0
/// A queue that one caller at a time empties: the state of a ``SerialDrain``, for owners that have a lock of their own.
///
/// Pure value. Callers append under their lock, and the caller that claims the queue takes batches, with the lock released
/// between them, until it is empty.
///
/// Public and inlinable, so that other modules specialize it: the bodies of package functions are not available to them, and
/// each call of an unspecialized one looks up the metadata of the element's array, about 1,000 instructions.
///
/// - Invariant: While the queue is claimed, the claimant's next call of ``next()`` returns all elements appended so far.
public struct DrainQueue<Element> {
    @usableFromInline
    var elements: [Element] = []
    @usableFromInline
    var hasClaimant = false

    /// Whether a caller is emptying the queue.
    @inlinable
    public var isClaimed: Bool { self.hasClaimant }

    /// Creates an empty queue.
    @inlinable
    public init() {}

    /// Whether no element waits; a batch in progress does not count.
    @inlinable
    public var isEmpty: Bool { self.elements.isEmpty }

    /// Appends an element without claiming the queue.
    @inlinable
    public mutating func append(_ element: consuming Element) { self.elements.append(element) }

    /// Appends elements without claiming the queue.
    @inlinable
    public mutating func append(contentsOf elements: [Element]) {
        // Usually nothing waits: then the array is taken, not copied.
        if self.elements.isEmpty { self.elements = elements } else { self.elements += elements }
    }

    /// Claims the queue if it has elements and is not claimed.
    ///
    /// - Returns: Whether the caller must now call ``next()`` until it returns `nil`.
    @inlinable
    public mutating func claim() -> Bool {
        guard !self.hasClaimant, !self.elements.isEmpty else { return false }
        self.hasClaimant = true
        return true
    }

    /// Takes all elements, or releases the claim if there are none.
    ///
    /// - Returns: The next batch in the order of the appends, or `nil` when the queue is empty and released.
    @inlinable
    public mutating func next() -> [Element]? {
        guard !self.elements.isEmpty else {
            self.hasClaimant = false
            return nil
        }
        var batch: [Element] = []
        swap(&batch, &self.elements)
        return batch
    }

    /// Takes all elements, as ``next()``, and keeps the emptied list of the batch before for those that follow.
    ///
    /// - Parameter batch: An empty list; the next batch in the order of the appends.
    /// - Returns: Whether there is a batch; if not, the queue is empty and released.
    @inlinable
    public mutating func next(into batch: inout [Element]) -> Bool {
        // The list of a burst is not kept.
        let isKept = batch.isEmpty && batch.capacity <= 256
        guard !self.elements.isEmpty else {
            self.hasClaimant = false
            if isKept, self.elements.capacity == 0 { swap(&batch, &self.elements) }
            return false
        }
        if !isKept { batch = [] }
        swap(&batch, &self.elements)
        return true
    }
}

extension DrainQueue: Sendable where Element: Sendable {}
