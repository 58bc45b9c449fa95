// SPDX-License-Identifier: Apache-2.0
/// Calls that are made one at a time and in order, by one thread at a time.
///
/// Pure value. A call may itself wait for later calls: then its own thread makes them, nested in it. Another thread never
/// makes a call while one is in progress.
///
/// - Invariant: While calls wait, a visit is scheduled or a thread is making calls.
package struct CallLine<Call: Sendable>: Sendable {
    private var calls: [Call?] = []
    /// The index of the next call.
    private var first = 0
    private var isScheduled = false
    /// The thread that makes calls, and how often it has entered.
    private var caller: UInt?
    private var depth = 0

    /// Creates an empty line.
    package init() {}

    /// Whether no call waits or is in progress.
    package var isIdle: Bool { self.first == self.calls.count && self.caller == nil }

    /// Appends a call.
    ///
    /// - Returns: Whether a visit must be scheduled: a thread that calls ``enter(_:isScheduled:)``.
    package mutating func append(_ call: Call) -> Bool {
        self.calls.append(call)
        guard !self.isScheduled, self.caller == nil else { return false }
        self.isScheduled = true
        return true
    }

    /// Whether a thread is making calls.
    package func isCaller(_ thread: UInt) -> Bool { self.caller == thread }

    /// A thread is ready to make calls.
    ///
    /// - Parameters:
    ///   - thread: The thread.
    ///   - isScheduled: Whether this is the visit that ``append(_:)`` requested.
    /// - Returns: Whether it must call ``next(_:)`` until there is none; otherwise another thread makes the calls.
    package mutating func enter(_ thread: UInt, isScheduled: Bool) -> Bool {
        if isScheduled { self.isScheduled = false }
        guard self.caller == nil || self.caller == thread else { return false }
        self.caller = thread
        self.depth += 1
        return true
    }

    /// Takes the next call.
    ///
    /// - Parameter thread: The thread that makes it.
    /// - Returns: The call; if there is none, the thread has left.
    package mutating func next(_ thread: UInt) -> Call? {
        precondition(self.caller == thread, "a thread took a call without having entered")
        if self.first < self.calls.count {
            // Its place keeps nothing alive.
            defer { self.advance() }
            return self.calls[self.first].take()
        }
        self.depth -= 1
        if self.depth == 0 { self.caller = nil }
        return nil
    }

    private mutating func advance() {
        self.first += 1
        if self.first == self.calls.count {
            self.calls.removeAll(keepingCapacity: self.first <= 64)
            self.first = 0
        } else if self.first > 64, 2 * self.first > self.calls.count {
            self.calls.removeFirst(self.first)
            self.first = 0
        }
    }
}
