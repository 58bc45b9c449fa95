// SPDX-License-Identifier: Apache-2.0
internal import Control

/// The program that holds a session.
///
/// Pure value; times in seconds are arguments. A program that opens the session has a limited time to start reading its
/// events; from then on it holds the session while it reads.
struct SessionHold: Sendable {
    private enum State: Sendable {
        case free
        case leased(instance: String, until: Double)
        case read(instance: String, by: Int)
    }

    private var state = State.free
    private(set) var program: String?

    /// The instance that holds the session, or whose lease has expired; `nil` if it is free.
    var instance: String? {
        switch self.state {
        case .free: nil
        case .leased(let instance, _), .read(let instance, _): instance
        }
    }

    /// Whether a program holds the session.
    func isHeld(at now: Double) -> Bool {
        switch self.state {
        case .free: false
        case .leased(_, let until): now < until
        case .read: true
        }
    }

    /// Whether an instance other than this one holds the session.
    func isHeld(at now: Double, againstAnotherThan instance: String) -> Bool {
        switch self.state {
        case .leased(let holder, _), .read(let holder, _): self.isHeld(at: now) && holder != instance
        case .free: false
        }
    }

    /// A program opened or reopened the session; `lease` is in seconds.
    ///
    /// - Returns: Whether the program now holds the session.
    mutating func opened(_ instance: String, _ program: String, lease: Double, at now: Double) -> Bool {
        guard !self.isHeld(at: now, againstAnotherThan: instance) else { return false }
        self.program = program
        // A reading program keeps reading.
        if case .read = self.state { return true }
        self.state = .leased(instance: instance, until: now + lease)
        return true
    }

    /// A program started to read; a disconnected one may return as long as no other program has opened the session.
    ///
    /// - Returns: Whether the program may read.
    mutating func readingBegan(_ instance: String, by reader: Int, at now: Double) -> Bool {
        switch self.state {
        case .leased(instance, _), .read(instance, _):
            self.state = .read(instance: instance, by: reader)
            return true
        case .free, .leased, .read: return false
        }
    }

    /// A reader stopped; ignored if another reader has replaced it.
    mutating func readingEnded(by reader: Int) {
        guard case .read(_, reader) = self.state else { return }
        self.state = .free
        self.program = nil
    }

    /// The program closed the session.
    mutating func closed() {
        self.state = .free
        self.program = nil
    }
}
