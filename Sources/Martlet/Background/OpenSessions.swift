// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Synchronization

/// The background sessions that this process has open, or has released.
///
/// The daemon detects the release of a session by the end of a connection, possibly only after the next opening.
enum OpenSessions {
    private struct Key: Hashable {
        var directory: String
        var identifier: String

        init(_ runner: BackgroundRunner) {
            self.directory = runner.place.path
            self.identifier = runner.identifier
        }
    }

    private struct Known {
        var open: [ObjectIdentifier: ContinuousClock.Instant] = [:]
        var left: ContinuousClock.Instant?
    }

    /// The time for which the daemon may still see a holder that released the session.
    private static let patience = Duration.seconds(10)
    /// The time for which the last reference to another holder in this process may still exist.
    private static let shortPatience = Duration.seconds(2)

    private static let known = Mutex<[Key: Known]>([:])

    static func opened(_ runner: BackgroundRunner) {
        self.known.withLock { $0[Key(runner), default: Known()].open[ObjectIdentifier(runner)] = .now }
    }

    /// The session was released, has failed, or was closed.
    static func left(_ runner: BackgroundRunner) {
        self.known.withLock { known in
            guard known[Key(runner)]?.open.removeValue(forKey: ObjectIdentifier(runner)) != nil else { return }
            known[Key(runner)]?.left = .now
        }
    }

    /// Whether a session that is in use may be so only because this process had it open a moment ago.
    static func mayBeLeft(_ runner: BackgroundRunner) -> Bool {
        self.known.withLock { known in
            guard let one = known[Key(runner)] else { return false }
            let isElsewhere = one.open.keys.contains { $0 != ObjectIdentifier(runner) }
            if isElsewhere { return one.open[ObjectIdentifier(runner)].map { .now < $0 + self.shortPatience } ?? false }
            return one.left.map { .now < $0 + self.patience } ?? false
        }
    }
}
