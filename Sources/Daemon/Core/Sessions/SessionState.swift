internal import Control
internal import Martlet

/// The state of one background session in the core's memory.
struct SessionState {
    /// The stored configuration, JSON text.
    var text: String
    var wakeCommand: [String]
    var hold = SessionHold()
    var reader: SessionReader?
    var acknowledged: Int64
    var last: Int64
    /// Whether there are stored events for which no program was woken.
    var hasNews: Bool
    /// The time at which a program was last woken, if it has not opened the session since.
    var woken: Double?

    /// The interval in seconds before the wake command is run again for new events if the program has not connected.
    static let patience = 300.0

    /// Whether the wake command is due.
    func wantsWaking(at now: Double) -> Bool {
        guard self.hasNews, !self.wakeCommand.isEmpty, self.last > self.acknowledged, !self.hold.isHeld(at: now) else {
            return false
        }
        return self.woken.map { now - $0 >= Self.patience } ?? true
    }
}
