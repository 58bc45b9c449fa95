internal import Control

/// Which program has a session.
///
/// Pure value; seconds come in as arguments. A program that opened the session has a while to begin reading its events;
/// from then on it has the session as long as it reads.
struct SessionHold: Sendable {
    private enum State: Sendable {
        case free
        case leased(instance: String, until: Double)
        case read(instance: String, by: Int)
    }

    private var state = State.free
    private(set) var program: String?

    /// The instance that has it, or had it last.
    var instance: String? {
        switch self.state {
        case .free: nil
        case .leased(let instance, _), .read(let instance, _): instance
        }
    }

    /// Whether a program has it.
    func isHeld(at now: Double) -> Bool {
        switch self.state {
        case .free: false
        case .leased(_, let until): now < until
        case .read: true
        }
    }

    /// Whether another program than this one has it.
    func isHeld(at now: Double, againstAnotherThan instance: String) -> Bool {
        switch self.state {
        case .leased(let holder, _), .read(let holder, _): self.isHeld(at: now) && holder != instance
        case .free: false
        }
    }

    /// A program opens it, or opens it again.
    ///
    /// - Returns: Whether it may.
    mutating func opened(_ instance: String, _ program: String, lease: Double, at now: Double) -> Bool {
        guard !self.isHeld(at: now, againstAnotherThan: instance) else { return false }
        self.program = program
        // Who reads goes on reading.
        if case .read = self.state { return true }
        self.state = .leased(instance: instance, until: now + lease)
        return true
    }

    /// A program begins to read; one that was cut off may come back as long as nobody else came.
    ///
    /// - Returns: Whether it may.
    mutating func readingBegan(_ instance: String, by reader: Int, at now: Double) -> Bool {
        switch self.state {
        case .leased(instance, _), .read(instance, _):
            self.state = .read(instance: instance, by: reader)
            return true
        case .free, .leased, .read: return false
        }
    }

    /// A reader went away; one that another took the place of is no matter.
    mutating func readingEnded(by reader: Int) {
        guard case .read(_, reader) = self.state else { return }
        self.state = .free
        self.program = nil
    }

    /// The program gives it up.
    mutating func closed() {
        self.state = .free
        self.program = nil
    }
}
