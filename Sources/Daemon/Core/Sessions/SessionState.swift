internal import Control
internal import Martlet

/// What the core keeps in memory about one background session.
struct SessionState {
    /// The configuration as it is stored.
    var text: String
    var wakeCommand: [String]
    var hold = SessionHold()
    var reader: SessionReader?
    var acknowledged: Int64
    var last: Int64
    /// Whether there are events that no program was woken for.
    var hasNews: Bool
    /// When a program was last woken that has not come since.
    var woken: Double?

    /// Seconds after which a program that was woken and did not come is woken again, where there is more.
    static let patience = 300.0

    /// Whether a program is to be woken now.
    func wantsWaking(at now: Double) -> Bool {
        guard self.hasNews, !self.wakeCommand.isEmpty, self.last > self.acknowledged, !self.hold.isHeld(at: now) else {
            return false
        }
        return self.woken.map { now - $0 >= Self.patience } ?? true
    }
}
