// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
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
    /// The cookies of its transfers; `nil` if the session keeps none.
    var cookies: CookieStorage?
    /// The time at which a program was last woken, if it has not opened the session since.
    var woken: Double?

    /// The state of a session with a configuration, JSON text.
    init(text: String, acknowledged: Int64 = 0, last: Int64 = 0, hasNews: Bool = false) {
        self.text = text
        self.wakeCommand = Self.wakeCommand(text)
        self.acknowledged = acknowledged
        self.last = last
        self.hasNews = hasNews
        self.cookies = Self.cookies(text)
    }

    /// Replaces the configuration.
    mutating func configure(_ text: String) {
        guard text != self.text else { return }
        self.text = text
        self.wakeCommand = Self.wakeCommand(text)
        self.cookies = Self.cookies(text)
    }

    private static func cookies(_ text: String) -> CookieStorage? {
        (try? JSON(parsing: text)).flatMap { try? SessionConfiguration(json: $0) }?.cookies
    }

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
