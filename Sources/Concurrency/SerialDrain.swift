// SPDX-License-Identifier: Apache-2.0
public import Synchronization

/// Handles elements one at a time and in order, on the appender's thread or another one that it chooses.
///
/// The first appender drains; elements that are appended meanwhile, also by the handler itself, are handled by the
/// drain in progress. No lock is held while an element is handled.
public final class SerialDrain<Element: Sendable>: Sendable {
    @usableFromInline
    let queue = Mutex(DrainQueue<Element>())

    /// Creates an idle drain.
    @inlinable
    public init() {}

    /// Whether elements wait or are being handled.
    @inlinable
    public var isActive: Bool { self.queue.withLock { $0.isClaimed || !$0.isEmpty } }

    /// Appends an element.
    ///
    /// - Returns: Whether the caller must call ``run(_:)`` once, on any thread.
    @inlinable
    public func append(_ element: Element) -> Bool {
        self.queue.withLock { queue in
            queue.append(element)
            return queue.claim()
        }
    }

    /// Handles elements until there are none.
    ///
    /// Each element is released as soon as `handle` returns.
    @inlinable
    public func run(_ handle: (Element) -> Void) {
        while var batch = self.queue.withLock({ $0.next() }) {
            batch.reverse()
            while let element = batch.popLast() { handle(element) }
        }
    }

    /// Takes the waiting elements for a caller that handles them itself.
    ///
    /// - Returns: The elements; if there are none, the drain is idle again, and the next ``append(_:)`` returns true.
    @inlinable
    public func takeBatch() -> [Element] { self.queue.withLock { $0.next() } ?? [] }
}
