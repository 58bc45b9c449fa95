// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Martlet
internal import TransferCore

/// The state of one background session in the core's memory.
struct SessionState {
    /// The stored configuration, JSON text.
    var text: String
    private(set) var wakeCommand: [String] = []
    /// The events of which the user is notified.
    private(set) var notifications: Set<TransferNotification> = []
    /// The cookies of its transfers; `nil` if the session keeps none.
    private(set) var cookies: CookieStorage?
    var hold = SessionHold()
    var reader: SessionReader?
    var acknowledged: Int64
    var last: Int64
    /// Decides when the wake command is started.
    var wake: WakeMachine
    /// The last failure of the wake command, until a program has handled events.
    var wakeProblem: String?
    /// When a connection was lost whose program may be about to reconnect, and its process, if it is known.
    var lost: (process: ProgramProcess?, at: Double)?
    /// The name of the last program that opened the session; `nil` if none has since the daemon's start.
    var programName: String?

    /// The state of a session with a configuration, JSON text.
    init(text: String, acknowledged: Int64 = 0, last: Int64 = 0, limits: WakeMachine.Limits) {
        self.text = text
        self.acknowledged = acknowledged
        self.last = last
        self.wake = WakeMachine(handled: acknowledged, limits: limits)
        self.read(text)
    }

    /// Replaces the configuration.
    mutating func configure(_ text: String) {
        guard text != self.text else { return }
        self.text = text
        self.read(text)
    }

    private mutating func read(_ text: String) {
        let configuration = (try? JSON(parsing: text)).flatMap { try? SessionConfiguration(json: $0) }
        self.cookies = configuration?.cookies
        self.wakeCommand = configuration?.wakeCommand ?? []
        self.notifications = configuration?.notifications ?? []
    }

    /// A program has handled the events up to a number.
    mutating func handled(upTo number: Int64) {
        self.wake.handled(upTo: number)
        if self.wake.failures == 0 { self.wakeProblem = nil }
    }

    /// Whether a program has the session open, or has just lost its connection.
    ///
    /// - Parameters:
    ///   - now: The time in seconds.
    ///   - lease: The time within which a program that still runs is expected to reconnect, in seconds.
    /// - Returns: Whether another program must not be woken.
    func isHeld(at now: Double, lease: Double) -> Bool {
        if self.hold.isHeld(at: now) { return true }
        guard let lost = self.lost, now >= lost.at, now < lost.at + lease else { return false }
        return lost.process?.isGone != true
    }
}
